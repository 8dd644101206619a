"""Both readers of a folder ``profiler-output``, and the error of a folder that holds nothing for them."""

from __future__ import annotations

import os

from sagemaker_debug_ext.errors import SMDebugValueError
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


def no_data(path: str | os.PathLike[str]) -> SMDebugValueError:
    """Return the error of a folder without profiler data."""
    return SMDebugValueError(f"{os.fspath(path)!r} holds no profiler data; name the folder profiler-output of a job")
