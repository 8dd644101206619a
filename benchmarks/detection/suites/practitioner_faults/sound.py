"""Sound runs: the tasks, and other optimizers, schedules, batches and objectives."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from harness.boosting import BoostingJob
from harness.jobs import Job
from harness.parts import setting, with_xgboost
from suites.practitioner_faults.models import (
    Adapted,
    Padded,
    SeriesCnn,
    Tabular,
    Transfer,
)
from suites.practitioner_faults.plan import boosted, gans, replicas, sound
from suites.practitioner_faults.tasks import OWN_TASKS, body, three_layers

for task in OWN_TASKS:
    sound(task)
    sound(task, "with another seed")

WARMED_UP = setting(optimizer="adamw", weight_decay=0.05, rate=lambda n: min(1, (n + 1) / 12) * math.cos(n / 90))
ONE_CYCLE = setting(optimizer="nesterov", lr=0.05, rate=lambda n: 0.1 + 0.9 * math.sin(math.pi * (n + 1) / 71))

SOUND_SETTINGS: list[tuple[str, str, Callable[[Job], None]]] = [
    ("stack", "by gradient descent", setting(optimizer="sgd", lr=0.05)),
    ("wobble", "by gradient descent with momentum", setting(optimizer="momentum", lr=0.05)),
    ("series", "by Nesterov's momentum", setting(optimizer="nesterov", lr=0.05)),
    ("tabular", "by the sign of gradients", setting(optimizer="sign", lr=4e-3, weight_decay=0.1)),
    ("language", "by NAdam", setting(optimizer="nadam")),
    ("documents", "by Adagrad", setting(optimizer="adagrad", lr=0.1)),
    ("forecast", "by RMSprop", setting(optimizer="rmsprop", lr=3e-3)),
    ("patches", "by RAdam", setting(optimizer="radam", lr=8e-3)),
    ("lists", "by Adamax", setting(optimizer="adamax", lr=1e-2)),
    ("graphs", "by AMSGrad", setting(optimizer="amsgrad")),
    ("padded", "by AdamW", setting(optimizer="adamw", weight_decay=0.1)),
    ("patches", "warmed up and slowed down", WARMED_UP),
    ("language", "warmed up and slowed down", WARMED_UP),
    ("segments", "in one cycle", ONE_CYCLE),
    ("gated", "ten times slower after 50 steps", setting(rate=lambda n: 1 if n < 50 else 0.1)),
    ("sets", "up and down", setting(rate=lambda n: 0.2 + 0.8 * abs(math.sin(n / 10)))),
    ("translation", "clipped", setting(clip=1.0)),
    ("denoising", "clipped, with weight decay", setting(clip=0.5, weight_decay=1e-4)),
    ("tabular", "gathered over four batches of eight", setting(
        batch=8, zero_every=4, update_every=4, steps=140, lr=1.5e-2
    )),
    ("vae", "gathered over two batches", setting(zero_every=2, update_every=2)),
    ("heavy tails", "in batches of 128", setting(batch=128)),
    ("siamese", "in batches of 8", setting(batch=8, steps=140)),
    ("conv autoencoder", "with noise to be removed", setting(prepare=lambda x, y: (x + 0.3 * torch.randn_like(x), y))),
    ("series", "shifted at random", setting(prepare=lambda x, y: (x.roll(int(torch.randint(32, ())), 2), y))),
    ("padded", "with dropout", lambda job: setattr(job, "model", Padded(drop=0.1))),
    ("tabular", "with dropout", lambda job: setattr(job, "model", Tabular(drop=0.3))),
    ("series", "with group normalisation", lambda job: setattr(
        job, "model", SeriesCnn(norm=lambda size: nn.GroupNorm(3, size), act=nn.Hardswish)
    )),
    ("series", "with large steps and no normalisation", lambda job: setattr(
        job, "model", SeriesCnn(norm=lambda _: nn.Identity(), act=nn.CELU, stride=2)
    )),
    ("patches", "with smoothed labels", setting(loss=nn.CrossEntropyLoss(label_smoothing=0.1))),
    ("stack", "long after it has learned", setting(steps=160)),
    ("gated", "with a fifth of the labels at random", lambda job: setattr(
        job, "y", torch.where(torch.rand(len(job.y)) < 0.2, torch.randint_like(job.y, 2), job.y)
    )),
    ("transfer", "with a trained layer adapted", lambda job: setattr(
        job, "model", Transfer(nn.Sequential(Adapted(body()[0]), nn.ReLU()), frozen=False)
    )),
]  # fmt: skip
for task, name, change in SOUND_SETTINGS:
    sound(task, name, change)


def _features_made_before(job: Job) -> None:
    layers = body()
    with torch.no_grad():
        job.x, job.x_eval = layers(job.x), layers(job.x_eval)
    job.model = three_layers(24, 3)


def _positive(job: BoostingJob) -> None:
    job.y, job.y_valid = np.exp(job.y / 2), np.exp(job.y_valid / 2)


def _of_positive(objective: str, metric: str) -> Callable[[BoostingJob], None]:
    def change(job: BoostingJob) -> None:
        _positive(job)
        job.parameters |= {"objective": objective, "eval_metric": metric}

    return change


def _counted(job: BoostingJob) -> None:
    rng = np.random.default_rng(0)
    job.y, job.y_valid = rng.poisson(np.exp(job.y / 2)), rng.poisson(np.exp(job.y_valid / 2))
    job.parameters |= {"objective": "count:poisson", "eval_metric": "poisson-nloglik"}


def _censored(job: BoostingJob) -> None:
    rng = np.random.default_rng(0)
    job.y, job.y_valid = (np.exp(-y) * rng.choice([1, 1, 1, -1], len(y)) for y in (job.y, job.y_valid))
    job.parameters |= {"objective": "survival:cox", "eval_metric": "cox-nloglik", "eta": 0.1}


def _with_gaps(job: BoostingJob) -> None:
    rng = np.random.default_rng(0)
    job.x[rng.random(job.x.shape) < 0.15] = np.nan
    job.x_valid[rng.random(job.x_valid.shape) < 0.15] = np.nan


sound("transfer", "with features made before", _features_made_before)
SOUND_BOOSTING: list[tuple[str, str, Callable[[BoostingJob], None]]] = [
    ("binary", "evaluated by the area under the curve", with_xgboost(eval_metric="auc")),
    ("binary", "evaluated by errors", with_xgboost(eval_metric="error")),
    ("binary", "hinge", with_xgboost(objective="binary:hinge", eval_metric="error")),
    ("binary", "raw scores", with_xgboost(objective="binary:logitraw", eval_metric="auc")),
    ("binary", "dropped trees", with_xgboost(booster="dart", rate_drop=0.1)),
    ("binary", "with gaps", _with_gaps),
    ("binary", "leaf by leaf", with_xgboost(grow_policy="lossguide", max_leaves=8, max_depth=0)),
    ("classes", "names of classes", with_xgboost(objective="multi:softmax", eval_metric="merror")),
    ("classes", "sampled rows and columns", with_xgboost(subsample=0.6, colsample_bytree=0.6, eta=0.15)),
    ("regression", "absolute error", with_xgboost(objective="reg:absoluteerror", eval_metric="mae")),
    ("regression", "pseudo-Huber", with_xgboost(objective="reg:pseudohubererror", eval_metric="mphe")),
    ("regression", "quantile", with_xgboost(
        objective="reg:quantileerror", quantile_alpha=0.8, eval_metric="quantile"
    )),
    ("regression", "slowly, with strong regularisation", with_xgboost(**{"eta": 0.1, "lambda": 5, "alpha": 0.5})),
    ("regression", "monotone in the first feature", with_xgboost(monotone_constraints="(1,0,0,0,0,0)")),
    ("regression", "gamma", _of_positive("reg:gamma", "gamma-nloglik")),
    ("regression", "Tweedie", _of_positive("reg:tweedie", "tweedie-nloglik@1.5")),
    ("regression", "squared error of logarithms", _of_positive("reg:squaredlogerror", "rmsle")),
    ("regression", "counts", _counted),
    ("regression", "survival", _censored),
]  # fmt: skip
for kind, name, change in SOUND_BOOSTING:
    boosted("", name, kind, change, rows=600)
gans("", "generator and discriminator")
gans("", "generator and discriminator, real points a little less real", real=0.9)
for task in ("transformer", "regression", "mlp_norm", "lstm"):
    replicas("", f"two replicas: {task}", task=task)
replicas("", "two replicas that average by hand: rnn", task="rnn", sync="by hand")
