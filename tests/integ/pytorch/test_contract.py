"""PyTorch's hook keeps the promises of all hooks."""

from __future__ import annotations

from typing import ClassVar

import torch

from contracts.hooks import HookContract
from support.pytorch_training import Trainer

LAYERS = ("conv1", "conv2", "fc")
PARAMETERS = [f"{layer}.{kind}" for layer in LAYERS for kind in ("weight", "bias")]


class TestPyTorchHook(HookContract):
    """A convolutional network in a loop of the script's own."""

    trainer = Trainer
    loss = "CrossEntropyLoss_output_0"
    array = "Net_fc.weight"
    curves = metrics = frozenset({loss})
    histograms: ClassVar = {
        **{f"Net_{layer}.weight": f"weights/Net_{layer}.weight" for layer in LAYERS},
        **{f"gradient/Net_{name}": f"gradients/gradient/Net_{name}" for name in PARAMETERS},
    }
    observed: ClassVar = {"include_regex": ["relu1_output"]}
    observed_array = "relu1_output_0"

    def break_capture(self, monkeypatch):
        monkeypatch.setattr(torch.nn.Module, "named_modules", self.fail)
