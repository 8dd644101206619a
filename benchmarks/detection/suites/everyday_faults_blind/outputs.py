"""Faults in losses, outputs, architecture, initialisation and training."""

from __future__ import annotations

from torch import nn

from harness.parts import (
    Apply,
    dense,
    optimize_a_copy,
    reshape_instead_of_transpose,
    setting,
    with_detached,
    with_frozen,
    with_gate,
    with_model,
    with_output,
    with_targets,
    with_weights,
)
from suites.everyday_faults_blind.parts import Criterion
from suites.everyday_faults_blind.pictures import convolutions
from suites.everyday_faults_blind.plan import faults
from suites.everyday_faults_blind.series import Memory
from suites.everyday_faults_blind.texts import Mean


def _turned_round(output, y):
    return -nn.functional.mse_loss(output, y)


def _no_logarithm(scores, shares):
    return nn.functional.kl_div(scores.softmax(1), shares, reduction="batchmean")


BY_MOMENTUM = {"optimizer": "momentum"}

faults({
    "loss or output": [
        ("turned", "softmax before cross entropy", with_output(nn.Softmax(1))),
        ("loans", "sigmoid before a loss that has its own", with_output(nn.Sigmoid())),
        ("stamps", "sigmoid before a loss that has its own", setting(loss=nn.BCEWithLogitsLoss())),
        ("strokes", "negative log likelihood of plain scores", setting(loss=nn.NLLLoss())),
        ("polls", "divergence of shares whose logarithm was not taken", setting(loss=Criterion(_no_logarithm))),
        ("fabrics", "softmax over the batch", with_output(nn.Softmax(0))),
        ("cars", "targets without second axis", with_targets(lambda y: y[:, 0])),
        ("power", "sigmoid at the output", with_output(nn.Sigmoid())),
        ("pendulums", "the sign of the loss is turned round", setting(loss=Criterion(_turned_round))),
    ],
    "axes": [
        ("doors", "scores reshaped, not transposed", with_output(Apply(reshape_instead_of_transpose))),
    ],
    "architecture": [
        ("galaxies", "no activations", with_model(lambda: dense(4, 32, 32, 3, act=nn.Identity))),
        ("stamps", "one number in the middle", with_model(
            lambda: dense(49, 32, 1, 32, 49, act=nn.ELU, last=[nn.Sigmoid()])
        )),
    ],
    "exploding gradients": [
        ("doors, plain", "recurrent weights too large, ReLU, no clipping", with_model(
            lambda: Memory(nn.RNN, 3, 2, "all", 16, nonlinearity="relu")
        ), with_weights(lambda weight: weight.mul_(8), "weight_hh"), setting(clip=None)),
        ("galaxies", "twelve layers whose weights are too large", with_model(lambda: dense(4, *[32] * 12, 3)),
         with_weights(lambda weight: weight.mul_(5))),
    ],
    "gradients not reset": [
        ("cars", "zero_grad is missing, momentum", setting(zero_every=0, lr=0.02, **BY_MOMENTUM)),
        ("sentences", "zero_grad is missing, Adam", setting(zero_every=0)),
        ("noisy", "reset once an epoch", setting(zero_every=26, lr=0.05, **BY_MOMENTUM)),
    ],
    "learning rate too high": [
        ("crops", "momentum at 10", setting(lr=10.0)),
        ("turned", "AdamW at 0.3", setting(lr=0.3)),
        ("cars", "gradient descent at 2", setting(optimizer="sgd", lr=2.0)),
        ("plants", "momentum of 0.999", setting(optimizer="almost all momentum", lr=3e-3)),
    ],
    "learning rate too low": [
        ("figures", "Adam at 1e-6", setting(lr=1e-6)),
        ("doors", "Adam whose epsilon is 100", setting(optimizer="adam with epsilon 100")),
        ("galaxies", "a fifth less at each batch", setting(rate=lambda n: 0.8**n)),
        ("households", "warmed up over 100,000 batches", setting(rate=lambda n: (n + 1) / 100_000)),
    ],
    "initialisation": [
        ("galaxies", "all parameters 0", with_weights(nn.init.zeros_, "weight", "bias")),
        ("stamps", "weights twenty times too large", with_weights(lambda weight: weight.mul_(20))),
        ("pendulums", "all weights the same", with_weights(lambda weight: weight.fill_(0.3))),
        ("stamps", "weights of 0.00001", with_weights(lambda weight: weight.normal_(std=1e-5))),
    ],
    "parameters not trained": [
        ("loans", "no step is made", setting(update_every=0)),
        ("turned", "layers frozen though nothing was learned before", with_frozen("layers", "cut", "place")),
        ("exams", "the common part is detached", with_detached("common")),
        ("teacher", "the optimizer has a copy", optimize_a_copy),
    ],
    "dead units": [
        ("cars", "biases of -25 in the first layer", with_weights(lambda bias: bias.fill_(-25), "rest.0.bias")),
        ("doors", "update gates saturated", with_gate(1, 12, 15.0)),
        ("strokes", "output gates shut", with_gate(3, 20, -12.0)),
    ],
    "wrong mode": [
        ("households", "evaluated with dropout", with_model(lambda: dense(24, 48, 24, 1, drop=0.6)),
         setting(eval_mode=False)),
        ("figures", "evaluated with dropout", with_model(lambda: convolutions(4, 1, 8, 12, drop=0.6)),
         setting(eval_mode=False)),
        ("subjects", "evaluated with dropout", with_model(lambda: Mean(drop=0.6)), setting(eval_mode=False)),
        ("concrete", "trained in evaluation mode", setting(train_mode=lambda _: False)),
    ],
    "regularisation": [
        ("households", "dropout of 95 %", with_model(lambda: dense(24, 48, 24, 1, drop=0.95))),
        ("cars", "weight decay of 3", setting(weight_decay=3.0)),
        ("strokes", "labels smoothed by 0.95", setting(loss=nn.CrossEntropyLoss(label_smoothing=0.95))),
        ("turned", "weight decay of 100, apart from gradients", setting(weight_decay=100.0)),
    ],
})  # fmt: skip
