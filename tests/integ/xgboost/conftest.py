"""Small data, a hook that saves every round, and trials of what it wrote."""

from __future__ import annotations

import functools

import pytest

pytest.importorskip("xgboost")

from support import xgboost_training
from support.forks import ScriptForks


@pytest.fixture(scope="session")
def forks():
    """Run scripts in processes that have XGBoost already."""
    with ScriptForks("xgboost") as server:
        yield server


@pytest.fixture
def trainer():
    return xgboost_training.Trainer


@pytest.fixture
def data():
    """Features, labels for two and for three classes, and matrices of them."""
    return xgboost_training.make_data()


@pytest.fixture
def full_hook(make_hook, data):
    """Make a hook that saves everything there is of two classes."""
    return functools.partial(make_hook, **xgboost_training.everything(data))


@pytest.fixture
def train(data):
    """Return a function that trains on two classes."""
    return functools.partial(xgboost_training.train, data)
