"""Names of a trial's objects: build and parse, inverse of each other (store format, section 1).

Keys are relative to the trial's root and joined by ``/`` on every platform.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from sagemaker_debug_ext.errors import IndexReaderException, SMDebugValueError
from sagemaker_debug_ext.vocabulary import NORMS, REDUCTIONS, STATISTICS

EVENTS_PREFIX: Final = "events/"
INDEX_PREFIX: Final = "index/"
COLLECTIONS_PREFIX: Final = "collections/000000000/"
END_KEY: Final = "training_job_end.ts"
CLAIM_KEY: Final = "claim.smd"

FINISHED_PREFIX: Final = "finished/"
"""Where workers say that they are done, as long as others are not; the original reader does not look there."""

CONSOLIDATED_KEY: Final = "consolidated/index"
"""All index files as one; the original reader does not look there."""

RECORDING_REQUEST: Final = "recording-request.json"
"""Asks hooks to write what their flight recorders keep; the original reader does not look there."""

STEPS_PER_INDEX_FOLDER: Final = 1000
_REDUCTION_PREFIX: Final = "smdebug/reductions/"
_COLLECTIONS_SUFFIX: Final = "_collections.json"

_WORKER = re.compile(r"[A-Za-z0-9.][A-Za-z0-9._-]*")
_DEVICE = re.compile(r"/[A-Za-z0-9]+(?:[:/][A-Za-z0-9]+)*")
_STEP_FILE = re.compile(r"(?P<step>\d+)_(?P<worker>[^/]+)\.(?P<kind>json|tfevents)")


class StepFile(NamedTuple):
    """What one worker wrote at one step."""

    step: int
    worker: str


def mangle_worker(worker: str) -> str:
    """Turn a worker's name into the form file names carry (section 1.2).

    Device strings such as ``/job:worker/task:1`` lose their separators; other names stay as they are.

    Raises:
        SMDebugValueError: The name could not be read back from a file name.
    """
    if _DEVICE.fullmatch(worker):
        return worker.replace("/", "_").replace(":", "-")
    if not _WORKER.fullmatch(worker):
        raise SMDebugValueError(
            f"worker must be made of letters, digits, '.', '_' and '-' and not begin with '_' (got {worker!r})"
        )
    return worker


def unmangle_worker(name: str) -> str:
    """Turn the form of file names back into a worker's name; only the name itself is looked at, never its folder."""
    if name.startswith("_"):
        return name.replace("_", "/").replace("-", ":")
    return name


def _check_step(step: int) -> int:
    if step < 0:
        raise SMDebugValueError(f"step must not be negative (got {step})")
    return step


def event_key(step: int, worker: str) -> str:
    """Return the key of the records that `worker` wrote at global step `step`."""
    return join_event_key(_check_step(step), mangle_worker(worker))


def join_event_key(step: int, mangled_worker: str) -> str:
    """Return what `event_key` does, without checking anything."""
    return f"{EVENTS_PREFIX}{step:012d}/{step:012d}_{mangled_worker}.tfevents"


def index_key(step: int, worker: str) -> str:
    """Return the key of the index of `event_key`'s object."""
    return join_index_key(_check_step(step), mangle_worker(worker))


def join_index_key(step: int, mangled_worker: str) -> str:
    """Return what `index_key` does, without checking anything."""
    return f"{INDEX_PREFIX}{step // STEPS_PER_INDEX_FOLDER:09d}/{step:012d}_{mangled_worker}.json"


def last_index_key(step: int) -> str:
    """Return what sorts after the keys of all index files up to a global step, and before those of later ones."""
    return f"{INDEX_PREFIX}{step // STEPS_PER_INDEX_FOLDER:09d}/{step:012d}_~" if step >= 0 else ""


def collections_key(worker: str) -> str:
    """Return the key of the collections file of `worker`."""
    return f"{COLLECTIONS_PREFIX}{mangle_worker(worker)}{_COLLECTIONS_SUFFIX}"


def _parse_step_file(key: str, kind: str) -> StepFile:
    match = _STEP_FILE.fullmatch(key.rpartition("/")[2])
    if match is None or match["kind"] != kind:
        raise IndexReaderException(f"not the name of a step's .{kind} file: {key!r}")
    return StepFile(int(match["step"]), unmangle_worker(match["worker"]))


def parse_index_key(key: str) -> StepFile:
    """Read step and worker off the key of an index file.

    Raises:
        IndexReaderException: It is no index file's name.
    """
    return _parse_step_file(key, "json")


def try_parse_index_key(key: str) -> StepFile | None:
    """Read step and worker off the key of an index file; None if it is no index file's name."""
    try:
        return parse_index_key(key)
    except IndexReaderException:
        return None


def parse_event_key(key: str) -> StepFile:
    """Read step and worker off the key of an event file.

    Raises:
        IndexReaderException: It is no event file's name.
    """
    return _parse_step_file(key, "tfevents")


def parse_collections_key(key: str) -> str:
    """Read the worker off the key of a collections file.

    Raises:
        IndexReaderException: It is no collections file's name.
    """
    name = key.rpartition("/")[2]
    worker = name.removesuffix(_COLLECTIONS_SUFFIX)
    if not worker or worker == name:
        raise IndexReaderException(f"not the name of a collections file: {key!r}")
    return unmangle_worker(worker)


def reduction_tensor_name(reduction: str, absolute: bool, tensor_name: str) -> str:
    """Return the name under which a reduction of a tensor is stored (section 2.6).

    Args:
        reduction: One of ``REDUCTIONS`` or ``NORMS``, without the ``_norm`` of configuration strings.
        absolute: Whether it is of the absolute values.
        tensor_name: The tensor.
    """
    return f"{_REDUCTION_PREFIX}{'abs_' if absolute else ''}{reduction}/{tensor_name}"


def split_reduction_name(name: str) -> tuple[str, bool, str] | None:
    """Return reduction, absolute flag and tensor of a stored name; None if it names no reduction.

    Unlike the original only names that *begin* as a reduction's name are taken for one.
    """
    if not name.startswith(_REDUCTION_PREFIX):
        return None
    operation, slash, tensor_name = name.removeprefix(_REDUCTION_PREFIX).partition("/")
    bare = operation.removeprefix("abs_")
    if not slash or (bare not in (*REDUCTIONS, *NORMS) and operation not in STATISTICS):
        return None
    return bare, operation.startswith("abs_"), tensor_name
