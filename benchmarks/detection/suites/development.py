"""The runs that the rules and their parameters were developed on: sound jobs, and jobs with one fault each."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn

from harness.boosting import BoostingJob, boosting
from harness.jobs import TASKS, Cnn, Linear1, Mlp, Rnn, Transformer, blobs, curve, sequences
from harness.parts import setting
from harness.registry import Registry
from harness.replicas import replicas

DEVELOPMENT = Registry("development", 100)
fault, sound, boosted, other = DEVELOPMENT.fault, DEVELOPMENT.sound, DEVELOPMENT.boosted, DEVELOPMENT.other


class Maximised(nn.CrossEntropyLoss):
    """A cross entropy with the wrong sign."""

    def forward(self, scores, targets):
        return -super().forward(scores, targets)


# --- sound runs ------------------------------------------------------------------------------------------------------

ALL_TASKS = ("mlp", "mlp_tanh", "mlp_norm", "mlp_deep", "cnn", "cnn_plain", "rnn", "gru", "lstm", "transformer",
             "transformer_drop", "regression")  # fmt: skip
for task in ALL_TASKS:
    sound(task)
    sound(task, "with another seed")
for task in ("mlp", "cnn", "regression"):
    sound(task, "with momentum", setting(optimizer="momentum", lr=0.02))
for task in ("mlp_tanh", "gru"):
    sound(task, "with weight decay and clipping", setting(weight_decay=1e-3, clip=1.0))
sound("mlp", "with plain gradient descent", setting(optimizer="sgd", lr=0.1))
sound("transformer", "with a cautious learning rate", setting(lr=1e-3))
for kind in ("binary", "classes", "regression"):
    boosted("", f"boosting: {kind}", kind)
other("", "boosting: binary, of depth 2", boosting("binary", 3, lambda job: job.parameters.update(max_depth=2)))
other("", "boosting: classes, with more data", boosting("classes", 4, rows=800))
other("", "two replicas", replicas(seed=5))
other("", "two replicas that average by hand", replicas(seed=6, sync="by hand"))

# --- faults ----------------------------------------------------------------------------------------------------------

fault("learning rate too high", "Adam at 1.0", "mlp", "cnn", "gru", "transformer", "regression")(setting(lr=1.0))
fault("learning rate too high", "gradient descent at 20", "mlp", "cnn_plain", "regression")(
    setting(lr=20.0, optimizer="sgd")
)
fault("learning rate too low", "Adam at 1e-7", "mlp", "cnn", "lstm", "transformer", "regression")(setting(lr=1e-7))
fault("learning rate too low", "gradient descent at 1e-6", "mlp_tanh", "cnn_plain")(setting(lr=1e-6, optimizer="sgd"))
fault("gradients not reset", "zero_grad is missing", "mlp", "cnn", "gru", "regression", "transformer")(
    setting(zero_every=0, optimizer="sgd", lr=0.01)
)
fault("gradients not reset", "zero_grad is missing, with Adam", "mlp_tanh", "lstm")(setting(zero_every=0))
fault("sampling", "one batch for ever", "mlp", "cnn", "transformer")(setting(same_batch=1))
fault("sampling", "three batches for ever", "gru", "regression")(setting(same_batch=3))
fault("wrong mode", "evaluated in training mode", "mlp_norm", "cnn")(setting(eval_mode=False))
fault("wrong mode", "trained in evaluation mode", "mlp_norm", "cnn")(setting(train_mode=lambda _: False))
fault("wrong mode", "evaluated in training mode", "transformer_drop")(setting(eval_mode=False))


@fault("initialisation", "all weights 0", "mlp", "cnn", "mlp_tanh")
def _(job):
    for parameter in job.model.parameters():
        nn.init.zeros_(parameter)


@fault("initialisation", "weights 40 times too large", "mlp_tanh", "mlp")
def _(job):
    with torch.no_grad():
        for parameter in job.model.parameters():
            parameter.mul_(40)


@fault("initialisation", "weights 1000 times too small", "mlp_deep", "cnn_plain")
def _(job):
    with torch.no_grad():
        for parameter in job.model.parameters():
            parameter.mul_(1e-3)


@fault("initialisation", "deep and of sigmoids", "mlp")
def _(job):
    job.model = Mlp(depth=8, act="sigmoid")


@fault("loss or output", "softmax before cross entropy", "mlp")
def _(job):
    job.model = Mlp(final=nn.Softmax(dim=1))


@fault("loss or output", "softmax before cross entropy", "cnn")
def _(job):
    job.model = Cnn(final=nn.Softmax(dim=1))


@fault("loss or output", "sigmoid before cross entropy", "gru")
def _(job):
    job.model = Rnn(final=nn.Sigmoid())


@fault("loss or output", "ReLU before cross entropy", "transformer", "transformer_drop")
def _(job):
    job.model = Transformer(final=nn.ReLU())


@fault("loss or output", "negative log likelihood of plain scores", "mlp", "cnn")
def _(job):
    job.loss = nn.NLLLoss()


@fault("loss or output", "sigmoid at the output of a regression", "regression")
def _(job):
    job.model = Mlp(6, outputs=1, final=nn.Sigmoid())


@fault("loss or output", "ReLU at the output of a regression", "regression")
def _(job):
    job.model = Mlp(6, outputs=1, final=nn.ReLU())


@fault("loss or output", "targets of another shape", "regression")
def _(job):
    job.y, job.y_eval = job.y[:, 0], job.y_eval[:, 0]


@fault("inputs", "inputs 200 times too large", "mlp", "cnn", "gru")
def _(job):
    job.x, job.x_eval = job.x * 200, job.x_eval * 200


@fault("inputs", "inputs 100,000 times too small", "mlp_tanh", "regression")
def _(job):
    job.x, job.x_eval = job.x * 1e-5, job.x_eval * 1e-5


@fault("labels", "labels in another order than inputs", "mlp", "cnn", "gru", "transformer")
def _(job):
    job.y = job.y[torch.randperm(len(job.y))]


@fault("labels", "all labels the same", "cnn", "mlp_norm")
def _(job):
    job.y = torch.zeros_like(job.y)


@fault("labels", "targets in another order than inputs", "regression")
def _(job):
    job.y = job.y[torch.randperm(len(job.y))]


@fault("parameters not trained", "only the head is trained", "mlp", "cnn", "transformer")
def _(job):
    job.trained = lambda model: model.head.parameters()


@fault("parameters not trained", "a layer without gradients", "gru", "mlp_deep")
def _(job):
    (next(iter(job.model.children())).requires_grad_)(False)


@fault("parameters not trained", "features detached", "cnn_plain")
def _(job):
    job.model.pool.register_forward_hook(lambda _, __, output: output.detach())


@fault("dead units", "biases far below zero", "mlp")
def _(job):
    with torch.no_grad():
        job.model.fc0.bias.fill_(-30)


@fault("dead units", "biases far below zero", "cnn_plain")
def _(job):
    with torch.no_grad():
        job.model.conv2.bias.fill_(-30)


@fault("exploding gradients", "a recurrent layer that grows", "rnn", "lstm")
def _(job):
    job.model = Linear1(scale=3.0)
    job.lr = 1e-3


@fault("overfitting", "few data and a large model", "mlp", "cnn", "transformer", "regression")
def _(job):
    job.x, job.y = job.x[:32], job.y[:32] if job.task == "regression" else job.y[:32].roll(5)
    if job.task in ("mlp", "regression"):
        job.model = Mlp(job.x.shape[1], hidden=128, outputs=4 if job.task == "mlp" else 1)
    job.lr = 1e-2


@fault("class imbalance", "one class in 30", "mlp", "gru")
def _(job):
    keep = (job.y == 0) | (torch.rand(len(job.y)) < 0.03)
    job.x, job.y = job.x[keep], job.y[keep]
    times = -(-200 // len(job.x))
    job.x, job.y = job.x.repeat(times, *[1] * (job.x.ndim - 1)), job.y.repeat(times)


@fault("not finite", "NaN among the inputs", "mlp", "cnn")
def _(job):
    job.x = job.x.clone()
    job.x[17] = float("nan")


@fault("not finite", "logarithm of zero in the middle", "regression")
def _(job):
    job.model.relu0.register_forward_hook(lambda _, __, output: torch.log(output))


def _noise(job: BoostingJob) -> None:
    job.y = np.random.default_rng(0).integers(0, 2, len(job.y))
    job.parameters |= {"max_depth": 7, "eta": 0.4}


def _leak(job: BoostingJob) -> None:
    job.x[:, 5], job.x_valid[:, 5] = job.y, job.y_valid


def _too_deep(job: BoostingJob) -> None:
    flipped = np.random.default_rng(1).random(len(job.y)) < 0.15
    job.y = np.where(flipped, 1 - job.y, job.y)
    job.parameters |= {"max_depth": 9, "eta": 0.5, "min_child_weight": 0.1}


def _one_in_twenty(job: BoostingJob) -> None:
    keep = (job.y == 0) | (np.random.default_rng(2).random(len(job.y)) < 0.04)
    job.x, job.y = job.x[keep], job.y[keep]
    keep = (job.y_valid == 0) | (np.random.default_rng(3).random(len(job.y_valid)) < 0.04)
    job.x_valid, job.y_valid = job.x_valid[keep], job.y_valid[keep]


def _shifted(job: BoostingJob) -> None:
    job.x_valid = job.x_valid + 2


other("replicas", "replicas that never average", replicas(seed=7, sync="none"))
other("replicas", "replicas that start apart", replicas(seed=8, sync="by hand", same_start=False))
other("replicas", "replicas that miss one average", replicas(seed=9, sync="by hand", skip=20))
other("labels", "boosting: learns noise", boosting("binary", 10, _noise))
other("leaking feature", "boosting: a feature is the label", boosting("binary", 11, _leak))
other("overfitting", "boosting: far too deep", boosting("binary", 12, _too_deep))
other("class imbalance", "boosting: one class in 20", boosting("binary", 13, _one_in_twenty))
other("evaluation data", "boosting: validation data shifted", boosting("binary", 14, _shifted))

for number in ("third", "fourth", "fifth"):
    for task in ALL_TASKS:
        sound(task, f"with a {number} seed")

# --- kinds that were unseen at first; the rules were changed after their evaluation ----------------------------------


@fault("labels", "a third of the labels at random", "mlp", "cnn")
def _(job):
    noisy = torch.rand(len(job.y)) < 0.33
    job.y = torch.where(noisy, torch.randint_like(job.y, 0, 3), job.y)


@fault("evaluation data", "labels of training one too high", "gru")
def _(job):
    job.y = (job.y + 1) % 2


@fault("sampling", "data sorted by label, three batches of each", "mlp")
def _(job):
    order = torch.argsort(job.y)
    job.x, job.y, job.same_batch = job.x[order], job.y[order], 16


@fault("loss or output", "softmax over the wrong axis", "mlp")
def _(job):
    job.model = Mlp(final=nn.Softmax(dim=0))


@fault("loss or output", "the loss is maximised", "cnn_plain")
def _(job):
    job.loss = Maximised()


@fault("architecture", "no activations at all", "mlp_deep")
def _(job):
    for name in list(job.model.order):
        if name.startswith("gelu"):
            setattr(job.model, name, nn.Identity())


@fault("regularisation", "dropout of 95 %", "mlp_norm")
def _(job):
    job.model = Mlp(norm=True, drop=0.95)


fault("learning rate too low", "gradients clipped to almost nothing", "mlp", "transformer")(
    setting(clip=1e-4, optimizer="sgd", lr=0.01)
)
fault("regularisation", "weight decay of 10", "regression")(setting(weight_decay=10.0, optimizer="sgd", lr=0.02))
fault("learning rate too high", "Adam at 0.1", "mlp", "transformer", "lstm")(setting(lr=0.1))
fault("learning rate too high", "Adam at 0.03", "gru")(setting(lr=0.03))


@fault("inputs", "one feature 1,000 times the others", "mlp", "regression")
def _(job):
    job.x, job.x_eval = job.x.clone(), job.x_eval.clone()
    job.x[:, 0] *= 1000
    job.x_eval[:, 0] *= 1000


@fault("evaluation data", "evaluation data scaled otherwise", "cnn")
def _(job):
    job.x_eval = job.x_eval * 255


@fault("class imbalance", "one class in 12", "gru")
def _(job):
    keep = (job.y == 0) | (torch.rand(len(job.y)) < 0.08)
    job.x, job.y = job.x[keep], job.y[keep]


# --- further kinds and further sound jobs -----------------------------------------------------------------------------


class Residual(nn.Module):
    """Fully connected layers with skip connections and layer normalisation."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(8, 24)
        self.norm1, self.norm2 = nn.LayerNorm(24), nn.LayerNorm(24)
        self.fc1, self.fc2 = nn.Linear(24, 24), nn.Linear(24, 24)
        self.gelu = nn.GELU()
        self.head = nn.Linear(24, 4)

    def forward(self, x):
        x = self.stem(x)
        x = x + self.fc1(self.gelu(self.norm1(x)))
        return self.head(x + self.fc2(self.gelu(self.norm2(x))))


def yes_or_no(rng):
    x, y = sequences(rng, length=6)
    return x.reshape(len(x), -1), y.astype(np.float32)[:, None]


TASKS |= {
    "residual": (blobs, Residual, nn.CrossEntropyLoss),
    "yes or no": (yes_or_no, lambda: Mlp(24, outputs=1), nn.BCEWithLogitsLoss),
    "huber": (curve, lambda: Mlp(6, outputs=1, act="leaky", norm=True), nn.HuberLoss),
    "hard": (lambda rng: blobs(rng, noise=3.0), lambda: Mlp(drop=0.3), nn.CrossEntropyLoss),
}
for task in ("residual", "yes or no", "huber", "hard"):
    sound(task)
    sound(task, "with another seed")
sound("residual", "with a schedule", setting(optimizer="adamw", rate=lambda step: math.cos(step / 46)))
sound("cnn", "gradients gathered over four batches", setting(zero_every=4, update_every=4, lr=1e-2))
sound("gru", "in batches of 12", setting(batch=12))
sound("regression", "with noise added", setting(prepare=lambda x, y: (x + 0.1 * torch.randn_like(x), y)))


@fault("labels", "half of the labels at random", "yes or no", "residual")
def _(job):
    noisy = torch.rand(len(job.y)) < 0.5
    job.y = job.y.clone()
    job.y[noisy] = job.y[noisy][torch.randperm(int(noisy.sum()))]


fault("learning rate too high", "Adam at 0.5", "residual", "huber", "yes or no")(setting(lr=0.5))
fault("learning rate too low", "Adam at 1e-6, slowing down", "residual", "huber")(
    setting(lr=1e-6, rate=lambda step: 0.98**step)
)


@fault("evaluation data", "features of evaluation in another order", "residual", "huber")
def _(job):
    job.x_eval = job.x_eval.flip(1)


@fault("regularisation", "weight decay of 3", "residual")
def _(job):
    job.optimizer, job.lr, job.weight_decay = "sgd", 0.05, 3.0


@fault("loss or output", "sigmoid before a loss that applies it", "yes or no")
def _(job):
    job.model = Mlp(24, outputs=1, final=nn.Sigmoid())


@fault("initialisation", "weights of a uniform distribution from 0 to 1", "residual", "cnn_plain")
def _(job):
    for parameter in job.model.parameters():
        nn.init.uniform_(parameter)


@fault("inputs", "a feature in millions", "huber")
def _(job):
    job.x, job.x_eval = job.x.clone(), job.x_eval.clone()
    job.x[:, 2] = job.x[:, 2] * 1e6 + 5e6
    job.x_eval[:, 2] = job.x_eval[:, 2] * 1e6 + 5e6
