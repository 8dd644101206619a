"""Both readers of a folder ``profiler-output``."""

from __future__ import annotations

import os

from sagemaker_debug_ext.profiler.algorithm_metrics_reader import (
    AlgorithmMetricsReader,
    LocalAlgorithmMetricsReader,
    S3AlgorithmMetricsReader,
)
from sagemaker_debug_ext.profiler.system_metrics_reader import (
    LocalSystemMetricsReader,
    S3SystemMetricsReader,
    SystemMetricsReader,
)
from sagemaker_debug_ext.store.backends.s3_urls import SCHEME


def open_readers(
    path: str | os.PathLike[str], use_in_memory_cache: bool = False
) -> tuple[SystemMetricsReader, AlgorithmMetricsReader]:
    """Return the readers of system metrics and of framework metrics.

    Args:
        path: The folder ``profiler-output``, or its address on S3.
        use_in_memory_cache: Keep what was read, so that an unchanged file is read once.
    """
    text = os.fspath(path)
    if text.startswith(SCHEME):
        return S3SystemMetricsReader(text, use_in_memory_cache), S3AlgorithmMetricsReader(text, use_in_memory_cache)
    return LocalSystemMetricsReader(text, use_in_memory_cache), LocalAlgorithmMetricsReader(text, use_in_memory_cache)
