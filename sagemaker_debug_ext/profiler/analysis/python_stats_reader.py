"""Finds Python profiles in a folder, or fetches them from S3."""

from __future__ import annotations

import abc
import logging
import os
from typing import Final

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.profiler.analysis.utils.python_profile_analysis_utils import (
    StepPythonProfileStats,
    span_folder,
)
from sagemaker_debug_ext.profiler.format.file_names import FRAMEWORK_PREFIX
from sagemaker_debug_ext.profiler.profiler_constants import (
    CPROFILE_NAME,
    CPROFILE_STATS_FILENAME,
    PYINSTRUMENT_HTML_FILENAME,
    PYINSTRUMENT_JSON_FILENAME,
    PYINSTRUMENT_NAME,
)
from sagemaker_debug_ext.profiler.profiler_files import open_s3_files
from sagemaker_debug_ext.store.backends.base import ByteRange
from sagemaker_debug_ext.store.backends.fileio import atomic_write

_LOG: Final = logging.getLogger(__name__)
_FILES: Final = (CPROFILE_STATS_FILENAME, PYINSTRUMENT_JSON_FILENAME, PYINSTRUMENT_HTML_FILENAME)
_PROFILERS: Final = (CPROFILE_NAME, PYINSTRUMENT_NAME)


class PythonStatsReader(abc.ABC):
    """Finds Python profiles.

    Args:
        profile_dir: A local folder.
    """

    def __init__(self, profile_dir: str) -> None:
        self.profile_dir = profile_dir

    @abc.abstractmethod
    def load_python_profile_stats(self) -> list[StepPythonProfileStats]:
        """Return the spans of all workers, sorted by time."""


class LocalPythonStatsReader(PythonStatsReader):
    """Finds Python profiles in a folder ``…/framework/<framework>/<profiler>``, or above it."""

    def load_python_profile_stats(self) -> list[StepPythonProfileStats]:
        """Return the spans of all workers, sorted by time; folders that are named otherwise are logged."""
        spans: dict[str, StepPythonProfileStats] = {}
        for folder, _, names in os.walk(os.path.abspath(self.profile_dir)):
            for name in sorted(set(names) & {CPROFILE_STATS_FILENAME, PYINSTRUMENT_JSON_FILENAME}):
                path = os.path.join(folder, name)
                framework, profiler, node = folder.split(os.sep)[-4:-1]
                try:
                    spans[folder] = StepPythonProfileStats(framework, profiler, node, span_folder(path), path)
                except SMDebugValueError as error:
                    _LOG.warning("skipped a Python profile in %s: %s", folder, error)
        return sorted(spans.values(), key=lambda span: (span.start.time_us, span.end.time_us, span.node_id))


class S3PythonStatsReader(PythonStatsReader):
    """Fetches Python profiles from S3 into a folder; files that are already there are not fetched again.

    Args:
        profile_dir: The local folder; nothing in it is deleted.
        s3_path: Address of the folder ``profiler-output``.
    """

    def __init__(self, profile_dir: str, s3_path: str) -> None:
        super().__init__(profile_dir)
        self._files = open_s3_files(s3_path)

    def load_python_profile_stats(self) -> list[StepPythonProfileStats]:
        """Fetch new profiles, and return the spans of all workers, sorted by time.

        Raises:
            OSError: A profile cannot be fetched or written.
        """
        keys = [
            info.key
            for info in self._files.list(FRAMEWORK_PREFIX)
            if info.key.endswith(_FILES) and any(f"/{profiler}/" in info.key for profiler in _PROFILERS)
        ]
        missing = [key for key in keys if not os.path.exists(self._local_path(key))]
        for key, content in zip(missing, self._files.read_many(map(ByteRange, missing)), strict=True):
            if isinstance(content, OSError):
                raise content
            if content is not None:
                path = self._local_path(key)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                atomic_write(path, bytes(content))
        return LocalPythonStatsReader(self.profile_dir).load_python_profile_stats()

    def _local_path(self, key: str) -> str:
        path = os.path.normpath(os.path.join(self.profile_dir, *key.split("/")))
        if not path.startswith(os.path.normpath(self.profile_dir) + os.sep):
            raise SMDebugValueError(f"a key must stay below its prefix (got {f'{self._files.url}/{key}'!r})")
        return path
