"""Copies the profiler data of a machine to S3 while its job runs."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.profiler.format.file_names import END_MARKS

_LOG: Final = logging.getLogger(__name__)
_PAUSE_SECONDS: Final = 10.0


@contextlib.contextmanager
def uploaded(folder: str, target: str | None) -> Iterator[None]:
    """Copy the files below a folder from time to time, and all of them at the end of the block, the end mark last.

    A file that grows is copied when it has not changed for a while, so its data arrive about a minute late. While the
    target is out of reach, files are kept and tried again.

    Args:
        folder: The folder.
        target: Where to copy the files; None copies nothing.
    """
    if target is None:
        yield
        return
    upload = _Upload(folder, target)
    upload.start()
    try:
        yield
    finally:
        upload.finish()


class _Upload:
    def __init__(self, folder: str, target: str) -> None:
        # A sampler that copies nothing stays small without them.
        from sagemaker_debug_ext.store.backends import open_backend  # noqa: PLC0415
        from sagemaker_debug_ext.store.folder_sync import FolderSync  # noqa: PLC0415

        self._target = target
        self._sync = FolderSync(Path(folder), open_backend(target), END_MARKS)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="profiler-upload", daemon=True)
        self._problem = ""

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """Copy all files, which are complete now."""
        self._ended.set()
        self._thread.join()
        self._try(final=True)

    def _run(self) -> None:
        while not self._ended.wait(_PAUSE_SECONDS):
            self._try(final=False)

    def _try(self, final: bool) -> None:
        try:
            self._sync.ship(final)
        except (DebugExtError, OSError) as error:
            if str(error) != self._problem:
                _LOG.warning("profiler data are not copied to %s: %s", self._target, error)
            self._problem = str(error)
