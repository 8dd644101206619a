"""Small models, the loop that trains them, and golden trials of the same models."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from support.pytorch_training import Net, Trainer


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
