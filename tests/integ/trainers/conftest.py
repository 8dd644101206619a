"""Hooks for trainers."""

from __future__ import annotations

import functools

import pytest

pytest.importorskip("torch")

from support.pytorch_training import Trainer


@pytest.fixture
def trainer():
    return Trainer


@pytest.fixture
def make_hook(make_hook):
    """Return a function that makes hooks which save weights and gradients of every step."""
    return functools.partial(make_hook, include_collections=["weights", "gradients"])
