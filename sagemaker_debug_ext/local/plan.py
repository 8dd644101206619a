"""The plan of a job, which is built and validated before anything is written or started."""

from __future__ import annotations

import copy
import functools
import logging
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from sagemaker_debug_ext.errors import (
    DebugExtError,
    RequestValidationError,
    SMDebugTypeError,
    SMDebugValueError,
    brief,
)
from sagemaker_debug_ext.local.channels import check_channels
from sagemaker_debug_ext.local.description import check_job_name, job_folder
from sagemaker_debug_ext.local.layout import OUTPUTS, JobFolder
from sagemaker_debug_ext.local.paths import Locations
from sagemaker_debug_ext.local.source import check_submit_directory, entry_point
from sagemaker_debug_ext.local.sync import output_path
from sagemaker_debug_ext.requests import artifact_paths
from sagemaker_debug_ext.requests.checks import check_training_job_request, check_types

_LOG: Final = logging.getLogger(__name__)


@attrs.frozen(kw_only=True)
class JobHost:
    """The part of this machine that a job can use.

    Args:
        locations: Maps the request's locations to local paths; by default the folders of the work folder.
        environment: Variables that the entry point inherits; those of this process by default.
        container: Returns the command that runs a command in a container with the job's folder; by default the
            command runs directly.
    """

    locations: Locations | None = None
    environment: Mapping[str, str] | None = None
    container: Callable[[JobFolder, Sequence[str]], Sequence[str]] | None = None


@attrs.frozen(kw_only=True)
class JobPlan:
    """One job that is ready to start.

    Attributes:
        request: The CreateTrainingJob request, a copy of the caller's.
        folder: The job's folder.
        locations: Maps the request's locations to local paths.
        python: Interpreter for the user's code.
        command: The command of the entry point, which runs in the code folder.
        inherited: Variables that the entry point inherits; None for those of this process.
        max_runtime_seconds: Time limit; None for no limit.
    """

    request: Mapping[str, Any]
    folder: JobFolder
    locations: Locations
    python: str
    command: tuple[str, ...]
    inherited: Mapping[str, str] | None
    max_runtime_seconds: float | None

    @property
    def name(self) -> str:
        """The job's name."""
        return str(self.request["TrainingJobName"])


def plan_job(
    request: Mapping[str, Any],
    work_dir: str | os.PathLike[str],
    python: str,
    check: bool = True,
    host: JobHost | None = None,
) -> JobPlan:
    """Plan how to run a request on this machine.

    Args:
        request: The CreateTrainingJob request.
        work_dir: The work folder.
        python: Interpreter for the user's code.
        check: Also reject requests that SageMaker would reject, and not only members of wrong types.
        host: What the job can use of this machine; ``JobHost()`` by default.

    Raises:
        RequestValidationError: SageMaker would reject the request, or it cannot run here. The error lists all reasons,
            each with its member.
        SMDebugValueError: There is no such interpreter.
    """
    if not isinstance(request, Mapping):
        raise SMDebugTypeError(f"request must be a dictionary (got {brief(request)})")
    own = copy.deepcopy(dict(request))
    if check:
        check_training_job_request(own)
    else:
        check_types(own)
    name = own.get("TrainingJobName")
    problems = list(_problems([("TrainingJobName", lambda: check_job_name(name))]))
    if problems:
        raise RequestValidationError(problems)
    folder = job_folder(str(name), work_dir)
    host = host or JobHost()
    locations = host.locations or Locations(work_dir)
    python = _interpreter(python)
    problems += check_channels(own, locations)
    problems += _problems(_checks(own, folder, locations, python))
    if problems:
        raise RequestValidationError(problems)
    _note_differences(own)
    command = entry_point(own, folder, python)
    return JobPlan(
        request=own,
        folder=folder,
        locations=locations,
        python=python,
        command=tuple(command if host.container is None else host.container(folder, command)),
        inherited=host.environment,
        max_runtime_seconds=_max_runtime(own),
    )


_Check = tuple[str, Callable[[], object]]


def _checks(request: Mapping[str, Any], folder: JobFolder, locations: Locations, python: str) -> Iterator[_Check]:
    """Yield pairs of a member path and a call that raises if the member is invalid."""
    yield "AlgorithmSpecification", lambda: entry_point(request, folder, python)
    yield "HyperParameters", lambda: check_submit_directory(request, locations)
    yield "StoppingCondition", lambda: _max_runtime(request)
    for output in OUTPUTS:
        yield output.member, functools.partial(output.folder, request, folder)
    paths = artifact_paths(request)
    written = {
        "DebugHookConfig": paths.debugger,
        "TensorBoardOutputConfig": paths.tensorboard,
        "OutputDataConfig": output_path(request),
        "CheckpointConfig": request.get("CheckpointConfig", {}).get("S3Uri"),
        **{f"DebugRuleConfigurations: {name!r}": path for name, path in paths.rules.items()},
    }
    for member, location in written.items():
        if location is not None:
            yield member, functools.partial(locations.path, location)


def _problems(checks: Iterator[_Check] | list[_Check]) -> Iterator[str]:
    return (f"{where}: {problem}" for where, check in checks if (problem := _problem(check)))


def _problem(check: Callable[[], object]) -> str | None:
    try:
        check()
    except DebugExtError as error:
        return str(error)
    except OSError as error:  # of a path that the system cannot look for
        return f"cannot be looked for: {error.strerror}"
    return None


def _interpreter(python: str) -> str:
    """Return the path of the interpreter; links are kept because interpreters of virtual environments are links."""
    found = shutil.which(python)
    if found is None:
        raise SMDebugValueError(f"python must be a Python interpreter (got {python!r}, which cannot be run)")
    return str(Path(found).absolute())


def _note_differences(request: Mapping[str, Any]) -> None:
    """Log differences between SageMaker and this machine."""
    resources = request.get("ResourceConfig", {})
    if resources.get("InstanceCount", 1) > 1 or len(resources.get("InstanceGroups", ())) > 1:
        _LOG.warning("the job runs on this machine as its only host, whatever ResourceConfig asks for")


def _max_runtime(request: Mapping[str, Any]) -> float | None:
    seconds = request.get("StoppingCondition", {}).get("MaxRuntimeInSeconds")
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or seconds <= 0:
        raise SMDebugValueError(f"MaxRuntimeInSeconds must be a number above 0 (got {seconds!r})")
    return float(seconds)
