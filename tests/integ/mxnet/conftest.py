"""The notebook's network, the loop that trains it, and hooks that save everything named."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

with warnings.catch_warnings():  # MXNet asks numpy for names that are about to go
    warnings.simplefilter("ignore", DeprecationWarning)
    mx = pytest.importorskip("mxnet", exc_type=ImportError)

from mxnet import autograd, gluon
from mxnet.gluon import nn

import sagemaker_debug_ext.mxnet as smd

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


def pytest_collection_modifyitems(items):
    """Let MXNet use what numpy deprecates; and the original, once loaded, look for modules in an old way."""
    for item in items:
        item.add_marker(pytest.mark.filterwarnings("ignore::DeprecationWarning:mxnet"))
        item.add_marker(pytest.mark.filterwarnings("ignore:_SixMetaPathImporter:ImportWarning"))


class Trainer:
    """Trains a small convolutional network (or another model that takes its images) in the usual way."""

    def __init__(self, hook=None, model=None, seed=0, hybridise=None, contexts=(), **options):
        mx.random.seed(seed)
        np.random.seed(seed)
        self.contexts = list(contexts) or [mx.cpu(0)]
        with mx.name.NameManager():  # blocks are counted from 0
            self.model = model() if model else make_net()
            self.loss = gluon.loss.SoftmaxCrossEntropyLoss()
        self.model.initialize(mx.init.Xavier(), ctx=self.contexts)
        if hybridise is not None:
            self.model.hybridize(**hybridise)
        settings = {"learning_rate": 0.1, "momentum": 0.9}
        self.trainer = gluon.Trainer(self.model.collect_params(), "sgd", settings, **options)
        self.losses = []
        self.hook = hook
        if hook is not None:
            hook.register_block(self.model)
            hook.register_block(self.loss)

    def batch(self):
        return mx.nd.random.uniform(shape=(6, 1, 8, 8)), mx.nd.array(np.arange(6) % 5)

    def forward(self):
        images, labels = (gluon.utils.split_and_load(each, self.contexts) for each in self.batch())
        return [self.loss(self.model(x), y) for x, y in zip(images, labels)]  # noqa: B905

    def train(self, steps, after_step=None):
        if self.hook is not None:
            self.hook.set_mode(smd.modes.TRAIN)
        for _ in range(steps):
            with autograd.record():
                losses = self.forward()
            for loss in losses:
                loss.backward()
            self.trainer.step(6)
            self.losses.append(losses[0])
            if after_step is not None:
                after_step()
        return self

    def evaluate(self, steps):
        if self.hook is not None:
            self.hook.set_mode(smd.modes.EVAL)
        for _ in range(steps):
            self.forward()
        return self

    @property
    def parameters(self):
        return {name: value.data(self.contexts[0]).asnumpy() for name, value in self.model.collect_params().items()}


def make_net(kind=nn.HybridSequential):
    net = kind()
    net.add(nn.Conv2D(4, 3, activation="relu"), nn.MaxPool2D(2), nn.Flatten(), nn.Dropout(0.2), nn.Dense(5))
    return net


@pytest.fixture(autouse=True)
def _steady(outside_of_jobs):
    with mx.name.NameManager():  # blocks are counted from 0, as in a new process
        yield
    smd.del_hook()


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


@pytest.fixture
def hook_class():
    return smd.Hook
