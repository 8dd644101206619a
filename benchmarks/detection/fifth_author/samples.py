"""Faults in what a model is trained on and judged by."""

from __future__ import annotations

import torch
from registry import setting

from fifth_author.parts import stack as layers
from fifth_author.plan import Change, faults, first_rows, inputs, kept, values_of, with_model
from fifth_author.series import Memory
from fifth_author.texts import Attentive


def _mixed(y):
    return y[torch.randperm(len(y))]


def _wrong(share: float, classes: int):
    return lambda y: torch.where(torch.rand(y.shape) < share, torch.randint(0, classes, y.shape), y)


def _rare(share: float, *labels: int) -> Change:
    """Keep only a share of the rows with some labels."""

    def rows(job) -> torch.Tensor:
        of_them = torch.isin(job.y.flatten(), torch.tensor(labels, dtype=job.y.dtype))
        return torch.nonzero(~of_them | (torch.rand(len(job.y)) < share))[:, 0]

    return kept(rows)


def _by_label(job) -> None:
    order = job.y.flatten().argsort()
    job.x, job.y, job.same_batch = job.x[order], job.y[order], len(job.y) // job.batch


def _numbers(values) -> Change:
    """Change the numbers behind the two codes, for evaluation."""

    def change(x):
        x[:, 2:] = values(x[:, 2:])
        return x

    return values_of(change, "x_eval")


def _set(value: float, *, rows: slice, columns: slice = slice(None)) -> Change:
    def change(x):
        x[rows, columns] = value
        return x

    return values_of(change, "x")


def _logarithm_of_a_column(x):
    x[:, 4] = x[:, 4].clamp(min=0).log()
    return x


def _told(column: int, worth) -> Change:
    """Let a column tell the target."""

    def change(job) -> None:
        job.x, job.x_eval = job.x.clone(), job.x_eval.clone()
        for x, y in ((job.x, job.y), (job.x_eval, job.y_eval)):
            x[:, column] = worth(y)

    return change


def _judged_by_what_it_learned(job) -> None:
    job.x_eval, job.y_eval = job.x[:128], job.y[:128]


def _with_last(y):
    return y.roll(1, 0)


faults({
    "inputs": [
        ("concrete", "kilograms and litres as they are", with_model(lambda: layers(8, 32, 32, 1))),
        ("figures, old", "brightness from 0 to 255", inputs(lambda x: (x * 60 + 60).clamp(0, 255))),
        ("power", "use and warmth in plain watts", inputs(lambda x: x * 2000 + 9000)),
        ("plants", "megawatts as they are, and begun at 0", with_model(lambda: layers(4, 32, 32, 1)), setting(lr=1e-3)),
        ("galaxies", "far from the middle", inputs(lambda x: x + 200)),
    ],
    "labels": [
        ("crops", "labels mixed up", values_of(_mixed, "y")),
        ("cell pictures", "masks of other pictures", values_of(_mixed, "y")),
        ("names", "most labels wrong", values_of(_wrong(0.8, 3), "y")),
        ("cars", "one row behind", values_of(_with_last, "y")),
    ],
    "sampling": [
        ("figures", "sorted by label", _by_label),
        ("households", "one batch again and again", setting(same_batch=1)),
        ("alarms", "two batches again and again", setting(same_batch=2)),
        ("crops", "judged by rows it has learned", _judged_by_what_it_learned),
    ],
    "overfitting": [
        ("households", "50 rows and 256 units", first_rows(50), with_model(lambda: layers(24, 256, 256, 1)),
         setting(steps=160)),
        ("names, in order", "48 names", first_rows(48), with_model(lambda: Attentive(12, 3, 8, read="mean", depth=2)),
         setting(steps=120)),
        ("alarms", "64 records", first_rows(64), with_model(lambda: Memory(torch.nn.LSTM, 5, 2, size=32)),
         setting(steps=200)),
    ],
    "class imbalance": [
        ("loans", "one in sixty does not pay back", _rare(0.04, 1)),
        ("figures", "hardly anything but discs", _rare(0.02, 1, 2, 3), setting(batch=16)),
        ("commands", "one of four is missing", _rare(0.0, 2)),
    ],
    "evaluation data": [
        ("cars", "numbers not standardised for evaluation", _numbers(lambda x: x * 5 + 8)),
        ("figures", "brightness from 0 to 255 for evaluation", values_of(lambda x: x * 60 + 60, "x_eval")),
        ("crops", "classes numbered otherwise for evaluation", values_of(lambda y: (y + 1) % 7, "y_eval")),
        ("commands", "pitches upside down for evaluation", values_of(lambda x: x.flip(2), "x_eval")),
    ],
    "leaking feature": [
        ("households", "the target among the answers", _told(7, lambda y: 2 * y[:, 0] - 1)),
    ],
    "not finite": [
        ("cars", "some numbers are missing", _set(float("nan"), rows=slice(5, None, 90), columns=slice(3, 4))),
        ("figures", "a picture with infinite brightness", _set(float("inf"), rows=slice(11, 12))),
        ("gauges", "logarithm of a column with zeros", inputs(_logarithm_of_a_column)),
    ],
})  # fmt: skip
