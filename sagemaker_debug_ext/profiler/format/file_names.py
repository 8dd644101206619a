"""Names of profiler files: what they say about time and node (profiler format, sections 1.1 to 1.3)."""

from __future__ import annotations

import os
import re
from typing import Final

from sagemaker_debug_ext.profiler.format.times import hour_folder
from sagemaker_debug_ext.profiler.profiler_constants import DEFAULT_PREFIX, TENSORBOARDTIMELINE_SUFFIX
from sagemaker_debug_ext.store.backends import open_backend

SYSTEM_PREFIX: Final = "system/"
FRAMEWORK_PREFIX: Final = "framework/"
END_MARKS: Final = ("system/training_job_end.ts", "framework/training_job_end.ts")

# A file with the suffix .tmp is being written by the platform's agent; its complete lines are valid.
_SYSTEM_FILE: Final = re.compile(r".+/system/.+/(\d{10})\.(algo-\d+)\.json(\.tmp)?$")
_TRACE_FILE: Final = re.compile(r"(\d+)_([^_/]+)_[^/]+\.json$")
_TF_METADATA: Final = re.compile(r"([^_]+)_(\d+)_(\d+)\.metadata$")
_NODE: Final = re.compile(r"(.*)-(algo.*)")


def validate_system_profiler_file(filename: str) -> bool:
    """Return whether a path names a file of system metrics."""
    return _SYSTEM_FILE.match(filename) is not None


def get_utctimestamp_us_since_epoch_from_system_profiler_file(filename: str) -> int | None:
    """Return the minute of a file of system metrics in microseconds since 1970; None for another file."""
    found = _SYSTEM_FILE.match(filename)
    return int(found[1]) * 1_000_000 if found else None


def get_node_id_from_system_profiler_filename(filename: str) -> str | None:
    """Return the node, such as ``algo-1``, of a file of system metrics; None for another file."""
    found = _SYSTEM_FILE.match(filename)
    return found[2] if found else None


def is_valid_tfprof_tracefilename(filename: str) -> bool:
    """Return whether a path names a trace of TensorFlow's own profiler."""
    return filename.endswith(TENSORBOARDTIMELINE_SUFFIX) and "tensorflow/detailed_profiling" in filename


def is_valid_tracefilename(filename: str) -> bool:
    """Return whether a path names a file of trace events: ``…/pevents/…/<end>_<node>_<suffix>.json``."""
    return "pevents" in filename and _TRACE_FILE.fullmatch(os.path.basename(filename)) is not None


def get_node_id_from_tracefilename(filename: str) -> str:
    """Return the node of a trace file as its name has it, such as ``41-algo-1``; empty for another file."""
    if is_valid_tracefilename(filename):
        found = _TRACE_FILE.fullmatch(os.path.basename(filename))
        return found[2] if found else ""
    return read_tf_profiler_metadata_file(filename)[0]


def get_timestamp_from_tracefilename(filename: str) -> int:
    """Return the end of a trace file in microseconds since 1970, from its name; 0 if it is unknown."""
    if is_valid_tracefilename(filename):
        found = _TRACE_FILE.fullmatch(os.path.basename(filename))
        return int(found[1]) if found else 0
    return int(read_tf_profiler_metadata_file(filename)[2])


def tensorflow_profile_folder(trace_path: str) -> str:
    """Return the folder of a step, above ``plugins/``, that holds the trace and its metadata file."""
    return trace_path.partition("/plugins/")[0]


def parse_tensorflow_metadata(paths: list[str]) -> tuple[str, str, str]:
    """Return node, start and end in microseconds as texts, from the first metadata name; empty and zeros if absent."""
    for path in paths:
        found = _TF_METADATA.fullmatch(os.path.basename(path))
        if found:
            return found[1], found[2], found[3]
    return "", "0", "0"


def read_tf_profiler_metadata_file(file_path: str) -> tuple[str, str, str]:
    """Return node, start and end in microseconds of a TensorFlow trace, all as texts; ("", "0", "0") if absent.

    They are in the name of the metadata file beside ``plugins/``, in a folder of this machine or on S3.
    """
    if not is_valid_tfprof_tracefilename(file_path):
        return "", "0", "0"
    try:
        found = open_backend(tensorflow_profile_folder(file_path)).list()
    except OSError:
        return "", "0", "0"
    return parse_tensorflow_metadata([info.key for info in found])


def sortable_node(node: str) -> str:
    """Return ``algo-1-41`` for ``41-algo-1``, which sorts by machine; other names stay."""
    found = _NODE.fullmatch(node)
    return f"{found[2]}-{found[1]}" if found else node


def system_file_key(minute: int, node: str) -> str:
    """Return the key of the file of system metrics of a minute.

    Args:
        minute: The full minute, in seconds since 1970.
        node: The node, such as ``algo-1``.
    """
    return f"{SYSTEM_PREFIX}incremental/{hour_folder(minute)}/{minute:010d}.{node}.json"


def trace_file_key(end_us: int, node: str, suffix: str) -> str:
    """Return the key of a file of trace events.

    Args:
        end_us: End of the last event, in microseconds since 1970.
        node: ``<rank or pid>-<host>``; underscores become hyphens.
        suffix: Kind of the file, such as ``pythontimeline.json``.
    """
    return f"{DEFAULT_PREFIX}/{hour_folder(end_us / 1e6)}/{end_us:016d}_{node.replace('_', '-')}_{suffix}"
