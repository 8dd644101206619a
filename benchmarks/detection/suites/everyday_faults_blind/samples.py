"""Faults in the data of training or evaluation."""

from __future__ import annotations

import torch

from harness.parts import (
    Change,
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
    with_tensors,
)
from suites.everyday_faults_blind.plan import faults
from suites.everyday_faults_blind.series import Memory
from suites.everyday_faults_blind.texts import Attentive


def _numbers(values) -> Change:
    """Change the numbers behind the two codes, for evaluation only."""

    def change(x):
        x[:, 2:] = values(x[:, 2:])
        return x

    return with_tensors(change, "x_eval")


def _set(value: float, *, rows: slice, columns: slice = slice(None)) -> Change:
    def change(x):
        x[rows, columns] = value
        return x

    return with_tensors(change, "x")


def _logarithm_of_a_column(x):
    x[:, 4] = x[:, 4].clamp(min=0).log()
    return x


def _with_last(y):
    return y.roll(1, 0)


faults({
    "inputs": [
        ("concrete", "kilograms and litres as they are", with_model(lambda: dense(8, 32, 32, 1))),
        ("figures, old", "brightness from 0 to 255", with_inputs(lambda x: (x * 60 + 60).clamp(0, 255))),
        ("power", "use and warmth in plain watts", with_inputs(lambda x: x * 2000 + 9000)),
        ("plants", "megawatts as they are, and begun at 0", with_model(lambda: dense(4, 32, 32, 1)), setting(lr=1e-3)),
        ("galaxies", "far from the middle", with_inputs(lambda x: x + 200)),
    ],
    "labels": [
        ("crops", "labels mixed up", with_tensors(permute, "y")),
        ("cell pictures", "masks of other pictures", with_tensors(permute, "y")),
        ("names", "most labels wrong", with_tensors(replace_by_random(0.8, 3), "y")),
        ("cars", "one row behind", with_tensors(_with_last, "y")),
    ],
    "sampling": [
        ("figures", "sorted by label", sort_by_label),
        ("households", "one batch again and again", setting(same_batch=1)),
        ("alarms", "two batches again and again", setting(same_batch=2)),
        ("crops", "evaluated by rows it has learned", evaluate_on_training_rows),
    ],
    "overfitting": [
        ("households", "50 rows and 256 units", with_first_rows(50), with_model(lambda: dense(24, 256, 256, 1)),
         setting(steps=160)),
        ("names, in order", "48 names", with_first_rows(48),
         with_model(lambda: Attentive(12, 3, 8, read="mean", depth=2)),
         setting(steps=120)),
        ("alarms", "64 records", with_first_rows(64), with_model(lambda: Memory(torch.nn.LSTM, 5, 2, size=32)),
         setting(steps=200)),
    ],
    "class imbalance": [
        ("loans", "one in sixty does not pay back", with_few(0.04, 1)),
        ("figures", "hardly anything but discs", with_few(0.02, 1, 2, 3), setting(batch=16)),
        ("commands", "one of four is missing", with_few(0.0, 2)),
    ],
    "evaluation data": [
        ("cars", "numbers not standardised for evaluation", _numbers(lambda x: x * 5 + 8)),
        ("figures", "brightness from 0 to 255 for evaluation", with_tensors(lambda x: x * 60 + 60, "x_eval")),
        ("crops", "classes numbered otherwise for evaluation", with_tensors(lambda y: (y + 1) % 7, "y_eval")),
        ("commands", "pitches upside down for evaluation", with_tensors(lambda x: x.flip(2), "x_eval")),
    ],
    "leaking feature": [
        ("households", "the target among the answers", with_leak(7, lambda y: 2 * y[:, 0] - 1)),
    ],
    "not finite": [
        ("cars", "some numbers are missing", _set(float("nan"), rows=slice(5, None, 90), columns=slice(3, 4))),
        ("figures", "a picture with infinite brightness", _set(float("inf"), rows=slice(11, 12))),
        ("gauges", "logarithm of a column with zeros", with_inputs(_logarithm_of_a_column)),
    ],
})  # fmt: skip
