"""The copy on S3 of a job that writes to a shared folder; a watcher makes it while it evaluates the rules."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Final

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.profiler.format.file_names import END_MARKS
from sagemaker_debug_ext.store.backends import Backend, LocalBackend
from sagemaker_debug_ext.store.folder_sync import FolderSync
from sagemaker_debug_ext.store.job_end import has_ended
from sagemaker_debug_ext.store.trial_mirror import TensorMirror
from sagemaker_debug_ext.watch.storage import open_patiently

_LOG: Final = logging.getLogger(__name__)
_TRIAL: Final = "debug-output"
_PROFILE: Final = "profiler-output"
_OTHERS: Final = ("tensorboard-output", "rule-output", "self-managed")


class JobMirror:
    """Copies the folder of a job, in a thread of its own, until the trial in it has ended.

    Readers of the copied trial have the guarantees of readers of the original. An error is logged once, and what
    could not be copied is tried again.

    Args:
        folder: The folder of the job.
        location: The location of the copy.
        poll_seconds: Time between two looks for new files.
    """

    def __init__(self, folder: str, location: str, poll_seconds: float) -> None:
        self._poll_seconds = poll_seconds
        self._stopped = threading.Event()
        self._has_failed = False
        self._trial = LocalBackend(f"{folder}/{_TRIAL}")
        self._location = location

        def target(name: str) -> Backend:
            return open_patiently(f"{location}/{name}", lambda: not self._stopped.is_set())

        self._tensors = TensorMirror(Path(folder, _TRIAL), target(_TRIAL))
        self._others = [
            FolderSync(Path(folder, _PROFILE), target(_PROFILE), last=END_MARKS),
            *(FolderSync(Path(folder, name), target(name)) for name in _OTHERS),
        ]
        self._thread = threading.Thread(target=self._run, name="mirror", daemon=True)

    def start(self) -> None:
        """Start to copy."""
        self._thread.start()

    def stop(self) -> None:
        """End the copy of a trial that has not ended, because nothing more comes or another watcher goes on."""
        self._stopped.set()

    def join(self) -> None:
        """Wait until the trial has ended and is copied, or until `stop` was called."""
        self._thread.join()

    def finish(self) -> None:
        """Copy what the watcher has written since then."""
        self._ship(is_final=True)

    def _run(self) -> None:
        while True:
            is_final = self._stopped.is_set() or has_ended(self._trial)  # read first, so that nothing is missed
            self._ship(is_final)
            if is_final:
                return
            self._stopped.wait(self._poll_seconds)

    def _ship(self, is_final: bool) -> None:
        try:
            self._tensors.ship(is_final and has_ended(self._trial))
            for folder in self._others:
                folder.ship(is_final)
        except (DebugExtError, OSError) as error:
            if not self._has_failed:
                _LOG.warning("the job is not copied to %s, which is tried again: %s", self._location, error)
            self._has_failed = True
