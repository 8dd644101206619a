"""Small models, the loop that trains them, and golden trials of the same models."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from support.forks import ScriptForks
from support.pytorch_training import Net, Trainer
from support.written import WRITTEN

UNREAD = {
    f"test_{part}.py"
    for part in (
        "auto", "bare_loops", "chaos", "demo", "device", "example", "functions", "guide", "observed_modes", "readme",
        "sound_scripts", "timeline", "watching",
    )
}  # fmt: skip
"""Modules whose trials the original need not read: there are many of scripts, and they are like the others."""
_KNOWN = pytest.StashKey[tuple[Path, set[Path]]]()


@pytest.fixture(scope="session", autouse=True)
def _known(request, tmp_path_factory):
    """Remember the folders that other tests have written before those of this folder."""
    root = tmp_path_factory.getbasetemp()
    request.config.stash[_KNOWN] = root, set(root.iterdir())


def pytest_runtest_teardown(item, nextitem):
    """Leave the folders that the tests of a module have written to those of the original."""
    if _KNOWN in item.config.stash and (nextitem is None or nextitem.path != item.path):
        root, known = item.config.stash[_KNOWN]
        found = set(root.iterdir())
        item.config.stash[_KNOWN] = root, found
        if item.path.name not in UNREAD:
            item.config.stash.setdefault(WRITTEN, []).extend(sorted(found - known))


@pytest.fixture(scope="session")
def forks():
    """Run scripts in processes that have PyTorch already, with what its first optimizer imports."""
    with ScriptForks("torch", "torch._dynamo") as server:
        yield server


@pytest.fixture
def trainer():
    return Trainer


@pytest.fixture
def net_class():
    return Net


@pytest.fixture(scope="session")
def golden(unpack):
    """Return a function that gives the folder of a golden trial, and what is expected of it."""

    def find(name):
        trial = unpack(name)
        return trial.path, trial.expected

    return find
