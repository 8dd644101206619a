"""Times and file names of profiler data, under smdebug's names."""

from __future__ import annotations

from sagemaker_debug_ext._imports.lazy import lazy_names
from sagemaker_debug_ext.profiler.format.file_names import (
    get_node_id_from_system_profiler_filename,
    get_node_id_from_tracefilename,
    get_timestamp_from_tracefilename,
    get_utctimestamp_us_since_epoch_from_system_profiler_file,
    is_valid_tfprof_tracefilename,
    is_valid_tracefilename,
    read_tf_profiler_metadata_file,
    validate_system_profiler_file,
)
from sagemaker_debug_ext.profiler.format.times import (
    TimeUnits,
    convert_utc_datetime_to_microseconds,
    convert_utc_datetime_to_nanoseconds,
    convert_utc_timestamp_to_microseconds,
    convert_utc_timestamp_to_nanoseconds,
    convert_utc_timestamp_to_seconds,
    ns_since_epoch_to_human_readable_time,
    us_since_epoch_to_human_readable_time,
)

__all__ = [
    "TimeUnits",
    "convert_utc_datetime_to_microseconds",
    "convert_utc_datetime_to_nanoseconds",
    "convert_utc_timestamp_to_microseconds",
    "convert_utc_timestamp_to_nanoseconds",
    "convert_utc_timestamp_to_seconds",
    "get_node_id_from_system_profiler_filename",
    "get_node_id_from_tracefilename",
    "get_timestamp_from_tracefilename",
    "get_utctimestamp_us_since_epoch_from_system_profiler_file",
    "is_valid_tfprof_tracefilename",
    "is_valid_tracefilename",
    "ns_since_epoch_to_human_readable_time",
    "read_tf_profiler_metadata_file",
    "us_since_epoch_to_human_readable_time",
    "validate_system_profiler_file",
]


__path__: list[str] = []  # submodules and further names come from the table of public names
__getattr__ = lazy_names(__name__)
