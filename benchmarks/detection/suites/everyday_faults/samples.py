"""Faults in the data of training or evaluation."""

from __future__ import annotations

import torch
from torch import nn

from harness.parts import (
    dense,
    evaluate_on_training_rows,
    permute,
    replace_by_random,
    setting,
    sort_by_label,
    with_few,
    with_first_rows,
    with_inputs,
    with_leak,
    with_model,
    with_targets,
    with_tensors,
)
from suites.everyday_faults.models import Recurrent
from suites.everyday_faults.plan import (
    faults,
)

UNITS = torch.tensor([800.0, 30, 1, 2, 15, 0.2, 5e4, 1])
MEANS = torch.tensor([2000.0, 1975, 3, 2, 40, 0.5, 1e5, 0])
OTHER_WORDS = torch.randperm(30, generator=torch.Generator().manual_seed(3))


def _set(column: int, values):
    """Return a function that replaces a column by a function of it."""

    def change(x):
        x[:, column] = values(x[:, column])
        return x

    return change


def _with(rows_: slice, value: float):
    """Return a function that sets the chosen rows to a value."""

    def change(x):
        x[rows_] = value
        return x

    return change


def _half_known(job) -> None:
    job.x_eval = torch.cat([job.x[:64], job.x_eval[64:]])
    job.y_eval = torch.cat([job.y[:64], job.y_eval[64:]])


faults({
    "inputs": [
        ("prices", "areas, years and incomes as they are", with_inputs(lambda x: x * UNITS + MEANS)),
        ("digits, plain", "brightness from 0 to 255", with_inputs(lambda x: ((x + 1) * 60).clamp(0, 255))),
        ("digits", "shares of brightness as whole numbers", with_inputs(lambda x: x.clamp(0, 0.99).int().float())),
        ("totals", "plain counts of the sensor", with_inputs(lambda x: x * 3000 + 6000)),
        ("roads", "divided by 255 twice too often", with_inputs(lambda x: x / 255**2)),
        ("wine", "the mean is not subtracted", with_inputs(lambda x: x + 100)),
        ("energy", "targets in kilowatt hours", with_targets(lambda y: y * 3000 + 20_000)),
    ],
    "labels": [
        ("activity", "labels in another order than inputs", with_tensors(permute, "y")),
        ("prices", "targets sorted, and inputs not", with_tensors(lambda y: y.sort(0).values, "y")),
        ("reviews", "labels one row behind after a row was dropped", with_tensors(lambda y: y.roll(1, 0), "y")),
        ("digits", "half of the labels wrong", with_tensors(replace_by_random(0.55, 10), "y")),
        ("letters", "all labels the same", with_tensors(torch.zeros_like, "y")),
    ],
    "sampling": [
        ("digits", "sorted by label", sort_by_label),
        ("reviews", "the first batch again and again", setting(same_batch=1)),
        ("spirals", "evaluated on training data", evaluate_on_training_rows),
        ("churn", "half of the evaluation data are training data", _half_known),
    ],
    "overfitting": [
        ("digits", "48 pictures", with_first_rows(48), setting(steps=140)),
        ("reviews", "40 texts", with_first_rows(40), with_model(lambda: Recurrent(nn.LSTM, words=60, size=48)),
         setting(steps=100)),
        ("prices", "40 rows and 256 units", with_first_rows(40), with_model(lambda: dense(8, 256, 256, 1)),
         setting(steps=150)),
        ("churn", "60 rows and 256 units", with_first_rows(60), with_model(lambda: dense(12, 256, 128, 1)),
         setting(steps=150)),
    ],
    "class imbalance": [
        ("churn", "one in 50 leaves", with_few(0.04, 1)),
        ("digits", "hardly anything but zeros", with_few(0.01, *range(1, 10)), setting(batch=16)),
        ("reviews", "one in 40 is blamed", with_few(0.025, 0)),
        ("textures", "one of three is missing", with_few(0.0, 1)),
    ],
    "evaluation data": [
        ("prices", "evaluation data not standardised", with_tensors(lambda x: x * 4 + 6, "x_eval")),
        ("digits", "evaluation data from 0 to 255", with_tensors(lambda x: (x + 1) * 60, "x_eval")),
        ("letters", "classes of evaluation numbered otherwise", with_tensors(lambda y: (y + 1) % 6, "y_eval")),
        ("questions", "another vocabulary for evaluation", with_tensors(lambda x: OTHER_WORDS[x], "x_eval")),
        ("roads", "pictures of evaluation mirrored", with_tensors(lambda x: x.flip(3), "x_eval")),
    ],
    "leaking feature": [
        ("churn", "the day of leaving among the features", with_leak(5, lambda y: 3 * y[:, 0])),
        ("markets", "tomorrow's price among the features", with_leak(9, lambda y: 2 * y - 1)),
    ],
    "not finite": [
        ("prices", "values missing in some rows", with_tensors(_with(slice(0, None, 60), float("nan")), "x")),
        ("digits", "a damaged picture", with_tensors(_with(slice(7, 8), float("inf")), "x")),
        ("churn", "logarithm of a column with zeros", with_inputs(_set(3, lambda x: x.clamp(min=0).log()))),
        ("activity", "still records divided by their largest value", with_tensors(_with(slice(3, None, 80), 0.0), "x"),
         with_inputs(lambda x: x / x.abs().amax((1, 2), keepdim=True))),
    ],
})  # fmt: skip
