"""One execution of a pipeline: its steps, in the order of what they need."""

from __future__ import annotations

import graphlib
import logging
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, Final

import attrs

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.laptop.api import APIError
from sagemaker_debug_ext.laptop.jobs.references import references, resolve
from sagemaker_debug_ext.local.description import shorten

FINAL: Final = frozenset({"Succeeded", "Failed", "Stopped"})

_LOG: Final = logging.getLogger(__name__)
_MAX_PARALLEL: Final = 50
_MAX_WORD: Final = 20


@attrs.frozen(kw_only=True)
class StepType:
    """A type of steps, and the jobs that run them.

    Attributes:
        name: The member of a request with the name of the job.
        create: Starts a job by a request.
        wait_for: Waits for the end of a job, and returns its description.
        stop: Stops a job by a request.
        status: The member of a description with the status.
        arn: The member of a description with the ARN.
        metadata: The member of a step's metadata.
        max_name: Maximum length of a job's name.
    """

    name: str
    create: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    wait_for: Callable[[str], Mapping[str, Any]]
    stop: Callable[[Mapping[str, Any]], object]
    status: str
    arn: str
    metadata: str
    max_name: int = 63


class PipelineExecution:
    """An execution that runs: each step as soon as all steps that it needs have succeeded.

    Args:
        identifier: Its identifier.
        steps: The steps of the pipeline's definition.
        roots: What references of the definition may begin with.
        types: The types of steps, by name.
        update: Sets members of the execution's description.
    """

    def __init__(
        self,
        identifier: str,
        steps: Sequence[Mapping[str, Any]],
        roots: dict[str, Any],
        types: Mapping[str, StepType],
        update: Callable[..., object],
    ) -> None:
        self._identifier = identifier
        self._steps = {step["Name"]: step for step in steps}
        self._needs = dict(order_of(steps))
        self._roots = roots
        self._types = types
        self._update = update
        self._stopped = threading.Event()
        self._lock = threading.RLock()  # guards the following two dictionaries
        self._records: dict[str, dict[str, Any]] = {}
        self._jobs: dict[str, str] = {}
        self._thread = threading.Thread(target=self._run, name=f"pipeline-{identifier}")

    def start(self) -> None:
        """Start the execution."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the running jobs, and start no more."""
        self._stopped.set()
        with self._lock:
            jobs = dict(self._jobs)
        for step, job in jobs.items():
            kind = self._types[self._steps[step]["Type"]]
            try:
                kind.stop({kind.name: job})
            except APIError:  # it has ended
                continue

    def join(self) -> None:
        """Wait for the end of the execution."""
        self._thread.join()

    def _run(self) -> None:
        sorter = graphlib.TopologicalSorter(self._needs)
        sorter.prepare()
        running: dict[Future[bool], str] = {}
        with ThreadPoolExecutor(_MAX_PARALLEL) as pool:
            while True:
                for name in () if self._stopped.is_set() else sorter.get_ready():
                    running[pool.submit(self._run_step, name)] = name
                if not running:
                    break
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    name = running.pop(future)
                    if future.result():
                        sorter.done(name)
        statuses = {record["StepStatus"] for record in self._records.values()}
        failed = [name for name, record in self._records.items() if record["StepStatus"] == "Failed"]
        if self._stopped.is_set():
            members = {"PipelineExecutionStatus": "Stopped"}
        elif failed or "Stopped" in statuses:
            reason = f"Step failure: {', '.join(failed)}" if failed else "a job was stopped"
            members = {"PipelineExecutionStatus": "Failed", "FailureReason": reason}
        else:
            members = {"PipelineExecutionStatus": "Succeeded"}
        self._update(self._identifier, **members)

    def _run_step(self, name: str) -> bool:
        """Run a step, and return whether it has succeeded."""
        self._note(name, StepName=name, StepStatus="Executing", StartTime=time.time(), AttemptCount=1)
        try:
            status, members = self._run_job(name)
        except (APIError, DebugExtError) as error:
            reason = error.message if isinstance(error, APIError) else str(error)
            status, members = "Failed", {"FailureReason": shorten(f"ClientError: {reason}")}
        except Exception as error:  # noqa: BLE001 - the end of the step: the execution must go on to its end
            _LOG.exception("running step %s of a pipeline failed", name)
            status, members = "Failed", {"FailureReason": shorten(f"InternalServerError: {error}")}
        self._note(name, StepStatus=status, EndTime=time.time(), **members)
        return status == "Succeeded"

    def _run_job(self, name: str) -> tuple[str, dict[str, Any]]:
        step = self._steps[name]
        kind = self._types[step["Type"]]
        with self._lock:
            arguments = resolve(step["Arguments"], self._roots)
        job = arguments.get(kind.name) or _job_name(self._identifier, name, kind.max_name)
        answer = kind.create({**arguments, kind.name: job})
        with self._lock:
            self._jobs[name] = job
        self._note(name, Metadata={kind.metadata: {"Arn": answer[kind.arn]}})
        if self._stopped.is_set():
            self.stop()  # it may have been asked for while this job was started
        description = kind.wait_for(job)
        with self._lock:
            self._roots["Steps"][name] = description
        status = description[kind.status]
        if status == "Completed":
            return "Succeeded", {}
        reason = {"FailureReason": description["FailureReason"]} if "FailureReason" in description else {}
        return ("Failed" if status == "Failed" else "Stopped"), reason

    def _note(self, name: str, **members: Any) -> None:
        with self._lock:
            self._records.setdefault(name, {}).update(members)
            self._update(self._identifier, steps=list(self._records.values()))


def order_of(steps: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, set[str]]]:
    """Yield the name of each step with the names of the steps that it needs.

    Raises:
        ValueError: A step needs one that does not exist, or itself.
    """
    names = {step["Name"] for step in steps}
    needs = {step["Name"]: {*step.get("DependsOn", ())} for step in steps}
    for step in steps:
        for path in references(step.get("Arguments", {})):
            root, _, rest = path.partition(".")
            if root == "Steps":
                needs[step["Name"]].add(re.split(r"[.\[]", rest)[0])
    for name, needed in needs.items():
        if needed - names:
            raise ValueError(f"step {name!r} needs {sorted(needed - names)[0]!r}, which does not exist")
    graphlib.TopologicalSorter(needs).prepare()  # refuses circles
    yield from needs.items()


def _job_name(identifier: str, step: str, max_length: int) -> str:
    """Return a name for the job of a step, as the service makes it."""
    word = re.sub(r"[^a-zA-Z0-9]+", "-", step).strip("-")[:_MAX_WORD]
    name = f"pipelines-{identifier}-{word}-{secrets.token_hex(4)}"
    return name if len(name) <= max_length else f"{identifier[:8]}-{word[:8].strip('-')}-{secrets.token_hex(4)}"
