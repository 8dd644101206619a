"""MXNet's hook keeps the promises of all hooks."""

from __future__ import annotations

import warnings
from typing import ClassVar

import pytest
from mxnet import gluon

from contracts.hooks import HookContract
from support.mxnet_training import HybridisedTrainer, Trainer
from support.tensorboard import Board

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")


LAYERS = ("conv0", "dense0")
PARAMETERS = [f"{layer}_{kind}" for layer in LAYERS for kind in ("weight", "bias")]


class TestMXNetHook(HookContract):
    """A convolutional network in a loop of the script's own."""

    trainer = Trainer
    loss = "softmaxcrossentropyloss0_output_0"
    array = "conv0_weight"
    curves = metrics = frozenset({loss})
    histograms: ClassVar = {
        **{f"{layer}_weight": f"weights/{layer}_weight" for layer in LAYERS},
        **{f"gradient/{name}": f"gradients/gradient/{name}" for name in PARAMETERS},
    }
    observed: ClassVar = {"include_regex": ["relu_output"]}
    observed_array = "conv0_relu_output_0"

    def break_capture(self, monkeypatch):
        monkeypatch.setattr(gluon.Block, "name", property(self.fail))

    @staticmethod
    def read_board(folder):
        """TensorBoard's own reader."""
        found = accumulator.EventAccumulator(str(folder), {"scalars": 0, "histograms": 0})
        found.Reload()
        tags = found.Tags()
        return Board(
            {tag: {event.step: event.value for event in found.Scalars(tag)} for tag in tags["scalars"]},
            {
                tag: {event.step: event.histogram_value.num for event in found.Histograms(tag)}
                for tag in tags["histograms"]
            },
        )


class TestHybridisedMXNetHook(TestMXNetHook):
    """The same with a network that MXNet runs as a graph."""

    trainer = HybridisedTrainer
