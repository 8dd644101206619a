"""Profiler data: system metrics and trace events of a training job, read from a folder or S3."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sagemaker_debug_ext._imports.lazy import lazy_names

if TYPE_CHECKING:
    from sagemaker_debug_ext.profiler.algorithm_metrics_reader import (
        LocalAlgorithmMetricsReader,
        S3AlgorithmMetricsReader,
    )
    from sagemaker_debug_ext.profiler.metrics_reader_base import MetricsReaderBase
    from sagemaker_debug_ext.profiler.system_metrics_reader import (
        LocalSystemMetricsReader,
        ProfilerSystemEvents,
        S3SystemMetricsReader,
    )
    from sagemaker_debug_ext.profiler.system_profiler_file_parser import SystemProfilerEventParser
    from sagemaker_debug_ext.profiler.tf_profiler_parser import (
        HorovodProfilerEvents,
        SMDataParallelProfilerEvents,
        SMProfilerEvents,
        TensorboardProfilerEvents,
    )
    from sagemaker_debug_ext.profiler.trace_event_file_parser import TraceEvent, TraceEventParser

__all__ = [
    "HorovodProfilerEvents",
    "LocalAlgorithmMetricsReader",
    "LocalSystemMetricsReader",
    "MetricsReaderBase",
    "ProfilerSystemEvents",
    "S3AlgorithmMetricsReader",
    "S3SystemMetricsReader",
    "SMDataParallelProfilerEvents",
    "SMProfilerEvents",
    "SystemProfilerEventParser",
    "TensorboardProfilerEvents",
    "TraceEvent",
    "TraceEventParser",
]

# The sampling process is in this package, and it has to be small.
__getattr__ = lazy_names(
    __name__,
    {
        "HorovodProfilerEvents": "profiler.tf_profiler_parser",
        "LocalAlgorithmMetricsReader": "profiler.algorithm_metrics_reader",
        "LocalSystemMetricsReader": "profiler.system_metrics_reader",
        "MetricsReaderBase": "profiler.metrics_reader_base",
        "ProfilerSystemEvents": "profiler.system_metrics_reader",
        "S3AlgorithmMetricsReader": "profiler.algorithm_metrics_reader",
        "S3SystemMetricsReader": "profiler.system_metrics_reader",
        "SMDataParallelProfilerEvents": "profiler.tf_profiler_parser",
        "SMProfilerEvents": "profiler.tf_profiler_parser",
        "SystemProfilerEventParser": "profiler.system_profiler_file_parser",
        "TensorboardProfilerEvents": "profiler.tf_profiler_parser",
        "TraceEvent": "profiler.trace_event_file_parser",
        "TraceEventParser": "profiler.trace_event_file_parser",
    },
)
