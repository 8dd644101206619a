"""State file beside a job's checkpoints, with which a resumed job continues counting (store format, section 11)."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sagemaker_debug_ext.hooks.capture.counters import StepCounters
from sagemaker_debug_ext.store.backends.fileio import atomic_write
from sagemaker_debug_ext.vocabulary import ModeKeys

LOG = logging.getLogger(__name__)

CONFIG_PATH_VARIABLE: Final = "CHECKPOINT_CONFIG_FILE_PATH"
DEFAULT_CONFIG_PATH: Final = "/opt/ml/input/config/checkpointconfig.json"
STATE_FILE: Final = "metadata.json"
_UPLOADED: Final = "sagemaker-uploaded"


class CheckpointState:
    """Watches a checkpoint folder, and writes the step counters to it when it changes.

    Args:
        folder: The folder; it need not exist yet.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        self._entries = self._read()
        self._training_run = max((int(entry["training-run"]) for entry in self._entries), default=-1) + 1
        self._seen = self._look()

    @classmethod
    def find(cls, environ: Mapping[str, str]) -> CheckpointState | None:
        """Return the state of the folder that the checkpoint configuration names; None if there is none."""
        path = Path(environ.get(CONFIG_PATH_VARIABLE) or DEFAULT_CONFIG_PATH)
        try:
            folder: str = os.fspath(json.loads(path.read_bytes())["LocalPath"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            LOG.warning("%s: no checkpoint configuration: %r", path, error)
            return None
        return cls(folder)

    @property
    def has_earlier_run(self) -> bool:
        """Whether the checkpoints are those of an earlier run of the job, which this one continues."""
        return self._training_run > 0

    def restore(self, counters: StepCounters) -> None:
        """Continue counting after the last step that an earlier run of the job has begun."""
        if not self._entries:
            return
        last = max(self._entries, key=lambda entry: int(entry["latest-global-step-seen"]))
        modes = _mode_steps(last)
        modes.pop(ModeKeys.GLOBAL, None)
        counters.resume_after(int(last["latest-global-step-seen"]), modes)
        LOG.info("counting goes on after step %s", last["latest-global-step-seen"])

    def update(self, counters: StepCounters, last_saved_step: int) -> None:
        """Write the state if the checkpoints have changed since the last look.

        Args:
            counters: How far the job has counted.
            last_saved_step: Global step of which something was saved last; -1 if none.
        """
        found = self._look()
        if found == self._seen or counters.last_global_step < 0:
            return
        self._seen = found
        self._entries.append(
            {
                "training-run": self._training_run,
                "latest-global-step-saved": last_saved_step,
                "latest-global-step-seen": counters.last_global_step,
                "latest-mode-step": counters.last_mode_steps(),
            }
        )
        atomic_write(self._folder / STATE_FILE, json.dumps(self._entries).encode())

    def _look(self) -> frozenset[tuple[str, int]]:
        found = set()
        try:
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    if not entry.name.startswith(STATE_FILE) and _UPLOADED not in entry.name:
                        found.add((entry.name, _size(entry)))
        except OSError:  # the folder does not exist yet
            return frozenset()
        return frozenset(found)

    def _read(self) -> list[dict[str, Any]]:
        path = self._folder / STATE_FILE
        try:
            entries: list[dict[str, Any]] = json.loads(path.read_bytes())
            for entry in entries:
                int(entry["latest-global-step-seen"]), int(entry["training-run"]), _mode_steps(entry)
        except FileNotFoundError:
            return []
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            LOG.warning("%s: not a state file, counting begins at 0: %r", path, error)
            return []
        return entries


def _mode_steps(entry: Mapping[str, Any]) -> dict[ModeKeys, int]:
    return {ModeKeys[name]: int(step) for name, step in entry["latest-mode-step"].items()}


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat().st_size
    except OSError:  # the file was deleted after the folder was listed
        return -1
