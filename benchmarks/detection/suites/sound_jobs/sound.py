"""The runs, all sound: the tasks, and other ways to build and train models."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from harness.boosting import BoostingJob
from harness.jobs import Job
from harness.parts import dense, setting, with_model, with_xgboost
from suites.sound_jobs.loops import bootstrapped, rewarded
from suites.sound_jobs.pictures import resnet
from suites.sound_jobs.plan import OWN_TASKS, SOUND_JOBS, boosted, other, replicas, sound
from suites.sound_jobs.tables import Experts, TwoHeads, residual

for task in OWN_TASKS:
    sound(task)


def begun(start: Callable[[torch.Tensor], object], *sizes: int, act: type[nn.Module]) -> Callable[[], nn.Module]:
    """Return a function that makes fully connected layers with the given initial weights and zero biases."""

    def make() -> nn.Module:
        layers = dense(*sizes, act=act)
        for layer in layers:
            if isinstance(layer, nn.Linear):
                start(layer.weight)
                nn.init.zeros_(layer.bias)
        return layers

    return make


def nothing_at_first(job: Job) -> None:
    """Initialise each residual block as the identity."""
    for name, parameter in job.model.named_parameters():
        if name.endswith(("inner.3.weight", "inner.3.bias")):
            nn.init.zeros_(parameter)


def evened_out(job: Job) -> None:
    """Repeat the rare class in training until both classes are equally frequent."""
    rare, common = job.y[:, 0].nonzero()[:, 0], (job.y[:, 0] == 0).nonzero()[:, 0]
    rows = torch.cat([common, rare[torch.randint(0, len(rare), (len(common),))]])
    job.x, job.y = job.x[rows], job.y[rows]


def some_wrong(share: float, classes: int) -> Callable[[Job], None]:
    """Return the change that replaces a share of the training labels by random ones."""

    def change(job: Job) -> None:
        job.y = torch.where(torch.rand(len(job.y)) < share, torch.randint(0, classes, job.y.shape), job.y)

    return change


def flipped(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Flip half of the batches, and add noise."""
    x = x.flip(3) if torch.rand(()) < 0.5 else x
    return x + 0.1 * torch.randn_like(x), y


def cut_out(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Set a square of the images to 0."""
    row, column = torch.randint(0, 7, (2,)).tolist()
    x = x.clone()
    x[:, :, row : row + 3, column : column + 3] = 0
    return x, y


def warmed_up(steps: int, warm: int = 10) -> Callable[[int], float]:
    """Return a schedule that rises for some steps and falls to zero like a cosine."""
    return lambda n: min((n + 1) / warm, 0.5 + 0.5 * math.cos(math.pi * n / steps))


def triangles(n: int) -> float:
    """Rise and fall within forty steps, repeatedly."""
    return 0.2 + 0.8 * (1 - abs(n % 40 - 20) / 20)


OTHERWISE: list[tuple[str, str, Callable[[Job], None]]] = [
    ("houses", "by momentum", setting(optimizer="momentum", lr=0.02)),
    ("houses", "with blocks that do nothing at first", nothing_at_first),
    ("houses", "with much weight decay", setting(optimizer="adamw", weight_decay=0.3)),
    ("weaves", "by gradient descent", setting(optimizer="sgd", lr=0.2, steps=100)),
    ("coils", "by RMSprop", setting(optimizer="rmsprop", lr=3e-3)),
    ("tags", "by Adagrad", setting(optimizer="adagrad", lr=0.1)),
    ("styles", "warmed up and slowed down", setting(optimizer="adamw", weight_decay=0.05, rate=warmed_up(120))),
    ("lots", "warmed up and slowed down", setting(optimizer="adamw", lr=8e-3, rate=warmed_up(100))),
    ("shapes", "slowed down twice", setting(
        optimizer="momentum", lr=0.05, rate=lambda n: 1 if n < 40 else 0.1 if n < 60 else 0.01
    )),
    ("spots", "up and down", setting(rate=triangles, steps=120)),
    ("patients", "clipped", setting(clip=1.0)),
    ("swings", "clipped", setting(clip=0.3)),
    ("damages", "in large batches", setting(batch=256)),
    ("leavers", "in batches of eight", setting(batch=8, steps=220, lr=5e-3)),
    ("grades", "gathered over four batches of eight", setting(
        batch=8, zero_every=4, update_every=4, loss_factor=0.25, steps=240, lr=2e-2
    )),
    ("persons", "with smoothed labels", setting(loss=nn.CrossEntropyLoss(label_smoothing=0.1))),
    ("rings", "with some labels wrong", some_wrong(0.15, 3)),
    ("rings", "with dropout", with_model(lambda: dense(8, 64, 64, 3, drop=0.2))),
    ("queues", "with sigmoids", with_model(begun(nn.init.xavier_normal_, 5, 32, 1, act=nn.Sigmoid))),
    ("rings", "with batch normalisation", with_model(lambda: dense(8, 32, 32, 3, norm=nn.BatchNorm1d, act=nn.SiLU))),
    ("coils", "begun for ReLU", with_model(begun(nn.init.kaiming_normal_, 2, 48, 48, 2, act=nn.ReLU))),
    ("signs", "begun with directions at right angles",
     with_model(begun(nn.init.orthogonal_, 6, 32, 32, 2, act=nn.Mish))),
    ("cheats", "evened out", evened_out),
    ("shapes", "flipped, with noise", setting(prepare=flipped)),
    ("weaves", "with squares cut out", setting(prepare=cut_out)),
    ("shapes", "with normalised instances",
     with_model(lambda: resnet(lambda size: nn.InstanceNorm2d(size, affine=True)))),
    ("sensors", "with some of them silent", setting(prepare=lambda x, y: (x * (torch.rand_like(x) > 0.15), y))),
    ("bearings", "long after it has learned", setting(steps=220)),
    ("tags, plainly", "long after it has learned", setting(steps=180)),
    ("regimes", "with eight experts", with_model(lambda: Experts(experts=8))),
    ("patients", "with a gentle activation", with_model(lambda: TwoHeads(nn.GELU))),
    ("kelvins", "with blocks", with_model(lambda: residual(6, 1, 32))),
]  # fmt: skip
for task, name, change in OTHERWISE:
    sound(task, name, change)

other("", "choices that are rewarded", rewarded(SOUND_JOBS.next_seed))
other("", "values of a walk", bootstrapped(SOUND_JOBS.next_seed))


def rare(job: BoostingJob) -> None:
    """Make about one case in eight positive, and weight it accordingly."""
    for x, y in ((job.x, job.y), (job.x_valid, job.y_valid)):
        y[:] = x[:, 0] + x[:, 1] * x[:, 2] > 1.7
    job.parameters |= {"scale_pos_weight": 7, "eval_metric": "aucpr"}


def counted(job: BoostingJob) -> None:
    """Replace the targets by Poisson counts."""
    rng = np.random.default_rng(len(job.y))
    job.y, job.y_valid = (rng.poisson(np.exp(y / 2 + 0.5)).astype(np.float32) for y in (job.y, job.y_valid))
    job.parameters |= {"objective": "count:poisson", "eval_metric": "rmse", "max_delta_step": 0.7}


def far_from_zero(job: BoostingJob) -> None:
    """Shift and scale the targets."""
    job.y, job.y_valid = job.y * 20 + 500, job.y_valid * 20 + 500


BOOSTED: list[tuple[str, str, Callable[[BoostingJob], None] | None]] = [
    ("binary", "stumps", with_xgboost(max_depth=1, eta=0.5)),
    ("binary", "rare cases weighed", rare),
    ("binary", "half of the rows", with_xgboost(subsample=0.5, min_child_weight=3)),
    ("classes", "deeper, with a penalty for leaves", with_xgboost(max_depth=5, gamma=0.5, eta=0.1)),
    ("classes", "by histograms of few bins", with_xgboost(tree_method="hist", max_bin=16)),
    ("regression", "counts", counted),
    ("regression", "far from zero", far_from_zero),
    ("regression", "two thirds of the columns", with_xgboost(colsample_bynode=0.67, eta=0.15)),
    ("regression", "several trees at once", with_xgboost(num_parallel_tree=4, subsample=0.7, colsample_bynode=0.7)),
    ("regression", "absolute errors", with_xgboost(objective="reg:absoluteerror", eval_metric="mae", eta=0.3)),
]  # fmt: skip
for kind, name, change in BOOSTED:
    boosted(kind, name, change)

for task in ("mlp_tanh", "cnn", "gru"):
    replicas("", f"two replicas: {task}", task=task)
replicas("", "two replicas, averaged by hand: mlp_deep", task="mlp_deep", sync="by hand")
