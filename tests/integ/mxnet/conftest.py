"""The notebook's network, the loop that trains it, and hooks that save everything named."""

from __future__ import annotations

import warnings

import pytest

with warnings.catch_warnings():  # MXNet asks numpy for names that are about to go
    warnings.simplefilter("ignore", DeprecationWarning)
    mx = pytest.importorskip("mxnet", exc_type=ImportError)

from support.mxnet_training import Trainer, make_net

CONV0_TENSORS = [
    "conv0_bias",
    "conv0_input_0",
    "conv0_output_0",
    "conv0_relu_input_0",
    "conv0_relu_output_0",
    "conv0_weight",
    "gradient/conv0_bias",
    "gradient/conv0_weight",
]
"""What the notebook's collection of `conv0.*` holds."""


@pytest.fixture(autouse=True)
def _names():
    with mx.name.NameManager():  # blocks are counted from 0, as in a new process
        yield


@pytest.fixture
def trainer():
    return Trainer


@pytest.fixture
def net():
    """Return the function that makes the usual network."""
    return make_net


@pytest.fixture
def conv0_tensors():
    return CONV0_TENSORS
