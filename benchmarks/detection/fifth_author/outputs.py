"""Faults in losses, outputs, the build of models, how they begin and how they are trained."""

from __future__ import annotations

import copy

from registry import setting
from torch import nn

from fifth_author.parts import Criterion, Map, stack
from fifth_author.pictures import convolutions
from fifth_author.plan import Change, ending_in, faults, filled, frozen, targets, with_model
from fifth_author.series import Memory
from fifth_author.texts import Mean


def _turned_round(output, y):
    return -nn.functional.mse_loss(output, y)


def _no_logarithm(scores, shares):
    return nn.functional.kl_div(scores.softmax(1), shares, reduction="batchmean")


def _reshaped(scores):
    return scores.transpose(1, 2).reshape(scores.shape)


def _detached(layer: str) -> Change:
    """Detach what a layer gives."""
    return lambda job: job.model.get_submodule(layer).register_forward_hook(lambda *given: given[2].detach())


def _of_a_copy(job) -> None:
    job.trained = lambda model: copy.deepcopy(model).parameters()


def _gate(number: int, size: int, value: float) -> Change:
    """Set the biases of one gate of a recurrent layer."""
    return filled(lambda bias: bias[number * size : (number + 1) * size].fill_(value), "cell.bias_ih")


BY_MOMENTUM = {"optimizer": "momentum"}

faults({
    "loss or output": [
        ("turned", "softmax before cross entropy", ending_in(nn.Softmax(1))),
        ("loans", "sigmoid before a loss that has its own", ending_in(nn.Sigmoid())),
        ("stamps", "sigmoid before a loss that has its own", setting(loss=nn.BCEWithLogitsLoss())),
        ("strokes", "negative log likelihood of plain scores", setting(loss=nn.NLLLoss())),
        ("polls", "divergence of shares whose logarithm was not taken", setting(loss=Criterion(_no_logarithm))),
        ("fabrics", "softmax over the batch", ending_in(nn.Softmax(0))),
        ("doors", "scores reshaped, not transposed", ending_in(Map(_reshaped))),
        ("cars", "targets without second axis", targets(lambda y: y[:, 0])),
        ("power", "sigmoid at the output", ending_in(nn.Sigmoid())),
        ("pendulums", "the sign of the loss is turned round", setting(loss=Criterion(_turned_round))),
    ],
    "architecture": [
        ("galaxies", "no activations", with_model(lambda: stack(4, 32, 32, 3, act=nn.Identity))),
        ("stamps", "one number in the middle", with_model(
            lambda: stack(49, 32, 1, 32, 49, act=nn.ELU, last=[nn.Sigmoid()])
        )),
    ],
    "exploding gradients": [
        ("doors, plain", "recurrent weights too large, ReLU, no clipping", with_model(
            lambda: Memory(nn.RNN, 3, 2, "all", 16, nonlinearity="relu")
        ), filled(lambda weight: weight.mul_(8), "weight_hh"), setting(clip=None)),
        ("galaxies", "twelve layers whose weights are too large", with_model(lambda: stack(4, *[32] * 12, 3)),
         filled(lambda weight: weight.mul_(5))),
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
        ("galaxies", "all parameters 0", filled(nn.init.zeros_, "weight", "bias")),
        ("stamps", "weights twenty times too large", filled(lambda weight: weight.mul_(20))),
        ("pendulums", "all weights the same", filled(lambda weight: weight.fill_(0.3))),
        ("stamps", "weights of 0.00001", filled(lambda weight: weight.normal_(std=1e-5))),
    ],
    "parameters not trained": [
        ("loans", "no step is made", setting(update_every=0)),
        ("turned", "layers frozen though nothing was learned before", frozen("layers", "cut", "place")),
        ("exams", "the common part is detached", _detached("common")),
        ("teacher", "the optimizer has a copy", _of_a_copy),
    ],
    "dead units": [
        ("cars", "biases of -25 in the first layer", filled(lambda bias: bias.fill_(-25), "rest.0.bias")),
        ("doors", "update gates saturated", _gate(1, 12, 15.0)),
        ("strokes", "output gates shut", _gate(3, 20, -12.0)),
    ],
    "wrong mode": [
        ("households", "judged with dropout", with_model(lambda: stack(24, 48, 24, 1, drop=0.6)),
         setting(eval_mode=False)),
        ("figures", "judged with dropout", with_model(lambda: convolutions(4, 1, 8, 12, drop=0.6)),
         setting(eval_mode=False)),
        ("subjects", "judged with dropout", with_model(lambda: Mean(drop=0.6)), setting(eval_mode=False)),
        ("concrete", "trained in evaluation mode", setting(train_mode=lambda _: False)),
    ],
    "regularisation": [
        ("households", "dropout of 95 %", with_model(lambda: stack(24, 48, 24, 1, drop=0.95))),
        ("cars", "weight decay of 3", setting(weight_decay=3.0)),
        ("strokes", "labels smoothed by 0.95", setting(loss=nn.CrossEntropyLoss(label_smoothing=0.95))),
        ("turned", "weight decay of 100, apart from gradients", setting(weight_decay=100.0)),
    ],
})  # fmt: skip
