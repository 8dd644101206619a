"""Local folders of watchers."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile

import pytest

from sagemaker_debug_ext.watch.scratch import PREFIX, scratch_folder

HOLD = """
from sagemaker_debug_ext.watch.scratch import scratch_folder
with scratch_folder() as folder:
    (folder / "rules.py").write_text("")
    print(folder, flush=True)
    input()
"""


@pytest.fixture(autouse=True)
def parent(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def folders(parent):
    return {path.name for path in parent.glob(f"{PREFIX}*")}


def test_folder_when_the_block_ends_then_is_removed(parent):
    """Also after an error."""
    with pytest.raises(KeyError), scratch_folder() as folder:
        assert folder.parent == parent
        (folder / "rules.py").write_text("")
        raise KeyError
    assert folders(parent) == set()


def test_folder_when_its_process_was_killed_then_the_next_one_removes_it(parent):
    """Folders in use stay, and folders of others."""
    (parent / f"{PREFIX}other").mkdir()
    processes = [
        subprocess.Popen([sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    killed, living = (process.stdout.readline().strip().rpartition("/")[2] for process in processes)
    processes[0].send_signal(signal.SIGKILL)
    processes[0].communicate()
    assert folders(parent) == {f"{PREFIX}other", killed, living}
    with scratch_folder() as folder:
        assert folders(parent) == {f"{PREFIX}other", living, folder.name}
    processes[1].communicate("\n")
    assert folders(parent) == {f"{PREFIX}other"}
