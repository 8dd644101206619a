"""Listing the index and event files of a trial by hand, as scripts for Debugger do; a trial reads them itself."""

from __future__ import annotations

from sagemaker_debug_ext._imports.lazy import lazy_names
from sagemaker_debug_ext._s3_urls import split_s3_url
from sagemaker_debug_ext.core.access_layer.s3handler import list_s3_objects
from sagemaker_debug_ext.store.backends import open_backend
from sagemaker_debug_ext.store.format.keys import EVENTS_PREFIX, INDEX_PREFIX

__all__ = ["LocalIndexReader", "ReadIndexFilesCache", "S3IndexReader"]


class S3IndexReader:
    """Lists the files of a trial on S3.

    Args:
        path: URL of the trial.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.bucket_name, self.prefix_name = split_s3_url(path)

    def list_index_files(self, start_after_key: str | None = None) -> tuple[list[str], str | None]:
        """Return the keys of the index files after a key, sorted, and the last of them; None if there is none."""
        return self._list(INDEX_PREFIX, start_after_key)

    def list_event_files(self, start_after_key: str | None = None) -> list[str]:
        """Return the keys of the event files after a key, sorted."""
        return self._list(EVENTS_PREFIX, start_after_key)[0]

    def _list(self, folder: str, start_after_key: str | None) -> tuple[list[str], str | None]:
        return list_s3_objects(self.bucket_name, f"{self.prefix_name}/{folder}".lstrip("/"), start_after_key)


class ReadIndexFilesCache:
    """Remembers which index files have been read; it forgets those before a given one when it has grown large.

    Attributes:
        lookup_set: The files.
        cache_limit: The number of files from which on earlier ones are forgotten.
    """

    def __init__(self) -> None:
        self.lookup_set: set[str] = set()
        self.cache_limit = 1000

    def has_not_read(self, index_file: str) -> bool:
        """Return whether a file is none of those read."""
        return index_file not in self.lookup_set

    def add(self, index_file: str, start_after_key: str | None) -> None:
        """Remember a file.

        Args:
            index_file: The file.
            start_after_key: The first file that may be listed again; None if all may be.
        """
        if len(self.lookup_set) > self.cache_limit:
            self.lookup_set = {file for file in self.lookup_set if file >= (start_after_key or "")}
        self.lookup_set.add(index_file)


class LocalIndexReader:
    """Lists the files of a trial in a folder.

    Args:
        path: The folder.
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def list_index_files(self) -> list[str]:
        """Return the paths of the index files, sorted."""
        return self._list(INDEX_PREFIX)

    def list_event_files(self, start_after_key: str | None = None) -> list[str]:
        """Return the paths of the event files from a path on, sorted."""
        return [path for path in self._list(EVENTS_PREFIX) if path >= (start_after_key or "")]

    def _list(self, folder: str) -> list[str]:
        return [f"{self.path}/{info.key}" for info in open_backend(self.path).list(folder)]


__path__: list[str] = []  # further names come from the table of public names
__getattr__ = lazy_names(__name__)
