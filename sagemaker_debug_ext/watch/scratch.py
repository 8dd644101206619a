"""Local folders of watchers for files with rules; what killed watchers left behind is removed at the next start."""

from __future__ import annotations

import contextlib
import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PREFIX: Final = "sagemaker-debug-rules-"
_LOCK: Final = ".lock"


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """Create a temporary folder, and remove it after the block.

    A process that is killed cannot remove its folder. The kernel releases its lock on a file in it then, so that the
    next one tells abandoned folders from those in use, whatever process has its number by now.
    """
    _remove_abandoned(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=PREFIX) as name:
        folder = Path(name)
        with (folder / "new").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            (folder / "new").rename(folder / _LOCK)  # seen by others only once it is locked
            yield folder


def _remove_abandoned(parent: Path) -> None:
    for path in parent.glob(f"{PREFIX}*/{_LOCK}"):
        with contextlib.suppress(OSError), path.open() as lock:  # of another user, or removed meanwhile
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path.parent, ignore_errors=True)
