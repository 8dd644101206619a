"""Build and parse the names of a trial's objects (store format, section 1).

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
PROGRAM_PREFIX: Final = "program/"
END_KEY: Final = "training_job_end.ts"
CLAIM_KEY: Final = "claim.smd"

FINISHED_PREFIX: Final = "finished/"
"""Marks of finished workers while other workers still write; smdebug ignores them."""

CONSOLIDATED_KEY: Final = "consolidated/index"
"""The consolidated index; smdebug ignores it."""

SUMMARY_KEY: Final = "consolidated/summary"
"""What reports show of the trial; smdebug ignores it."""

RECORDING_REQUEST: Final = "recording-request.json"
"""Requests that hooks write the steps in their flight recorders; smdebug ignores it."""

STEPS_PER_INDEX_FOLDER: Final = 1000
STEP_LIMIT: Final = 1 << 63
"""Steps are less than this, so that readers keep them as 64-bit integers."""

_REDUCTION_PREFIX: Final = "smdebug/reductions/"
_COLLECTIONS_SUFFIX: Final = "_collections.json"

_WORKER = re.compile(r"[A-Za-z0-9.][A-Za-z0-9._-]*")
_DEVICE = re.compile(r"/[A-Za-z0-9]+(?:[:/][A-Za-z0-9]+)*")
_STEP_FILE = re.compile(r"(?P<step>\d+)_(?P<worker>[^/]+)\.(?P<kind>json|tfevents)")


class StepFile(NamedTuple):
    """Step and worker of an index or event file."""

    step: int
    worker: str


def mangle_worker(worker: str) -> str:
    """Return the form of a worker's name in file names (section 1.2).

    Device strings such as ``/job:worker/task:1`` lose their separators; other names stay as they are.

    Raises:
        SMDebugValueError: The name cannot be restored from a file name.
    """
    if _DEVICE.fullmatch(worker):
        return worker.replace("/", "_").replace(":", "-")
    if not _WORKER.fullmatch(worker):
        raise SMDebugValueError(
            f"worker must be made of letters, digits, '.', '_' and '-' and not begin with '_' (got {worker!r})"
        )
    return worker


def unmangle_worker(name: str) -> str:
    """Return the worker's name for its form in file names; the folder of the file is not considered."""
    if name.startswith("_"):
        return name.replace("_", "/").replace("-", ":")
    return name


def _check_step(step: int) -> int:
    if step < 0:
        raise SMDebugValueError(f"step must not be negative (got {step})")
    return step


def event_key(step: int, worker: str) -> str:
    """Return the key of the event file that `worker` wrote at global step `step`."""
    return join_event_key(_check_step(step), mangle_worker(worker))


def join_event_key(step: int, mangled_worker: str) -> str:
    """Return the key of an event file, without checks; see `event_key`."""
    return f"{EVENTS_PREFIX}{step:012d}/{step:012d}_{mangled_worker}.tfevents"


def index_key(step: int, worker: str) -> str:
    """Return the key of the index file that `worker` wrote at global step `step`."""
    return join_index_key(_check_step(step), mangle_worker(worker))


def join_index_key(step: int, mangled_worker: str) -> str:
    """Return the key of an index file, without checks; see `index_key`."""
    return f"{INDEX_PREFIX}{step // STEPS_PER_INDEX_FOLDER:09d}/{step:012d}_{mangled_worker}.json"


def last_index_key(step: int) -> str:
    """Return a key that sorts after all index files up to a global step and before those of later steps."""
    return f"{INDEX_PREFIX}{step // STEPS_PER_INDEX_FOLDER:09d}/{step:012d}_~" if step >= 0 else ""


def collections_key(worker: str) -> str:
    """Return the key of the collections file of `worker`."""
    return f"{COLLECTIONS_PREFIX}{mangle_worker(worker)}{_COLLECTIONS_SUFFIX}"


def program_key(worker: str) -> str:
    """Return the key of the program record of `worker`."""
    return f"{PROGRAM_PREFIX}{mangle_worker(worker)}_program.json"


def _parse_step_file(key: str, kind: str) -> StepFile:
    match = _STEP_FILE.fullmatch(key.rpartition("/")[2])
    if match is None or match["kind"] != kind:
        raise IndexReaderException(f"not the name of a step's .{kind} file: {key!r}")
    step = int(match["step"])
    if step >= STEP_LIMIT:
        raise IndexReaderException(f"the step in a file name must be less than 2^63 (got {key!r})")
    return StepFile(step, unmangle_worker(match["worker"]))


def parse_index_key(key: str) -> StepFile:
    """Return step and worker from the key of an index file.

    Raises:
        IndexReaderException: The key is not that of an index file.
    """
    return _parse_step_file(key, "json")


def try_parse_index_key(key: str) -> StepFile | None:
    """Return step and worker from the key of an index file; None if it is not the key of one."""
    try:
        return parse_index_key(key)
    except IndexReaderException:
        return None


def parse_event_key(key: str) -> StepFile:
    """Return step and worker from the key of an event file.

    Raises:
        IndexReaderException: The key is not that of an event file.
    """
    return _parse_step_file(key, "tfevents")


def parse_collections_key(key: str) -> str:
    """Return the worker from the key of a collections file.

    Raises:
        IndexReaderException: The key is not that of a collections file.
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
        absolute: Whether the absolute values are reduced.
        tensor_name: Name of the tensor.
    """
    return f"{_REDUCTION_PREFIX}{'abs_' if absolute else ''}{reduction}/{tensor_name}"


def split_reduction_name(name: str) -> tuple[str, bool, str] | None:
    """Return reduction, absolute flag and tensor of a stored name; None if it is not a reduction.

    Unlike in smdebug, the name must *begin* like the name of a reduction.
    """
    if not name.startswith(_REDUCTION_PREFIX):
        return None
    operation, slash, tensor_name = name.removeprefix(_REDUCTION_PREFIX).partition("/")
    bare = operation.removeprefix("abs_")
    if not slash or (bare not in (*REDUCTIONS, *NORMS) and operation not in STATISTICS):
        return None
    return bare, operation.startswith("abs_"), tensor_name
