"""The notebook's network for MXNet, and the loop that trains it."""

from __future__ import annotations

import warnings

import numpy as np

with warnings.catch_warnings():  # MXNet asks numpy for names that are about to go
    warnings.simplefilter("ignore", DeprecationWarning)
    import mxnet as mx

from mxnet import autograd, gluon
from mxnet.gluon import nn

import sagemaker_debug_ext.mxnet as smd


def make_net(kind=nn.HybridSequential):
    net = kind()
    net.add(nn.Conv2D(4, 3, activation="relu"), nn.MaxPool2D(2), nn.Flatten(), nn.Dropout(0.2), nn.Dense(5))
    return net


class Trainer:
    """Trains a small convolutional network (or another model that takes its images) in the usual way."""

    hook_class = smd.Hook

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
        self.hook = None
        if hook is not None:
            self.attach(hook)

    def attach(self, hook):
        self.hook = hook
        hook.register_block(self.model)
        hook.register_block(self.loss)

    def batch(self):
        return mx.nd.random.uniform(shape=(6, 1, 8, 8)), mx.nd.array(np.arange(6) % 5)

    def forward(self):
        images, labels = (gluon.utils.split_and_load(array, self.contexts) for array in self.batch())
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

    @property
    def parameter(self):
        return self.model[4].weight.data()

    def spoil(self):
        """Make every loss to come NaN."""
        self.model[4].weight.data()[:] = np.nan

    def result(self):
        """Return all that training leaves as bytes: losses, parameters, gradients, and the next random numbers."""
        parts = [loss.asnumpy() for loss in self.losses]
        for parameter in self.model.collect_params().values():
            parts += [parameter.data().asnumpy(), parameter.grad().asnumpy()]
        parts.append(mx.nd.random.uniform(shape=(3,)).asnumpy())
        return b"".join(part.tobytes() for part in parts)

    def attachments(self):
        """Return what is attached to blocks, and the functions by which trainers update."""
        blocks = []
        self.model.apply(blocks.append)
        counts = [(len(block._forward_hooks), len(block._forward_pre_hooks)) for block in [*blocks, self.loss]]
        return counts, gluon.Trainer.step, gluon.Trainer.update


class HybridisedTrainer(Trainer):
    """The same with a network that MXNet runs as a graph."""

    def __init__(self, **arguments):
        super().__init__(hybridise={}, **arguments)
