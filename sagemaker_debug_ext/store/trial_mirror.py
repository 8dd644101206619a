"""Copies a trial to another place while it is being written, in an order that readers of the copy rely on."""

from __future__ import annotations

from sagemaker_debug_ext.errors import SMDebugRuntimeError
from sagemaker_debug_ext.store.backends import LocalBackend, ObjectInfo
from sagemaker_debug_ext.store.folder_sync import FolderSync
from sagemaker_debug_ext.store.format.keys import CLAIM_KEY, END_KEY, INDEX_PREFIX
from sagemaker_debug_ext.store.job_end import write_end


class TensorMirror(FolderSync):
    """A sync for the folder of a trial, whose files appear complete and are never changed in place.

    On the same file system, files are linked instead of copied, so that tensors take space once.

    A reader of the copy has the same guarantees as a reader of the original: an index file exists only with its event
    file, and the end marker only with all other files (store format, sections 1.3 and 1.6).
    """

    def ship(self, final: bool = False) -> list[ObjectInfo]:
        """Copy new and changed files, event files before index files; if `final`, write the end marker."""
        index = self._listing.list(INDEX_PREFIX)  # listed first, so that the event files of these exist
        others = [
            info
            for info in self._listing.list()
            if not info.key.startswith(INDEX_PREFIX) and info.key not in {CLAIM_KEY, END_KEY}
        ]
        shipped = self._copy(others, from_memory=False) + self._copy(index, from_memory=False)
        if final:
            try:
                write_end(self.target)
            except OSError as error:
                raise SMDebugRuntimeError(
                    f"the end marker could not be written to {self.target.url!r}: {error.strerror or error}"
                ) from error
        return shipped

    def _copy_one(self, info: ObjectInfo, from_memory: bool) -> bool:
        if isinstance(self.target, LocalBackend) and self.target.link(info.key, self._source / info.key):
            self._shipped[info.key] = info.version
            return True
        return super()._copy_one(info, from_memory)
