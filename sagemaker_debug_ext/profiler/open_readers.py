"""Both readers of a folder ``profiler-output``."""

from __future__ import annotations

import os

from sagemaker_debug_ext.profiler.algorithm_metrics_reader import AlgorithmMetricsReader
from sagemaker_debug_ext.profiler.profiler_files import open_files
from sagemaker_debug_ext.profiler.system_metrics_reader import SystemMetricsReader


def open_readers(
    path: str | os.PathLike[str], use_in_memory_cache: bool = False
) -> tuple[SystemMetricsReader, AlgorithmMetricsReader]:
    """Return the readers of system metrics and of framework metrics.

    Args:
        path: The folder ``profiler-output``, or its address on S3.
        use_in_memory_cache: Keep parsed files in memory, so that an unchanged file is read once.
    """
    files = open_files(path)
    return SystemMetricsReader(files, use_in_memory_cache), AlgorithmMetricsReader(files, use_in_memory_cache)
