"""Faults in what a model is trained on and judged by."""

from __future__ import annotations

import torch
from registry import setting
from torch import nn

from third_author.models import Recurrent, dense
from third_author.plan import (
    Change,
    eval_inputs,
    eval_targets,
    faults,
    inputs,
    model,
    rare,
    rows,
    targets,
    train_inputs,
    train_targets,
)

UNITS = torch.tensor([800.0, 30, 1, 2, 15, 0.2, 5e4, 1])
MEANS = torch.tensor([2000.0, 1975, 3, 2, 40, 0.5, 1e5, 0])
OTHER_WORDS = torch.randperm(30, generator=torch.Generator().manual_seed(3))


def _first(number: int) -> Change:
    return rows(lambda _: torch.arange(number))


def _by_label(job) -> None:
    order = torch.argsort(job.y)
    job.x, job.y, job.same_batch = job.x[order], job.y[order], len(job.y) // job.batch


def _mixed(y):
    return y[torch.randperm(len(y))]


def _wrong(share: float, classes: int):
    """Return what replaces a share of labels by any label."""
    return lambda y: torch.where(torch.rand(y.shape) < share, torch.randint(classes, y.shape).to(y.dtype), y)


def _set(column: int, values):
    """Return what replaces a column by what is made of it."""

    def change(x):
        x[:, column] = values(x[:, column])
        return x

    return change


def _with(rows_: slice, value: float):
    """Return what sets some rows to a value."""

    def change(x):
        x[rows_] = value
        return x

    return change


def _leaks(column: int, worth) -> Change:
    """Write the target into a column."""

    def change(job) -> None:
        job.x, job.x_eval = job.x.clone(), job.x_eval.clone()
        for x, y in ((job.x, job.y), (job.x_eval, job.y_eval)):
            x[:, column] = worth(y).to(x.dtype)

    return change


def _judged_by_its_own(job) -> None:
    job.x_eval, job.y_eval = job.x[:128], job.y[:128]


def _half_known(job) -> None:
    job.x_eval = torch.cat([job.x[:64], job.x_eval[64:]])
    job.y_eval = torch.cat([job.y[:64], job.y_eval[64:]])


faults({
    "inputs": [
        ("prices", "areas, years and incomes as they are", inputs(lambda x: x * UNITS + MEANS)),
        ("digits, plain", "brightness from 0 to 255", inputs(lambda x: ((x + 1) * 60).clamp(0, 255))),
        ("digits", "shares of brightness as whole numbers", inputs(lambda x: x.clamp(0, 0.99).int().float())),
        ("totals", "plain counts of the sensor", inputs(lambda x: x * 3000 + 6000)),
        ("roads", "divided by 255 twice too often", inputs(lambda x: x / 255**2)),
        ("wine", "the mean is not subtracted", inputs(lambda x: x + 100)),
        ("energy", "targets in kilowatt hours", targets(lambda y: y * 3000 + 20_000)),
    ],
    "labels": [
        ("activity", "labels in another order than inputs", train_targets(_mixed)),
        ("prices", "targets sorted, and inputs not", train_targets(lambda y: y.sort(0).values)),
        ("reviews", "labels one row behind after a row was dropped", train_targets(lambda y: y.roll(1, 0))),
        ("digits", "half of the labels wrong", train_targets(_wrong(0.55, 10))),
        ("letters", "all labels the same", train_targets(torch.zeros_like)),
    ],
    "sampling": [
        ("digits", "sorted by label", _by_label),
        ("reviews", "the first batch again and again", setting(same_batch=1)),
        ("spirals", "evaluated on training data", _judged_by_its_own),
        ("churn", "half of the evaluation data are training data", _half_known),
    ],
    "overfitting": [
        ("digits", "48 pictures", _first(48), setting(steps=140)),
        ("reviews", "40 texts", _first(40), model(lambda: Recurrent(nn.LSTM, words=60, size=48)), setting(steps=100)),
        ("prices", "40 rows and 256 units", _first(40), model(lambda: dense([8, 256, 256, 1])), setting(steps=150)),
        ("churn", "60 rows and 256 units", _first(60), model(lambda: dense([12, 256, 128, 1])), setting(steps=150)),
    ],
    "class imbalance": [
        ("churn", "one in 50 leaves", rare(0.04, 1)),
        ("digits", "hardly anything but zeros", rare(0.01, *range(1, 10)), setting(batch=16)),
        ("reviews", "one in 40 is blamed", rare(0.025, 0)),
        ("textures", "one of three is missing", rare(0.0, 1)),
    ],
    "evaluation data": [
        ("prices", "evaluation data not standardised", eval_inputs(lambda x: x * 4 + 6)),
        ("digits", "evaluation data from 0 to 255", eval_inputs(lambda x: (x + 1) * 60)),
        ("letters", "classes of evaluation numbered otherwise", eval_targets(lambda y: (y + 1) % 6)),
        ("questions", "another vocabulary for evaluation", eval_inputs(lambda x: OTHER_WORDS[x])),
        ("roads", "pictures of evaluation mirrored", eval_inputs(lambda x: x.flip(3))),
    ],
    "leaking feature": [
        ("churn", "the day of leaving among the features", _leaks(5, lambda y: 3 * y[:, 0])),
        ("markets", "tomorrow's price among the features", _leaks(9, lambda y: 2 * y - 1)),
    ],
    "not finite": [
        ("prices", "values missing in some rows", train_inputs(_with(slice(0, None, 60), float("nan")))),
        ("digits", "a damaged picture", train_inputs(_with(slice(7, 8), float("inf")))),
        ("churn", "logarithm of a column with zeros", inputs(_set(3, lambda x: x.clamp(min=0).log()))),
        ("activity", "still records divided by their largest value", train_inputs(_with(slice(3, None, 80), 0.0)),
         inputs(lambda x: x / x.abs().amax((1, 2), keepdim=True))),
    ],
})  # fmt: skip
