"""Faults in losses, outputs and architecture."""

from __future__ import annotations

import torch
from torch import nn

from harness.parts import (
    Apply,
    dense,
    reshape_instead_of_transpose,
    setting,
    with_model,
    with_output,
    with_targets,
    with_weights,
)
from suites.everyday_faults.losses import Written
from suites.everyday_faults.models import Copier, Elman, Recurrent
from suites.everyday_faults.plan import faults


def _no_minus(scores, y):
    return scores.log_softmax(1).gather(1, y[:, None]).mean()


def _other_side(scores, first):
    return (1 - first * (scores[:, 0] - scores[:, 1])).clamp(max=0).mean()


def _swollen() -> nn.Module:
    layers = dense(16, *[32] * 10, 6)
    with torch.no_grad():
        for parameter in layers.parameters():
            parameter.mul_(6 if parameter.ndim > 1 else 1)
    return layers


faults({
    "loss or output": [
        ("digits", "softmax before cross entropy", with_output(nn.Softmax(dim=1))),
        ("churn", "sigmoid before a loss that applies it", with_output(nn.Sigmoid())),
        ("record pairs", "softmax of a single score", with_output(nn.Softmax(dim=1)), setting(loss=nn.BCELoss())),
        ("letters", "the logarithm is missing before negative log likelihood", with_output(nn.Softmax(dim=1)),
         setting(loss=nn.NLLLoss())),
        ("activity", "negative log likelihood of plain scores", setting(loss=nn.NLLLoss())),
        ("textures", "softmax over the batch", with_output(nn.Softmax(dim=0))),
        ("prices", "targets without their second axis", with_targets(lambda y: y[:, 0])),
        ("energy", "sigmoid at the output", with_output(nn.Sigmoid())),
        ("roads", "ReLU at the output", with_output(nn.ReLU())),
        ("headlines", "the minus is missing", setting(loss=Written(_no_minus))),
        ("search results", "clamped at the wrong side", setting(loss=Written(_other_side))),
    ],
    "axes": [
        ("characters", "scores reshaped instead of transposed", with_output(Apply(reshape_instead_of_transpose))),
    ],
    "architecture": [
        ("spirals", "activations left out", with_model(lambda: dense(2, 32, 32, 3, act=nn.Identity))),
        ("pictures", "a single number between encoder and decoder", with_model(lambda: Copier(size=1))),
        ("reviews", "the first state is read, not the last", with_model(
            lambda: Recurrent(nn.LSTM, words=60, read=lambda states: states[:, 0])
        )),
    ],
    "exploding gradients": [
        ("machines", "no activation between moments", with_model(lambda: Elman(scale=2.5, act=nn.Identity()))),
        ("letters", "ten layers without normalisation, each with large weights", with_model(_swollen)),
        ("characters", "a recurrent layer of ReLU with weights that grow", with_model(
            lambda: Recurrent(nn.RNN, words=10, size=32, outputs=10, read=lambda s: s, nonlinearity="relu")
        ), with_weights(lambda weight: weight.mul_(4))),
    ],
})  # fmt: skip
