"""Faults from published collections that `development` does not have, and sound jobs of further kinds.

The runs were written before the last change of the rules and their parameters, and evaluated once after it. The faults
follow the operators of DeepCrime (Humbatova, Jahangirova and Tonella, ISSTA 2021), the taxonomy of Humbatova and others
(ICSE 2020) and the checks of TheDeepChecker (Ben Braiek and Khomh, 2022), as far as a small job can show them.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn

from harness.jobs import TASKS, Mlp, Rnn, Transformer, blobs, curve, images, sequences, tokens
from harness.parts import setting
from harness.registry import Registry

PUBLISHED_FAULT_OPERATORS = Registry("published_fault_operators", 9000)
SUITE = PUBLISHED_FAULT_OPERATORS
fault, sound, boosted, replicas = SUITE.fault, SUITE.sound, SUITE.boosted, SUITE.replicas


class ResidualCnn(nn.Module):
    """Convolutions with skip connections and group normalisation."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 8, 3, padding=1)
        self.norm1, self.norm2 = nn.GroupNorm(2, 8), nn.GroupNorm(2, 8)
        self.conv1, self.conv2 = nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.silu = nn.SiLU()
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        x = self.stem(x)
        x = x + self.conv2(self.silu(self.norm2(self.conv1(self.silu(self.norm1(x))))))
        return self.head(x.amax((2, 3)))


class TwoLayerGru(nn.Module):
    """Stacked recurrent layers with dropout between them."""

    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(4, 12, num_layers=2, dropout=0.1, batch_first=True)
        self.head = nn.Linear(12, 2)

    def forward(self, x):
        return self.head(self.rnn(x)[0].mean(1))


class BothWays(nn.Module):
    """A bidirectional LSTM that labels each element of a sequence."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 12, bidirectional=True, batch_first=True)
        self.head = nn.Linear(24, 2)

    def forward(self, x):
        return self.head(self.lstm(x)[0]).transpose(1, 2)


class Autoencoder(nn.Module):
    """Compresses images, and reconstructs them as numbers from 0 to 1."""

    def __init__(self):
        super().__init__()
        self.encode, self.decode = nn.Linear(64, 16), nn.Linear(16, 64)
        self.tanh, self.sigmoid = nn.Tanh(), nn.Sigmoid()

    def forward(self, x):
        return self.sigmoid(self.decode(self.tanh(self.encode(x.flatten(1))))).view(x.shape)


class TwoBlocks(nn.Module):
    """Two transformer blocks with normalisation first."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 16)
        block = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.05, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(block, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, 3)

    def forward(self, x):
        return self.head(self.blocks(self.embedding(x)).mean(1))


def brightness(rng):
    x, _ = images(rng)
    x = (x - x.min()) / (x.max() - x.min())
    return x, x


def tags(rng):
    x = rng.normal(size=(700, 10, 4)).astype(np.float32)
    before = np.concatenate([np.zeros((700, 1)), x[:, :-1, 1]], axis=1)
    return x, (x[:, :, 0] + before > 0).astype(np.int64)


def several_labels(rng):
    x = rng.normal(size=(700, 8)).astype(np.float32)
    return x, (x @ rng.normal(size=(8, 3)) + 0.5 > 0).astype(np.float32)


def two_classes(rng):
    x, y = sequences(rng)
    return x, y.astype(np.float32)[:, None]


def one_score(final=None):
    model = Rnn("gru", final=final)
    model.head = nn.Linear(16, 1)
    return model


TASKS |= {
    "residual cnn": (images, ResidualCnn, nn.CrossEntropyLoss),
    "two-layer gru": (sequences, TwoLayerGru, nn.CrossEntropyLoss),
    "tagger": (tags, BothWays, nn.CrossEntropyLoss),
    "autoencoder": (brightness, Autoencoder, nn.MSELoss),
    "two blocks": (tokens, TwoBlocks, nn.CrossEntropyLoss),
    "several labels": (several_labels, lambda: Mlp(outputs=3, act="leaky"), nn.BCEWithLogitsLoss),
    "two classes": (two_classes, one_score, nn.BCEWithLogitsLoss),
    "absolute error": (curve, lambda: Mlp(6, outputs=1, act="elu"), nn.L1Loss),
    "smoothed labels": (blobs, lambda: Mlp(act="gelu", drop=0.1), lambda: nn.CrossEntropyLoss(label_smoothing=0.1)),
}

# --- sound runs ------------------------------------------------------------------------------------------------------

for task in ("mlp", "mlp_tanh", "mlp_norm", "mlp_deep", "cnn", "cnn_plain", "rnn", "gru", "lstm", "transformer",
             "transformer_drop", "regression"):  # fmt: skip
    sound(task)
for task in ("residual cnn", "two-layer gru", "tagger", "autoencoder", "several labels", "two classes",
             "absolute error", "smoothed labels"):  # fmt: skip
    sound(task)
warmup = setting(optimizer="adamw", weight_decay=0.01, rate=lambda step: min(1, (step + 1) / 10) * math.cos(step / 50))
sound("two blocks", "warmed up and slowed down", warmup)
sound("transformer", "warmed up and slowed down", warmup)
sound("mlp", "gradients gathered over two batches", setting(zero_every=2, update_every=2))
sound("cnn", "by RMSprop", setting(optimizer="rmsprop", lr=2e-3))
sound("mlp_tanh", "by Adagrad", setting(optimizer="adagrad", lr=0.05))
sound("regression", "in batches of 8", setting(batch=8))
sound("lstm", "in batches of 96", setting(batch=96))
sound("cnn_plain", "with noise added", setting(prepare=lambda x, y: (x + 0.1 * torch.randn_like(x), y)))


def _one_in_ten(job):
    wrong = torch.rand(len(job.y)) < 0.1
    job.y = torch.where(wrong, torch.randint_like(job.y, 0, 4), job.y)


def _one_class_in_five(job):
    keep = (job.y == 0) | (torch.rand(len(job.y)) < 0.35)
    job.x, job.y = job.x[keep], job.y[keep]


sound("mlp", "with a tenth of the labels at random", _one_in_ten)
sound("gru", "with one class in four", _one_class_in_five)
for kind in ("binary", "classes", "regression"):
    boosted("", f"boosting: {kind}", kind)
boosted("", "boosting: binary, slowly", "binary", lambda job: job.parameters.update(eta=0.05))
boosted("", "boosting: classes, sampled", "classes", lambda job: job.parameters.update(
    subsample=0.7, colsample_bytree=0.8
))  # fmt: skip
replicas("", "two replicas")
replicas("", "two replicas of a CNN", task="cnn_plain")

# --- faults ----------------------------------------------------------------------------------------------------------


@fault("labels", "labels one row behind their inputs", "mlp", "two-layer gru", "cnn")
def _(job):
    job.y, job.y_eval = job.y.roll(1, 0), job.y_eval.roll(1, 0)


@fault("labels", "two thirds of a class called the next one", "mlp")
def _(job):
    wrong = (job.y == 1) & (torch.rand(len(job.y)) < 0.67)
    job.y = torch.where(wrong, 2, job.y)


@fault("initialisation", "all weights the same", "mlp", "cnn_plain", "two-layer gru")
def _(job):
    for parameter in job.model.parameters():
        nn.init.constant_(parameter, 0.1)


@fault("initialisation", "standard normal weights", "mlp_deep", "transformer")
def _(job):
    for parameter in job.model.parameters():
        nn.init.normal_(parameter)


@fault("initialisation", "a bias of 50 at the output", "mlp", "gru")
def _(job):
    with torch.no_grad():
        job.model.head.bias[0] = 50


fault("learning rate too high", "momentum of 0.99 at 0.5", "mlp", "cnn_plain", "absolute error")(
    setting(optimizer="heavy", lr=0.5)
)
fault("learning rate too high", "grows by 15 % a step", "mlp_tanh", "transformer")(setting(rate=lambda n: 1.15**n))
fault("learning rate too high", "Adam at 0.3", "mlp_norm", "rnn", "residual cnn")(setting(lr=0.3))
fault("learning rate too low", "halved at each step", "mlp", "cnn", "lstm", "tagger")(setting(rate=lambda n: 0.5**n))
fault("learning rate too low", "the loss divided by a million", "regression", "cnn_plain")(
    setting(optimizer="sgd", lr=0.05, loss_factor=1e-6)
)


@fault("loss or output", "tanh before cross entropy", "mlp", "gru")
def _(job):
    job.model = Mlp(final=nn.Tanh()) if job.task == "mlp" else Rnn("gru", final=nn.Tanh())


@fault("loss or output", "sigmoid before a loss that applies it", "two classes")
def _(job):
    job.model = one_score(nn.Sigmoid())


@fault("loss or output", "tanh at the output of a regression", "regression")
def _(job):
    job.model = Mlp(6, outputs=1, final=nn.Tanh())


@fault("loss or output", "the loss summed over the batch", "mlp")
def _(job):
    job.loss, job.optimizer, job.lr = nn.CrossEntropyLoss(reduction="sum"), "sgd", 0.1


@fault("inputs", "100 added to all inputs", "mlp", "residual cnn")
def _(job):
    job.x, job.x_eval = job.x + 100, job.x_eval + 100


@fault("inputs", "brightness from 0 to 255", "cnn_plain")
def _(job):
    job.x, job.x_eval = (job.x * 40 + 100).clamp(0, 255), (job.x_eval * 40 + 100).clamp(0, 255)


@fault("inputs", "all inputs 0", "mlp", "rnn")
def _(job):
    job.x, job.x_eval = torch.zeros_like(job.x), torch.zeros_like(job.x_eval)


@fault("inputs", "targets in thousands", "regression")
def _(job):
    job.y, job.y_eval = job.y * 1000 + 5000, job.y_eval * 1000 + 5000


@fault("parameters not trained", "the optimizer has not got the head", "mlp", "two blocks")
def _(job):
    job.trained = lambda model: (p for name, p in model.named_parameters() if "head" not in name)


@fault("parameters not trained", "the optimizer has only biases", "cnn")
def _(job):
    job.trained = lambda model: (p for name, p in model.named_parameters() if name.endswith("bias"))


fault("parameters not trained", "the optimizer never steps", "mlp_norm", "lstm")(setting(update_every=0))


@fault("dead units", "inputs positive and first weights negative", "mlp", "cnn_plain")
def _(job):
    job.x, job.x_eval = job.x.abs(), job.x_eval.abs()
    first = next(iter(job.model.parameters()))
    with torch.no_grad():
        first.copy_(-first.abs() - 0.3)


@fault("exploding gradients", "twelve layers, each doubling", "mlp")
def _(job):
    job.model = Mlp(depth=12)
    with torch.no_grad():
        for parameter in job.model.parameters():
            parameter.mul_(6 if parameter.ndim > 1 else 1)


@fault("overfitting", "24 samples of pure noise", "mlp", "two-layer gru")
def _(job):
    job.x, job.y = torch.randn_like(job.x[:32]), job.y[:32]
    job.lr = 1e-2


fault("wrong mode", "evaluation mode is never left", "mlp_norm", "cnn")(setting(train_mode=lambda step: step < 14))


@fault("sampling", "one sample all over each batch", "mlp", "gru")
def _(job):
    job.prepare = lambda x, y: (x[:1].expand_as(x).clone(), y[:1].expand_as(y).clone())


@fault("sampling", "evaluated on training data", "cnn_plain", "mlp_tanh")
def _(job):
    job.x_eval, job.y_eval = job.x[:128], job.y[:128]


@fault("class imbalance", "one class missing", "mlp")
def _(job):
    keep = job.y != 2
    job.x, job.y = job.x[keep], job.y[keep]


@fault("class imbalance", "one class in 25", "transformer", "cnn")
def _(job):
    keep = (job.y != 1) | (torch.rand(len(job.y)) < 0.08)
    job.x, job.y = job.x[keep], job.y[keep]


@fault("not finite", "a constant feature divided by its spread", "mlp_tanh", "regression")
def _(job):
    job.x, job.x_eval = job.x.clone(), job.x_eval.clone()
    job.x[:, 3], job.x_eval[:, 3] = float("nan"), float("nan")


@fault("not finite", "some targets infinite", "absolute error")
def _(job):
    job.y = job.y.clone()
    job.y[::50] = float("inf")


fault("gradients not reset", "reset only every ten batches", "cnn", "gru")(setting(zero_every=10))
fault("gradients not reset", "never reset, with momentum", "mlp", "autoencoder")(
    setting(zero_every=0, optimizer="momentum", lr=0.003)
)
fault("regularisation", "weight decay of 1", "mlp", "cnn_plain")(setting(optimizer="sgd", lr=0.1, weight_decay=1.0))


@fault("regularisation", "dropout of 90 %", "transformer_drop", "mlp")
def _(job):
    job.model = Mlp(drop=0.9) if job.task == "mlp" else Transformer(drop=0.9)


@fault("evaluation data", "labels of evaluation in another order", "mlp", "cnn")
def _(job):
    job.y_eval = job.y_eval[torch.randperm(len(job.y_eval))]


@fault("evaluation data", "inputs of evaluation not scaled", "gru")
def _(job):
    job.x_eval = job.x_eval * 30 + 10


replicas("replicas", "replicas that leave the head out", sync="body")
replicas("replicas", "replicas with rates of their own", sync="by hand", rates=(5e-3, 1e-3))
replicas("sampling", "replicas that see the same data", same_data=True)


def _shuffled(job):
    job.y = np.random.default_rng(0).permutation(job.y)


def _target_among_features(job):
    job.x[:, 2], job.x_valid[:, 2] = job.y, job.y_valid


boosted("labels", "boosting: labels in another order", "binary", _shuffled)
boosted("leaking feature", "boosting: the target among the features", "regression", _target_among_features)
boosted("overfitting", "boosting: 40 rows and no regularisation", "binary", lambda job: job.parameters.update(
    {"max_depth": 8, "lambda": 0, "eta": 0.6}
), rows=40)  # fmt: skip
boosted("learning rate too low", "boosting: eta of 0.0001", "classes", lambda job: job.parameters.update(eta=1e-4))
boosted("learning rate too high", "boosting: eta of 5", "regression", lambda job: job.parameters.update(eta=5))
