"""Sound runs: the tasks, and other ways to build and train models."""

from __future__ import annotations

import math

import torch
from torch import nn

from harness.parts import (
    Apply,
    dense,
    setting,
    with_first_rows,
    with_frozen,
    with_model,
    with_output,
    with_rows,
    with_tensors,
    with_weights,
)
from suites.everyday_faults_blind import loops
from suites.everyday_faults_blind.amounts import Chosen, Priced, begun_at, gated
from suites.everyday_faults_blind.making import with_new_head
from suites.everyday_faults_blind.pairs import Messages, Rated
from suites.everyday_faults_blind.pictures import Deep, Hourglass, Tiles, convolutions
from suites.everyday_faults_blind.plan import EVERYDAY_FAULTS_BLIND, OWN_TASKS, other, sound
from suites.everyday_faults_blind.series import Memory, beat_net
from suites.everyday_faults_blind.tables import Fields, one_hot, skipping
from suites.everyday_faults_blind.texts import Attentive, Mean, Tagger

# --- schedules -------------------------------------------------------------------------------------------------------

LONG_WARM_UP = setting(rate=lambda n: min(1, (n + 1) / 60))
RESTARTS = setting(rate=lambda n: 0.02 + 0.98 * (1 + math.cos(math.pi * (n % 35) / 35)) / 2)
COSINE = setting(rate=lambda n: (1 + math.cos(math.pi * min(1, n / 140))) / 2)
OF_TRANSFORMERS = setting(rate=lambda n: min(((n + 1) / 25) ** -0.5, (n + 1) / 25))
TRIANGLES = setting(rate=lambda n: 0.1 + 0.9 * abs(1 - n % 40 / 20))
HALVED = setting(rate=lambda n: 0.5 ** (n // 30))

# --- changes of batches ----------------------------------------------------------------------------------------------


def _mirrored(x, y):
    return (x.flip(3) if torch.rand(()) < 0.5 else x), y


def _cut_out(x, y):
    x, (down, right) = x.clone(), torch.randint(0, 9, (2,))
    x[:, :, down : down + 3, right : right + 3] = 0
    return x, y


def _mixed(x, y):
    """Mix pairs of samples and their classes (mixup); there are seven classes."""
    share, order = float(torch.distributions.Beta(0.4, 0.4).sample()), torch.randperm(len(x))
    y = nn.functional.one_hot(y, 7).float()
    return share * x + (1 - share) * x[order], share * y + (1 - share) * y[order]


def _shaken(x, y):
    return x + 0.1 * torch.randn_like(x), y


def _some_missing(x, y):
    return x * (torch.rand_like(x) > 0.1), y


# --- changes of data -------------------------------------------------------------------------------------------------


def _guessed(share: float, classes: int):
    return lambda y: torch.where(torch.rand(y.shape) < share, torch.randint(0, classes, y.shape), y)


def _rare_ones_drawn_again(job) -> torch.Tensor:
    """Return rows in which both classes are equally frequent."""
    weights = torch.where(job.y[:, 0] > 0, 1 / job.y.sum(), 1 / (1 - job.y).sum())
    return torch.multinomial(weights, len(job.y), replacement=True)


def _easy_first(job) -> None:
    """Begin with the half of the rows that is nearest to the class centres, and add others step by step."""
    centres = torch.stack([job.x[job.y == label].mean(0) for label in range(7)])
    order = (job.x - centres[job.y]).square().sum(1).argsort()
    x, y, seen = job.x[order], job.y[order], [0]

    def prepare(*_):
        seen[0] += 1
        rows = torch.randint(0, min(len(x), len(x) // 2 + 6 * seen[0]), (job.batch,))
        return x[rows], y[rows]

    job.prepare = prepare


def _all_rows(job) -> None:
    job.batch = len(job.x)


def _normed(layers: nn.Module) -> nn.Module:
    """Apply weight normalisation to the linear layers."""
    for layer in layers:
        if isinstance(layer, nn.Linear):
            nn.utils.parametrizations.weight_norm(layer)
    return layers


def _group(channels: int) -> nn.Module:
    return nn.GroupNorm(2, channels)


ORTHOGONAL = with_weights(nn.init.orthogonal_)
SMALL_SPREAD = with_weights(lambda weight: nn.init.trunc_normal_(weight, std=0.05))
HE = with_weights(lambda weight: nn.init.kaiming_normal_(weight, nonlinearity="relu"))
SMOOTHED = setting(loss=nn.CrossEntropyLoss(label_smoothing=0.1))

for task in OWN_TASKS:
    sound(task)

SOUND = [
    ("loans", "with layer normalisation, by NAdam", with_model(lambda: dense(20, 32, 16, 1, norm=nn.LayerNorm)),
     setting(optimizer="nesterov adam", steps=90)),
    ("loans", "sigmoid and binary cross entropy apart", with_output(nn.Sigmoid()), setting(loss=nn.BCELoss())),
    ("loans", "in batches of 8", setting(batch=8, lr=1e-3, steps=200)),
    ("crops", "mixed pairs", setting(prepare=_mixed, steps=140)),
    ("crops", "from easy to hard", _easy_first),
    ("crops", "warmed up for most of the run", LONG_WARM_UP),
    ("crops", "with restarts", RESTARTS, setting(steps=140)),
    ("crops", "a fifth of the labels guessed", with_tensors(_guessed(0.2, 7), "y"), setting(weight_decay=1e-3)),
    ("crops", "log softmax and negative log likelihood", with_output(nn.LogSoftmax(1)), setting(loss=nn.NLLLoss())),
    ("crops", "loss added up over the batch", setting(loss=nn.CrossEntropyLoss(reduction="sum"), lr=3e-3)),
    ("crops, linear", "all rows at each step", _all_rows, setting(lr=1.0)),
    ("galaxies", "orthogonal, by Adamax, slowed down", ORTHOGONAL, COSINE,
     setting(optimizer="adam by largest", lr=2e-2)),
    ("galaxies", "with normed weights", with_model(lambda: _normed(dense(4, 32, 32, 3)))),
    ("crescents", "all rows at each step, by gradient descent", _all_rows, setting(optimizer="sgd", lr=0.5, steps=200)),
    ("crescents", "long after it has learned", setting(steps=320)),
    ("households", "some answers left out at random", setting(prepare=_some_missing)),
    ("households", "with half of the units dropped", with_model(lambda: dense(24, 96, 48, 1, drop=0.5))),
    ("skills", "by momentum, in triangles", setting(optimizer="momentum", lr=0.1, weight_decay=1e-4), TRIANGLES),
    ("skills", "with six blocks", with_model(lambda: skipping(14, 8, blocks=6)), setting(clip=1.0)),
    ("patients, rare", "drawn as often as others", with_rows(_rare_ones_drawn_again),
     setting(loss=nn.BCEWithLogitsLoss())),
    ("contracts", "with dropout, warmed up", with_model(lambda: Fields(drop=0.1)), OF_TRANSFORMERS),
    ("contracts, one score each", "by plain ReLU with He's spread", with_model(
        lambda: nn.Sequential(Apply(one_hot), dense(23, 32, 4))
    ), HE),
    ("exams", "by RMSprop", setting(optimizer="rmsprop", lr=2e-3)),
    ("cars", "with batch normalisation, halved every 30 batches", with_model(
        lambda: Priced(norm=nn.BatchNorm1d)
    ), HALVED),
    ("cars", "by momentum, clipped", setting(optimizer="momentum", lr=0.02, clip=1.0)),
    ("bicycles", "in batches of 128, by RAdam", setting(batch=128, optimizer="rectified adam", lr=2e-2)),
    ("flights, robust", "by Adagrad", setting(optimizer="adagrad", lr=0.05)),
    ("flights, robust", "by absolute errors", with_model(lambda: gated(7, 1, blocks=1)), setting(loss=nn.L1Loss())),
    ("plants", "in gigawatts", with_tensors(lambda y: y / 1000, "y", "y_eval"), with_model(
        lambda: begun_at(dense(4, 32, 32, 1, act=nn.Tanh), 0.45)
    ), setting(lr=2e-3)),
    ("regions", "all of six experts asked", with_model(lambda: Chosen(count=6, best=6))),
    ("hilltops", "by squares, in batches of 16", setting(batch=16, loss=nn.MSELoss(), steps=200)),
    ("teacher", "hard answers only", with_tensors(lambda y: y.argmax(1), "y", "y_eval"), setting(
        loss=nn.CrossEntropyLoss()
    )),
    ("figures", "augmented, labels smoothed", setting(prepare=_cut_out, steps=168), SMOOTHED),
    ("figures", "with group normalisation and GELU", with_model(
        lambda: convolutions(4, 1, 8, 12, act=nn.GELU, norm=_group)
    )),
    ("figures", "without normalisation, half dropped at the end", with_model(
        lambda: convolutions(4, 1, 8, 16, norm=None, drop=0.5)
    ), setting(lr=5e-3)),
    ("fabrics", "two blocks a width, long warm-up", with_model(lambda: Deep(5, blocks=2)), LONG_WARM_UP),
    ("fabrics", "by Adam, shaken", setting(optimizer="adam", lr=5e-3, prepare=_shaken)),
    ("turned", "normalised after, with dropout", with_model(
        lambda: Tiles(4, 3, drop=0.1, first=False)
    ), OF_TRANSFORMERS, setting(lr=4e-3)),
    ("cell pictures", "mirrored, rare from the beginning", setting(prepare=lambda x, y: (
        (x.flip(3), y.flip(3)) if torch.rand(()) < 0.5 else (x, y)
    )), with_model(lambda: Hourglass(bias=-2.5))),
    ("noisy", "by momentum", setting(optimizer="momentum", lr=0.05)),
    ("heartbeats", "with tanh and layers left as they are", with_model(lambda: beat_net(nn.Tanh, nn.Identity))),
    ("power", "by two layers of LSTM, slowed down", with_model(
        lambda: Memory(nn.LSTM, 2, 6, size=24, num_layers=2)
    ), COSINE, setting(steps=140, lr=2e-2)),
    ("strokes", "by a GRU, shaken", with_model(lambda: Memory(nn.GRU, 2, 5)), setting(prepare=_shaken)),
    ("alarms", "by an LSTM in both directions, half dropped", with_model(
        lambda: Memory(nn.LSTM, 5, 2, "attention", 16, drop=0.3, bidirectional=True)
    ), setting(steps=168)),
    ("subjects", "with words of thousands, most never seen", with_model(lambda: Mean(words=2000, drop=0.2))),
    ("sentences", "two layers, normalised after, warmed up", with_model(
        lambda: Attentive(13, 13, 16, causal=True, depth=2, first=False)
    ), OF_TRANSFORMERS),
    ("sentences", "in batches of 8, gathered over four", setting(
        batch=8, zero_every=4, update_every=4, loss_factor=0.25, steps=240
    )),
    ("kinds of words", "by a GRU", with_model(lambda: Tagger(cell=nn.GRU)), setting(clip=0.5)),
    ("offers", "with tanh, small spread", with_model(lambda: Rated(act=nn.Tanh)), SMALL_SPREAD),
    ("molecules", "by momentum", setting(optimizer="momentum", lr=0.05, steps=168)),
    ("papers", "few neighbourhoods, much decay", with_first_rows(400), setting(optimizer="adamw", weight_decay=0.1)),
    ("papers", "a wider network", with_model(lambda: Messages(6, 3, per_node=True, size=48)), setting(lr=3e-3)),
    ("stars given", "in batches of 512", setting(batch=512, lr=3e-2)),
    ("spoilt", "with AMSGrad, slowed down", setting(optimizer="adam with largest squares"), COSINE),
    ("elsewhere, new head", "all layers learn, slowly", with_model(lambda: with_new_head(learns=True)),
     setting(lr=2e-3)),
    ("elsewhere, new head", "first layer frozen", with_model(lambda: with_new_head(learns=True)), with_frozen("0.0"),
     setting(lr=3e-3)),
]  # fmt: skip
for task, name, *changes in SOUND:
    sound(task, name, *changes)

# --- loops of their own ----------------------------------------------------------------------------------------------

LOOPS = [
    ("two play: as it should be", loops.playing, {}),
    ("two play: faster, wide, without smoothing", loops.playing, {"size": 64, "rates": (2e-3, 5e-3), "smooth": 0.0}),
    ("clicks: as it should be", loops.rewarded, {}),
    ("clicks: three articles, tanh, slowly", loops.rewarded, {"arms": 3, "act": nn.Tanh, "lr": 3e-3, "steps": 240}),
    ("exams: evaluated by averaged weights", loops.averaged, {"task": "exams"}),
    ("figures: evaluated by averaged weights", loops.averaged, {"task": "figures"}),
    ("cars: by L-BFGS", loops.by_curvature, {"task": "cars"}),
    ("crops, linear: by L-BFGS", loops.by_curvature, {"task": "crops, linear", "steps": 10}),
    ("names: gathered over four, steps said by hand", loops.accumulated, {"task": "names"}),
    ("cell pictures: gathered over two, steps said by hand", loops.accumulated, {"task": "cell pictures", "parts": 2}),
    ("elsewhere, new head: other layers thawed later", loops.thawed, {"task": "elsewhere, new head"}),
]
for name, make_loop, settings in LOOPS:
    other("", name, make_loop(seed=EVERYDAY_FAULTS_BLIND.next_seed, **settings))
