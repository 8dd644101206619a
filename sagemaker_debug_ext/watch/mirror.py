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
from sagemaker_debug_ext.watch.pauses import Pauses
from sagemaker_debug_ext.watch.storage import open_patiently

_LOG: Final = logging.getLogger(__name__)
_TRIAL: Final = "debug-output"
_PROFILE: Final = "profiler-output"
_TENSORBOARD: Final = "tensorboard-output"
_ATOMIC: Final = ("rule-output", "self-managed")  # the status last, which tells of the results


class JobMirror:
    """Copies the folder of a job, in a thread of its own, until the trial in it has ended and no rule is evaluated.

    Readers of the copied trial have the guarantees of readers of the original. A part that cannot be copied holds up no
    other part, and is tried again; its error is logged when it comes and when it changes.

    Args:
        folder: The folder of the job.
        location: The location of the copy.
        poll_seconds: Time between two looks for new files.
    """

    def __init__(self, folder: str, location: str, poll_seconds: float) -> None:
        self._poll_seconds = poll_seconds
        self._pauses = Pauses()
        self._is_joined = False
        self._trial = LocalBackend(f"{folder}/{_TRIAL}")
        self._location = location
        self._troubles: dict[str, str] = {}  # part → its last error

        def places(name: str) -> tuple[Path, Backend]:
            return Path(folder, name), open_patiently(f"{location}/{name}", lambda: not self._pauses.have_ended)

        self._parts: dict[str, FolderSync] = {
            _TRIAL: TensorMirror(*places(_TRIAL)),
            _PROFILE: FolderSync(*places(_PROFILE), last=END_MARKS),
            _TENSORBOARD: FolderSync(*places(_TENSORBOARD)),
            **{name: FolderSync(*places(name), is_atomic=True) for name in _ATOMIC},
        }
        self._thread = threading.Thread(target=self._run, name="mirror", daemon=True)

    def start(self) -> None:
        """Start to copy."""
        self._thread.start()

    def stop(self) -> None:
        """End the copy of a trial that has not ended, because nothing more comes or another watcher goes on."""
        self._pauses.end()

    def hurry(self) -> None:
        """Look for new files now, and often from now on; see `Pauses.hurry`."""
        self._pauses.hurry()

    def join(self) -> None:
        """Wait until the trial has ended and is copied, or until `stop` was called; all rules have ended."""
        self._is_joined = True
        if has_ended(self._trial):
            self._pauses.hurry()
        self._thread.join()

    def finish(self) -> None:
        """Copy what the watcher has written since then."""
        self._ship(has_ended(self._trial), is_final=True)

    def _run(self) -> None:
        while True:
            is_stopped, is_joined = self._pauses.have_ended, self._is_joined  # read first, so that nothing is missed
            is_complete = has_ended(self._trial)
            self._ship(is_complete, is_final=is_stopped or is_complete)
            if is_stopped or (is_joined and is_complete):
                return
            self._pauses.take(self._poll_seconds)

    def _ship(self, is_complete: bool, is_final: bool) -> None:
        """Copy each part; the end marker of the trial comes only with a complete one."""
        for name in self._parts:
            self._ship_part(name, is_complete if name == _TRIAL else is_final)

    def _ship_part(self, name: str, is_final: bool) -> None:
        try:
            self._parts[name].ship(is_final)
        except (DebugExtError, OSError) as error:
            if self._troubles.get(name) != str(error):
                _LOG.warning("%s is not copied to %s, which is tried again: %s", name, self._location, error)
            self._troubles[name] = str(error)
        else:
            self._troubles.pop(name, None)
