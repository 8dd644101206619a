"""The trials that a live page can show: those that were named, or all below a folder."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.looking.live.board import Board
from sagemaker_debug_ext.looking.live.rule_choice import RuleChoice
from sagemaker_debug_ext.store.backends import open_backend
from sagemaker_debug_ext.trials import create_trial

MAX_OPEN: Final = 8
_MARKS: Final = ("index", "collections")
"""Folders of a trial of which it has at least one."""

_NUMBERED: Final = "[0-9]*"
"""What is in each of them: folders named by numbers."""


class NamedTrials:
    """One board with the trials that were named.

    Args:
        board: The board.
    """

    def __init__(self, board: Board) -> None:
        self._board = board

    def listed(self) -> list[dict[str, Any]]:
        """Return the only board."""
        return [{"number": 0, "name": ", ".join(pulse.name for pulse in self._board.pulses()), "path": ""}]

    def get(self, number: int) -> Board:
        """Return the board; `KeyError` for another number than 0."""
        if number != 0:
            raise KeyError(number)
        return self._board

    def close(self) -> None:
        """Stop following the trials."""
        self._board.close()


class FolderTrials:
    """All trials below a folder, each of which is opened when it is asked for.

    Args:
        folder: The folder, or a prefix on S3.
        choice: The rules to run over each; None for none.

    Raises:
        SMDebugValueError: There is no such folder.
    """

    def __init__(self, folder: str, choice: RuleChoice | None) -> None:
        if "://" not in folder and not Path(folder).expanduser().is_dir():
            raise SMDebugValueError(f"FOLDER must be a folder with trials, or a prefix on S3 (got {folder!r})")
        self._folder = folder if "://" in folder else str(Path(folder).expanduser())
        self._choice = choice
        self._lock = threading.Lock()
        self._paths: list[str] = []
        self._open: OrderedDict[int, Board] = OrderedDict()

    def listed(self) -> list[dict[str, Any]]:
        """Return the trials that are below the folder now; a trial keeps its number."""
        found = list(find_trials(self._folder))
        with self._lock:
            self._paths += [path for path in found if path not in set(self._paths)]
            numbers = {path: number for number, path in enumerate(self._paths)}
        start = len(self._folder.rstrip("/")) + 1
        return [{"number": numbers[path], "name": path[start:] or ".", "path": path} for path in found]

    def get(self, number: int) -> Board:
        """Return the board of a trial by its number; `KeyError` without one. The one used least recently is closed."""
        with self._lock:
            if number >= len(self._paths):
                raise KeyError(number)
            if number not in self._open:
                trial = create_trial(self._paths[number], wait_seconds=0)
                self._open[number] = Board([trial], self._choice)
            self._open.move_to_end(number)
            closed = [self._open.popitem(last=False)[1] for _ in range(len(self._open) - MAX_OPEN)]
            board = self._open[number]
        for old in closed:
            old.close()
        return board

    def close(self) -> None:
        """Stop following all trials."""
        with self._lock:
            boards = list(self._open.values())
            self._open.clear()
        for board in boards:
            board.close()


def find_trials(folder: str) -> Iterator[str]:
    """Yield the trials below a folder or a prefix on S3, sorted, those inside of other trials left out."""
    if "://" in folder:
        keys = (info.key.split("/") for info in open_backend(folder).list())
        places = {"/".join(parts[:at]) for parts in keys for at, part in enumerate(parts[:-1]) if part in _MARKS}
        yield from ("/".join(filter(None, (folder.rstrip("/"), place))) for place in sorted(places))
        return
    for path, folders, _ in os.walk(folder):
        if any(next(Path(path, mark).glob(_NUMBERED), None) for mark in _MARKS if mark in folders):
            folders.clear()
            yield path
        folders.sort()
