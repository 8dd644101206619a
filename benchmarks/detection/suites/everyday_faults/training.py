"""Faults in initialisation and training."""

from __future__ import annotations

from torch import nn

from harness.parts import (
    dense,
    optimize_a_copy,
    setting,
    with_detached,
    with_gate,
    with_model,
    with_optimized,
    with_weights,
)
from suites.everyday_faults.models import Asked, ImageNet, Listed, ResNet, TextCnn
from suites.everyday_faults.plan import faults

FOUR_BLOCKS, BY_MOMENTUM = with_model(lambda: ResNet(blocks=4)), setting(optimizer="momentum", lr=0.05)


faults({
    "gradients not reset": [
        ("prices", "zero_grad is missing", setting(zero_every=0, optimizer="momentum", lr=0.02)),
        ("activity", "zero_grad is missing", setting(zero_every=0, optimizer="momentum", lr=0.02)),
        ("characters", "zero_grad is missing, with Adam", setting(zero_every=0)),
        ("digits, plain", "reset once an epoch", setting(zero_every=27)),
    ],
    "learning rate too high": [
        ("digits", "Adam at 1.0", setting(lr=1.0)),
        ("questions", "Adam at 0.3", setting(lr=0.3)),
        ("prices", "gradient descent at 1.0", setting(optimizer="sgd", lr=1.0)),
        ("digits, plain", "warmed up to 3.0", setting(rate=lambda n: min(1, (n + 1) / 20) * 60)),
        ("spirals", "multiplied by 1.1 at each batch", setting(rate=lambda n: 1.1**n)),
    ],
    "learning rate too low": [
        ("digits", "Adam at 1e-7", setting(lr=1e-7)),
        ("activity", "gradient descent at 1e-4", setting(optimizer="sgd", lr=1e-4)),
        ("letters", "the schedule of epochs goes on at each batch", setting(rate=lambda n: 0.5**n)),
        ("reviews", "warmed up over 50,000 batches", setting(rate=lambda n: (n + 1) / 50_000)),
        ("headlines", "Adadelta at 1e-3", setting(optimizer="adadelta", lr=1e-3)),
    ],
    "initialisation": [
        ("digits", "standard normal weights", with_weights(nn.init.normal_)),
        ("letters, deep", "all parameters 0", with_weights(nn.init.zeros_, "weight", "bias")),
        ("prices", "all weights 0.5", with_weights(lambda weight: weight.fill_(0.5))),
        ("spirals", "weights 50 times too large", with_weights(lambda weight: weight.mul_(50))),
        ("digits, plain", "normal weights with a spread of 0.0001",
         with_weights(lambda weight: weight.normal_(std=1e-4))),
    ],
    "parameters not trained": [
        ("prices", "no step is ever made", setting(update_every=0)),
        ("questions", "the optimizer has only the last layer", with_optimized("out")),
        ("textures", "the optimizer has a copy of the model", optimize_a_copy),
        ("activity", "detached before the last layer", with_detached("pool")),
        ("spirals", "layers in a plain list", with_model(lambda: Listed(2, 3))),
    ],
    "dead units": [
        ("prices", "biases of -20 in the first layer", with_weights(lambda bias: bias.fill_(-20), "0.bias")),
        ("digits, plain", "biases of -10 in the second convolution", with_weights(
            lambda bias: bias.fill_(-10), "features.4.bias"
        )),
        ("reviews", "output gates shut", with_gate(3, 20, -15.0)),
        ("totals", "update gates saturated", with_gate(1, 20, 15.0)),
    ],
    "wrong mode": [
        ("headlines", "evaluated with dropout", with_model(lambda: TextCnn(drop=0.6)), setting(eval_mode=False)),
        ("digits", "evaluated with dropout", with_model(lambda: ImageNet(drop=0.6)), setting(eval_mode=False)),
        ("questions", "evaluated with dropout", with_model(lambda: Asked(drop=0.5)), setting(eval_mode=False, lr=3e-3)),
        ("textures", "four blocks by momentum, trained in evaluation mode", FOUR_BLOCKS, BY_MOMENTUM,
         setting(train_mode=lambda _: False)),
        ("textures", "four blocks by momentum, evaluation mode is never left", FOUR_BLOCKS, BY_MOMENTUM,
         setting(train_mode=lambda n: n < 14)),
    ],
    "regularisation": [
        ("churn", "dropout of 95 %", with_model(lambda: dense(12, 32, 16, 1, drop=0.95))),
        ("questions", "dropout of 90 %", with_model(lambda: Asked(drop=0.9))),
        ("activity", "labels smoothed by 0.95", setting(loss=nn.CrossEntropyLoss(label_smoothing=0.95))),
        ("letters", "weight decay of 30, apart from gradients", setting(optimizer="adamw", weight_decay=30.0)),
        ("digits, plain", "weight decay of 2", setting(weight_decay=2.0)),
    ],
})  # fmt: skip
