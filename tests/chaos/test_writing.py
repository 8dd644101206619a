"""Processes that write a trial are killed at random moments and at every file operation, or an operation fails.

Prints the counts with the seed. `--full` runs 10,000 random kills instead of 120, and fails every operation instead of
every fifth.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import writing

pytestmark = [pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"), pytest.mark.timeout(3600)]
NOTHING = writing.Counts(0, 0, 0, 0, 0)


def spoil_value(folder):
    path = next((folder / "events").rglob("*3_worker_0.tfevents"))
    content = bytearray(path.read_bytes())
    content[-200] ^= 1
    path.write_bytes(content)


def cut_off(folder):
    os.truncate(next((folder / "events").rglob("*3_worker_0.tfevents")), 100)


def hide(folder):
    next((folder / "index").rglob("*3_worker_0.json")).unlink()


def lock(folder):
    (folder / "claim.smd").write_text('{"host": "elsewhere", "pid": 1}')


@pytest.mark.parametrize(
    ("damage", "field"), [(spoil_value, "wrong"), (cut_off, "torn"), (hide, "lost"), (lock, "locked")]
)
def test_counts_when_a_trial_is_damaged_then_count_it(tmp_path, damage, field):
    """What the programs below look for is found when it is there."""
    status, written = writing.end(*writing.start(tmp_path))
    assert (status, len(written), writing.look(tmp_path, written)) == (0, writing.NUM_STEPS, NOTHING)
    damage(tmp_path)
    assert writing.look(tmp_path, written) == NOTHING._replace(**{field: 1})


def report(capsys, what, number, counts, **more):
    with capsys.disabled():
        print(f"\n{what}: {number} trials, {counts._asdict()}, {more}")


def test_trial_when_killed_at_random_moments_then_nothing_is_wrong_torn_lost_or_locked(
    tmp_path, capsys, num_kills, seed
):
    """Every second kill hits a process that continues what a killed one has left."""
    rng = random.Random(seed)
    counts, killed, folder, written = [], 0, None, set()
    began_at = time.perf_counter()
    writing.end(*writing.start(tmp_path / "measured"))
    longest_seconds = 1.2 * (time.perf_counter() - began_at)
    folders = writing.folders(tmp_path)
    while killed < num_kills:
        if folder is None:
            folder, written = next(folders), set()
            is_last = False
        else:
            is_last = True
        pid, steps = writing.start(folder)
        time.sleep(rng.uniform(0, longest_seconds))
        os.kill(pid, signal.SIGKILL)
        status, more = writing.end(pid, steps)
        killed += status == -signal.SIGKILL
        written |= more
        counts.append(writing.look(folder, written))
        if is_last:
            shutil.rmtree(folder, ignore_errors=True)
            folder = None
    found = writing.total(counts)
    report(capsys, "random SIGKILLs", len(counts), found, killed=killed, seed=seed)
    assert found == NOTHING


@pytest.mark.parametrize("is_killed", [True, False], ids=["kill", "error"])
@pytest.mark.parametrize("is_continued", [False, True], ids=["new", "continued"])
def test_trial_when_any_file_operation_is_the_last_then_nothing_is_wrong_torn_lost_or_locked(
    tmp_path, capsys, is_full, seed, is_killed, is_continued
):
    """Each change of the file system in turn is the one at which the process is killed, or that fails."""
    counts = []
    folders = writing.folders(tmp_path)
    stride = 1 if is_full else 5
    for number in range(seed % stride, 10_000, stride):
        folder, written = next(folders), set()
        if is_continued:
            _, written = writing.end(*writing.start(folder, writing.fail_at(60, is_killed=True)))
        status, more = writing.end(*writing.start(folder, writing.fail_at(number, is_killed)))
        counts.append(writing.look(folder, written | more))
        shutil.rmtree(folder, ignore_errors=True)
        if status == 0:
            break
    found = writing.total(counts)
    report(capsys, f"{'kills' if is_killed else 'errors'} at every operation", len(counts), found, new=not is_continued)
    assert len(counts) > 100 / stride
    assert found == NOTHING
