"""Faults in how a model is built or trained."""

from __future__ import annotations

import copy
import math

import torch
from torch import nn
from torch.nn import functional

from harness.parts import FunctionLoss, setting, with_xgboost
from suites.practitioner_faults.losses import ContrastLoss, EvidenceLoss, MarginLoss, OverlapLoss
from suites.practitioner_faults.models import (
    ConvAutoencoder,
    Graphs,
    LanguageModel,
    Padded,
    Patches,
    Ratings,
    Reshaped,
    SeriesCnn,
    Sets,
    Stack,
    Tabular,
    Transfer,
    Translator,
)
from suites.practitioner_faults.plan import boosted, fault, gans, loss_fault, model_fault, replicas
from suites.practitioner_faults.tasks import three_layers

# --- rates -----------------------------------------------------------------------------------------------------------

fault("learning rate too high", "warmed up from 300 times the rate", "tabular", "series")(
    setting(rate=lambda n: max(1, 300 * 0.9**n))
)
fault("learning rate too high", "momentum of 0.999 at 0.1", "language", "forecast")(
    setting(optimizer="momentum of 0.999", lr=0.1)
)
fault("learning rate too high", "one cycle with a peak of 2", "patches")(
    setting(rate=lambda n: 400 * math.exp(-(((n - 30) / 8) ** 2)) + 1)
)
fault("learning rate too high", "a rate for training from scratch", "fine-tuned")(setting(lr=1.0))
fault("learning rate too high", "the sign of gradients at 0.3", "siamese")(setting(optimizer="sign", lr=0.3))
fault("learning rate too high", "restarted at 1.0 every 20 steps", "translation")(
    setting(rate=lambda n: 50 if n % 20 == 0 else 1)
)
fault("learning rate too low", "zero after two steps", "tabular", "translation")(
    setting(rate=lambda n: max(0.0, 1 - n / 2))
)
fault("learning rate too low", "warmed up over 100,000 steps", "language", "segments")(
    setting(rate=lambda n: (n + 1) / 1e5)
)
fault("learning rate too low", "epsilon of Adam at 10", "sets", "padded")(setting(optimizer="adam, epsilon of 10"))
fault("learning rate too low", "decays by a third a step", "vae", "lists")(setting(rate=lambda n: 0.67**n))
fault("learning rate too low", "clipped at a hundred thousandth", "graphs")(
    setting(clip=1e-5, optimizer="nesterov", lr=0.05)
)
gans("learning rate too high", "generator far too fast", rates=(0.5, 5e-3))
gans("learning rate too low", "discriminator far too slow", rates=(5e-3, 1e-7))
boosted("learning rate too high", "eta of 2.5", "binary", with_xgboost(eta=2.5))
boosted("learning rate too low", "steps of a ten-thousandth at most", "binary", with_xgboost(max_delta_step=1e-4))

# --- gradients and what is trained -----------------------------------------------------------------------------------

fault("gradients not reset", "reset once an epoch", "patches", "ratings")(
    setting(zero_every=24, optimizer="momentum", lr=0.02)
)
fault("gradients not reset", "never reset, by the sign of gradients", "gated")(
    setting(zero_every=0, optimizer="sign", lr=1e-2)
)
gans("gradients not reset", "discriminator keeps gradients", resets=False)
fault("parameters not trained", "reset between backward and step", "forecast", "documents")(
    setting(optimizer="forgetful")
)


@fault("parameters not trained", "the optimizer has a copy of the model", "siamese", "counts")
def _(job):
    job.trained = lambda model: copy.deepcopy(model).parameters()


@fault("parameters not trained", "the optimizer was made before the body was", "patches")
def _(job):
    job.trained = lambda model: [*model.norm.parameters(), *model.head.parameters()]


model_fault("parameters not trained", "the reader detached", "translation", lambda: Translator(passes=torch.detach))
model_fault("parameters not trained", "layers in a plain list", "stack", lambda: Stack(registered=False))
gans("parameters not trained", "made points are detached", detached=True)


@fault("parameters not trained", "a body that never was trained is frozen", "transfer")
def _(job):
    job.model = Transfer(three_layers(8, 24, nn.Tanh))


# --- beginnings ------------------------------------------------------------------------------------------------------

model_fault("initialisation", "embeddings with a spread of 30", "ratings", lambda: Ratings(spread=30))
model_fault("initialisation", "tied embeddings with a spread of 3", "language", lambda: LanguageModel(spread=3.0))


@fault("initialisation", "recurrent weights twelve times too large", "translation")
def _(job):
    with torch.no_grad():
        job.model.reader.weight_hh_l0.mul_(12)
        job.model.writer.weight_hh_l0.mul_(12)


@fault("initialisation", "variances begin at e to the 14th", "vae")
def _(job):
    nn.init.constant_(job.model.spread.bias, 14)


@fault("initialisation", "all kernels the same", "series", "conv autoencoder")
def _(job):
    for parameter in job.model.parameters():
        if parameter.ndim > 2:
            nn.init.constant_(parameter, 0.05)


boosted("initialisation", "begins at 1,000", "regression", with_xgboost(base_score=1000.0))
boosted("initialisation", "begins at one in a million", "binary", with_xgboost(base_score=1e-6, eta=0.1))

# --- losses and outputs ----------------------------------------------------------------------------------------------


def _mean_first(output, y):
    return (output.mean(0) - y.mean(0)).square().mean()


def _plain_probabilities(scores, y):
    return functional.kl_div(scores.softmax(1), y, reduction="batchmean")


def _no_negatives(views, _):
    return (views[:, 0] - views[:, 1]).square().sum(1).mean()


loss_fault("loss or output", "means over the batch before the loss", "forecast", FunctionLoss(_mean_first))
loss_fault("loss or output", "divergence of probabilities, not their logarithms", "distilled",
           FunctionLoss(_plain_probabilities))  # fmt: skip
loss_fault("loss or output", "nothing is pushed apart", "siamese", MarginLoss(pushes=False))
loss_fault("loss or output", "no negative pairs", "contrast", FunctionLoss(_no_negatives))
loss_fault("loss or output", "a temperature of 100", "contrast", ContrastLoss(temperature=100))
loss_fault("loss or output", "overlap of scores, not probabilities", "overlap", OverlapLoss(squash=nn.Identity()))
loss_fault("loss or output", "positive samples count 1,000 times", "tabular",
           nn.BCEWithLogitsLoss(pos_weight=torch.tensor(1000.0)))  # fmt: skip
loss_fault("loss or output", "one of several labels by softmax", "documents", nn.CrossEntropyLoss())


@fault("loss or output", "scores divided by 1,000", "patches")
def _(job):
    job.model = Reshaped(Patches(), lambda scores: scores / 1000)
    job.optimizer, job.lr = "nesterov", 0.05


@fault("loss or output", "predictions rounded", "heavy tails")
def _(job):
    job.model = Reshaped(job.model, torch.round)


@fault("loss or output", "summed over all pixels", "segments")
def _(job):
    job.loss, job.optimizer, job.lr = nn.BCEWithLogitsLoss(reduction="sum"), "momentum", 0.05


@fault("loss or output", "squared error of names of classes", "series")
def _(job):
    job.model = Reshaped(job.model, lambda scores: scores.argmax(1, keepdim=True) + 0 * scores.sum(1, keepdim=True))
    job.loss, job.y, job.y_eval = nn.MSELoss(), job.y.float()[:, None], job.y_eval.float()[:, None]


# --- architecture ----------------------------------------------------------------------------------------------------

model_fault("architecture", "no encodings of positions", "language", lambda: LanguageModel(positions=False))
model_fault("architecture", "attention to padding only", "padded", lambda: Padded(hidden=lambda x: x != 0))
model_fault("architecture", "pooled over the batch", "sets", lambda: Sets(axis=0))
model_fault("architecture", "the writer does not get what was read", "translation",
            lambda: Translator(passes=torch.zeros_like))  # fmt: skip
model_fault("architecture", "kernels of one value", "series", lambda: SeriesCnn(kernel=1))
model_fault("architecture", "no activations", "gated", lambda: nn.Sequential(
    nn.Linear(8, 24), nn.Linear(24, 24), nn.Linear(24, 2)
))  # fmt: skip
model_fault("architecture", "a code of one channel", "conv autoencoder", lambda: ConvAutoencoder(channels=1))
model_fault("exploding gradients", "messages summed over ten rounds", "graphs", lambda: Graphs(rounds=10, normed=False))


@fault("exploding gradients", "24 layers that triple", "stack")
def _(job):
    job.model = Stack(depth=24)
    with torch.no_grad():
        for layer in job.model.layers:
            layer.weight.mul_(6)


@fault("dead units", "gates shut", "gated")
def _(job):
    with torch.no_grad():
        job.model.gates.bias.fill_(-40)
        job.model.stem.bias.fill_(-40)


@fault("dead units", "biases of GELU far below zero", "heavy tails")
def _(job):
    with torch.no_grad():
        job.model[2].bias.fill_(-30)


@fault("dead units", "normalised to far below zero", "series")
def _(job):
    with torch.no_grad():
        job.model.norm.bias.fill_(-20)


# --- regularisation --------------------------------------------------------------------------------------------------

fault("regularisation", "weight decay of 50, apart from gradients", "patches", "padded")(
    setting(optimizer="adamw", weight_decay=50.0)
)
fault("regularisation", "weights clamped to 0.01", "sets", "documents")(setting(optimizer="clamped"))
model_fault("regularisation", "dropout of 95 % of embeddings", "language", lambda: LanguageModel(drop=0.95))
model_fault("regularisation", "dropout of 95 % of joined branches", "tabular", lambda: Tabular(drop=0.95))
loss_fault("regularisation", "labels smoothed by 0.9", "series", nn.CrossEntropyLoss(label_smoothing=0.9))
loss_fault("regularisation", "codes have to be normal, 1,000 times over", "vae", EvidenceLoss(weight=10.0))
boosted("regularisation", "a split has to gain 10,000", "binary", with_xgboost(gamma=1e4))
boosted("regularisation", "lambda of a million", "classes", with_xgboost(**{"lambda": 1e6}))
boosted("regularisation", "300 rows to a leaf", "regression", with_xgboost(min_child_weight=300))

# --- replicas --------------------------------------------------------------------------------------------------------

replicas("replicas", "transformers that start apart", task="transformer", sync="by hand", same_start=False)
replicas("replicas", "replicas of an LSTM that never average", task="lstm", sync="none")
replicas("replicas", "replicas of a regression, one of which does not move",
         task="regression", sync="by hand", rates=(5e-3, 0.0))  # fmt: skip
replicas("replicas", "replicas of a CNN that leave the head out", task="cnn_plain", sync="body")
replicas("replicas", "replicas of a GRU that miss the first average", task="gru", sync="by hand", skip=0)
replicas("sampling", "transformers that see the same data", task="transformer", same_data=True)
