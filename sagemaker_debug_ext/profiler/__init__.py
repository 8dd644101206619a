"""Profiler data: system metrics and trace events of a training job, read from a folder or S3."""

from __future__ import annotations

from sagemaker_debug_ext._lazy import lazy_names
from sagemaker_debug_ext.profiler.algorithm_metrics_reader import LocalAlgorithmMetricsReader, S3AlgorithmMetricsReader
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

__getattr__ = lazy_names(__name__)  # names of the SDK's module, and names that are gone
