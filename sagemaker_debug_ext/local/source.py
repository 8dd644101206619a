"""The user's code and its command: script mode as in SageMaker's training toolkit, or a container entry point.

In script mode, two hyperparameters, which are JSON-encoded like all others, select the program: ``sagemaker_program``
names the file, and ``sagemaker_submit_directory`` the archive, folder or file that contains it.
"""

from __future__ import annotations

import io
import json
import logging
import os
import shlex
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.local.archives import files_below, pack, unpack
from sagemaker_debug_ext.local.layout import JobFolder
from sagemaker_debug_ext.local.paths import Locations, join_location
from sagemaker_debug_ext.store.folder_sync import write_object

PROGRAM: Final = "sagemaker_program"
SUBMIT_DIRECTORY: Final = "sagemaker_submit_directory"
SOURCE_ARCHIVE: Final = "sourcedir.tar.gz"

_LOG: Final = logging.getLogger(__name__)
_PREFIX: Final = "sagemaker_"
_ARCHIVE_NAMES: Final = (".tar.gz", ".tgz", ".tar")
_TUNING_METRIC: Final = "_tuning_objective_metric"


def decode_hyperparameters(texts: Mapping[str, str]) -> dict[str, Any]:
    """Decode hyperparameters from JSON; strings that are not valid JSON are unchanged."""
    return {name: _decode(text) for name, text in texts.items()}


def _decode(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def split_hyperparameters(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split decoded hyperparameters into those for the toolkit and those for the user's script."""
    own = {name: value for name, value in values.items() if name.startswith(_PREFIX) or name == _TUNING_METRIC}
    return own, {name: value for name, value in values.items() if name not in own}


def script_hyperparameters(
    program: str, source: str, values: Mapping[str, Any] | None = None, **more_values: Any
) -> dict[str, str]:
    """Return the ``HyperParameters`` member that runs `program` in script mode.

    Args:
        program: File name within the source.
        source: Location of the source, such as the result of `upload_source`.
        values: Hyperparameters for the script, as Python values.
        more_values: Additional hyperparameters as keyword arguments.
    """
    named = {**(values or {}), **more_values, PROGRAM: program, SUBMIT_DIRECTORY: source}
    return {name: json.dumps(value) for name, value in named.items()}


def command_line_arguments(values: Mapping[str, Any]) -> list[str]:
    """Return the script's arguments, ``--name value``, sorted by name."""
    arguments = []
    for name, value in sorted(values.items()):
        arguments.append(f"-{name}" if len(name) == 1 else f"--{name}")
        if isinstance(value, Mapping):
            arguments.append(",".join(f"{key}={item}" for key, item in sorted(value.items())))
        else:
            arguments.append("" if value is None else str(value))
    return arguments


def entry_point(request: Mapping[str, Any], folder: JobFolder, python: str) -> list[str]:
    """Return the command of the job, which runs in ``folder.code``.

    Raises:
        SMDebugValueError: The request names neither a program nor a container entry point.
    """
    algorithm = request.get("AlgorithmSpecification", {})
    if algorithm.get("ContainerEntrypoint"):
        command = [*algorithm["ContainerEntrypoint"], *algorithm.get("ContainerArguments", ())]
        return [str(part) for part in folder.relocate(command)]
    own, user = split_hyperparameters(decode_hyperparameters(folder.relocate(request.get("HyperParameters", {}))))
    program = own.get(PROGRAM)
    if not isinstance(program, str) or not program:
        image = algorithm.get("TrainingImage") or algorithm.get("AlgorithmName")
        raise SMDebugValueError(
            f"HyperParameters must hold {PROGRAM!r} and {SUBMIT_DIRECTORY!r}, or AlgorithmSpecification a "
            f"'ContainerEntrypoint': the code inside the image {image!r} cannot be run on this machine"
        )
    arguments = command_line_arguments(user)
    if program.endswith(".py"):
        return [python, program, *arguments]
    return ["/bin/sh", "-c", shlex.join([f"./{program}", *arguments])]


def _submit_directory(request: Mapping[str, Any]) -> str | None:
    location = decode_hyperparameters(request.get("HyperParameters", {})).get(SUBMIT_DIRECTORY)
    return None if location is None else str(location)


def check_submit_directory(request: Mapping[str, Any], locations: Locations) -> None:
    """Check that the user's source exists, if the request names one.

    Raises:
        SMDebugValueError: The source does not exist.
    """
    location = _submit_directory(request)
    if location is not None and not locations.input_path(location).exists():
        raise SMDebugValueError(
            f"{SUBMIT_DIRECTORY!r} must name an archive, a folder or a file "
            f"(got {location!r}; nothing exists at {str(locations.path(location))!r})"
        )


def install_source(request: Mapping[str, Any], folder: JobFolder, locations: Locations) -> None:
    """Install the user's source in the job's code folder.

    Raises:
        SMDebugValueError: The source does not exist, its archive is unsafe, or it does not contain the program.
    """
    check_submit_directory(request, locations)
    location = _submit_directory(request)
    if location is not None:
        source = locations.input_path(location)
        if source.is_dir():
            shutil.copytree(source, folder.code, dirs_exist_ok=True)
        elif source.name.endswith(_ARCHIVE_NAMES) or tarfile.is_tarfile(source):
            unpack(source, folder.code)
        else:
            shutil.copy(source, folder.code)
    if (folder.code / "requirements.txt").exists():
        _LOG.warning("requirements.txt of the job's source is not installed: the job uses the packages of this machine")
    program = decode_hyperparameters(request.get("HyperParameters", {})).get(PROGRAM)
    if isinstance(program, str) and not request.get("AlgorithmSpecification", {}).get("ContainerEntrypoint"):
        _check_program(program, folder.code)


def _check_program(program: str, code: Path) -> None:
    path = PurePosixPath(program)
    if path.is_absolute() or ".." in path.parts:
        raise SMDebugValueError(f"hyperparameter {PROGRAM!r} must be a file of the source folder (got {program!r})")
    if not (code / program).is_file():
        present = ", ".join(sorted(entry.name for entry in code.iterdir())) or "nothing"
        raise SMDebugValueError(
            f"hyperparameter {PROGRAM!r} must be a file of the source folder (got {program!r}; there is: {present})"
        )
    if path.suffix != ".py":
        (code / program).chmod(0o755)


def upload_source(source: str | os.PathLike[str], s3_uri: str, work_dir: str | os.PathLike[str]) -> str:
    """Pack a source folder, or one file, as ``sourcedir.tar.gz`` below an S3 URI, and return the archive's URI.

    Equal sources result in equal bytes: names are sorted, and owners, times and Python's caches are left out.

    Args:
        source: A folder, whose content is packed, or a file.
        s3_uri: S3 location for the archive.
        work_dir: The work folder that stands for S3.

    Raises:
        SMDebugValueError: The source does not exist.
        SMDebugRuntimeError: The archive cannot be written.
    """
    path = Path(source).expanduser()
    if not path.exists():
        raise SMDebugValueError(f"source must be a folder or a file (got {os.fspath(source)!r}, which does not exist)")
    archive = io.BytesIO()
    pack(_source_files(path), archive)
    write_object(Locations(work_dir).backend(s3_uri), SOURCE_ARCHIVE, [archive.getbuffer()])
    return join_location(s3_uri, SOURCE_ARCHIVE)


def _source_files(source: Path) -> Iterator[tuple[str, Path]]:
    if source.is_file():
        yield source.name, source
        return
    for name, path in files_below(source):
        if "__pycache__" not in PurePosixPath(name).parts:
            yield name, path
