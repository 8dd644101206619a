"""Runs drawn at random: the task, the fault, its severity, and the settings of sound jobs.

The kinds of faults are those of `development` and `published_fault_operators`, and a few more. Tasks come from both;
severities come from wide ranges. So these runs show how far the rules hold beyond the cases that people wrote down.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from harness.boosting import BoostingJob
from harness.jobs import Job, Mlp
from harness.parts import setting, with_xgboost
from harness.registry import Registry
from suites import development, published_fault_operators  # noqa: F401 - they add tasks

SEED, NUM_FAULTS, NUM_SOUND = 2026, 104, 70

RANDOM_DRAWS = Registry("random_draws", 40_000)

OF_CLASSES = ["mlp", "mlp_tanh", "mlp_norm", "mlp_deep", "cnn", "cnn_plain", "rnn", "gru", "lstm", "transformer",
              "transformer_drop", "residual", "residual cnn", "two-layer gru", "two blocks",
              "smoothed labels"]  # fmt: skip
OF_NUMBERS = ["regression", "huber", "absolute error"]
OF_FLOATS = [task for task in [*OF_CLASSES, *OF_NUMBERS] if "transformer" not in task and "blocks" not in task]
ANY = [*OF_CLASSES, *OF_NUMBERS, "yes or no", "several labels", "two classes", "tagger"]
WITH_RELU = ["mlp", "mlp_norm", "regression"]
WITH_CLASSES_TO_SPARE = ["mlp", "mlp_tanh", "cnn", "transformer", "residual", "two blocks"]
WITH_MODES = ["mlp_norm", "cnn", "transformer_drop", "huber"]

Change = Callable[[Job], None]
Kind = tuple[str, str, list[str], Callable[[np.random.Generator], Change]]


class Squashed(nn.Module):
    """A model with an activation after its output."""

    def __init__(self, model: nn.Module, activation: nn.Module) -> None:
        super().__init__()
        self.model, self.activation = model, activation

    def forward(self, x):
        return self.activation(self.model(x))


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    """Draw a number with a log-uniform distribution."""
    return float(np.exp(rng.uniform(math.log(low), math.log(high))))


def _too_fast(rng):
    factor = _between(rng, 40, 1000)
    return lambda job: setattr(job, "lr", job.lr * factor)


def _too_slow(rng):
    factor = _between(rng, 3e3, 1e6)
    return lambda job: setattr(job, "lr", job.lr / factor)


def _mixed_labels(rng):
    share = rng.uniform(0.8, 1)

    def change(job):
        rows = torch.nonzero(torch.rand(len(job.y)) < share)[:, 0]
        job.y = job.y.clone()
        job.y[rows] = job.y[rows[torch.randperm(len(rows))]]

    return change


def _scaled_weights(rng):
    factor = _between(rng, 20, 200) if rng.random() < 0.5 else 1 / _between(rng, 100, 10_000)

    def change(job):
        with torch.no_grad():
            for parameter in job.model.parameters():
                parameter.mul_(factor if parameter.ndim > 1 else 1)

    return change


def _equal_weights(rng):
    value = rng.choice([0.0, 0.05, 0.3])

    def change(job):
        for parameter in job.model.parameters():
            nn.init.constant_(parameter, float(value))

    return change


def _scaled_inputs(rng):
    factor = _between(rng, 50, 5000) if rng.random() < 0.6 else 1 / _between(rng, 3e3, 1e6)

    def change(job):
        job.x, job.x_eval = job.x * factor, job.x_eval * factor

    return change


def _shifted_inputs(rng):
    offset = _between(rng, 30, 1000)

    def change(job):
        job.x, job.x_eval = job.x + offset, job.x_eval + offset

    return change


def _large_targets(rng):
    factor = _between(rng, 30, 3000)

    def change(job):
        job.y, job.y_eval = job.y * factor, job.y_eval * factor

    return change


def _squashed_scores(rng):
    activation = [nn.Softmax(dim=1), nn.Sigmoid(), nn.Tanh(), nn.ReLU(), nn.Hardtanh()][rng.integers(5)]
    return lambda job: setattr(job, "model", Squashed(job.model, activation))


def _squashed_numbers(rng):
    activation = [nn.Sigmoid(), nn.Tanh(), nn.ReLU()][rng.integers(3)]
    return lambda job: setattr(job, "model", Squashed(job.model, activation))


def _left_out(rng):
    which = rng.random()

    def change(job):
        weights = [p for p in job.model.parameters() if p.ndim > 1]
        chosen = weights[int(which * len(weights))]
        job.trained = lambda model: (p for p in model.parameters() if p is not chosen)

    return change


def _not_reset(rng):
    return setting(zero_every=int(rng.choice([0, 4, 10, 16])), optimizer=str(rng.choice(["sgd", "momentum"])), lr=0.01)


def _dropped(rng):
    share = rng.uniform(0.85, 0.97)

    def change(job):
        job.model = Mlp(job.x.shape[1], outputs=1 if job.task == "regression" else 4, drop=share)

    return change


def _decayed(rng):
    return setting(optimizer="sgd", lr=0.05, weight_decay=_between(rng, 1.5, 8))


def _dead(rng):
    bias = -_between(rng, 15, 100)

    def change(job):
        with torch.no_grad():
            job.model.fc0.bias.fill_(bias) if not hasattr(job.model, "bn0") else job.model.bn0.bias.fill_(bias)

    return change


def _not_finite(rng):
    share, value = rng.uniform(0.02, 0.2), float(rng.choice([math.nan, math.inf]))

    def change(job):
        job.x = job.x.clone()
        job.x[torch.rand(len(job.x)) < share] = value

    return change


def _few_samples(rng):
    number = int(rng.integers(32, 49))

    def change(job):
        job.x, job.y = job.x[:number], job.y.roll(3, 0)[:number]
        job.lr = job.lr * 2

    return change


def _rare_class(rng):
    share = rng.uniform(0.0, 0.06)

    def change(job):
        keep = (job.y != 1) | (torch.rand(len(job.y)) < share)
        job.x, job.y = job.x[keep], job.y[keep]

    return change


def _same_batches(rng):
    return setting(same_batch=int(rng.integers(1, 4)))


def _sorted(_):
    def change(job):
        order = torch.argsort(job.y)
        job.x, job.y, job.same_batch = job.x[order], job.y[order], len(job.y) // job.batch

    return change


def _overlap(rng):
    number = int(rng.integers(40, 129))

    def change(job):
        job.x_eval, job.y_eval = job.x_eval.clone(), job.y_eval.clone()
        job.x_eval[:number], job.y_eval[:number] = job.x[:number], job.y[:number]

    return change


def _other_evaluation(rng):
    factor, offset = _between(rng, 6, 100), rng.uniform(1.5, 5)
    scales = rng.random() < 0.5

    def change(job):
        job.x_eval = job.x_eval * factor if scales else job.x_eval + offset

    return change


def _renamed_classes(_):
    return lambda job: setattr(job, "y_eval", (job.y_eval + 1) % (int(job.y.max()) + 1))


def _no_modes(rng):
    kind = rng.integers(3)
    if kind == 0:
        return setting(eval_mode=False)
    return setting(train_mode=(lambda _: False) if kind == 1 else (lambda step: step < 28))


KINDS: list[Kind] = [
    ("learning rate too high", "rate multiplied", ANY, _too_fast),
    ("learning rate too low", "rate divided", ANY, _too_slow),
    ("labels", "labels mixed", OF_CLASSES, _mixed_labels),
    ("initialisation", "weights scaled", OF_FLOATS, _scaled_weights),
    ("initialisation", "weights equal", ANY, _equal_weights),
    ("inputs", "inputs scaled", OF_FLOATS, _scaled_inputs),
    ("inputs", "inputs shifted", OF_FLOATS, _shifted_inputs),
    ("inputs", "targets scaled", OF_NUMBERS, _large_targets),
    ("loss or output", "scores squashed", OF_CLASSES, _squashed_scores),
    ("loss or output", "numbers squashed", OF_NUMBERS, _squashed_numbers),
    ("parameters not trained", "a weight left out", ANY, _left_out),
    ("gradients not reset", "gradients not reset", ANY, _not_reset),
    ("regularisation", "dropout", ["mlp", "mlp_norm", "regression"], _dropped),
    ("regularisation", "weight decay", ANY, _decayed),
    ("dead units", "biases far below zero", WITH_RELU, _dead),
    ("not finite", "inputs not finite", OF_FLOATS, _not_finite),
    ("overfitting", "few samples", OF_CLASSES, _few_samples),
    ("class imbalance", "a rare class", WITH_CLASSES_TO_SPARE, _rare_class),
    ("sampling", "few batches", ANY, _same_batches),
    ("sampling", "data sorted", OF_CLASSES, _sorted),
    ("sampling", "evaluated on training data", ANY, _overlap),
    ("evaluation data", "evaluation prepared otherwise", OF_FLOATS, _other_evaluation),
    ("evaluation data", "classes of evaluation renamed", OF_CLASSES, _renamed_classes),
    ("wrong mode", "layers in the wrong mode", WITH_MODES, _no_modes),
]


def _draw_boosting(rng: np.random.Generator, number: int) -> None:
    kind = str(rng.choice(["binary", "classes"]))
    factor, which = _between(rng, 1, 10), int(rng.integers(4))

    def leak(job: BoostingJob) -> None:
        job.x[:, 1], job.x_valid[:, 1] = job.y, job.y_valid

    def mix(job: BoostingJob) -> None:
        job.y = np.random.default_rng(number).permutation(job.y)

    changes: list[tuple[str, str, Callable[[BoostingJob], None]]] = [
        ("leaking feature", "a feature is the label", leak),
        ("labels", "labels mixed", mix),
        ("learning rate too low", "eta tiny", lambda job: job.parameters.update(eta=1e-4 * factor)),
        ("overfitting", "deep trees", lambda job: job.parameters.update({"max_depth": 9, "eta": 0.7, "lambda": 0.01})),
    ]
    cause, name, change = changes[which]
    RANDOM_DRAWS.boosted(cause, f"{number}: boosting {kind}, {name}", kind, change)


def _draw_replicas(rng: np.random.Generator, number: int) -> None:
    which = int(rng.integers(3))
    settings = [{"sync": "none"}, {"sync": "by hand", "skip": int(rng.integers(5, 30))}, {"same_data": True}][which]
    task = str(rng.choice(["mlp", "gru", "cnn"]))
    cause = "sampling" if which == 2 else "replicas"
    RANDOM_DRAWS.replicas(cause, f"{number}: replicas of {task}, {settings}", task=task, **settings)


def _draw_sound(rng: np.random.Generator, number: int) -> None:
    if rng.random() < 0.15:
        kind = str(rng.choice(["binary", "classes", "regression"]))
        eta, depth = rng.uniform(0.05, 0.3), int(rng.integers(2, 5))
        RANDOM_DRAWS.boosted("", f"{number}: boosting {kind}", kind, with_xgboost(eta=eta, max_depth=depth), rows=600)
        return
    if rng.random() < 0.05:
        RANDOM_DRAWS.replicas("", f"{number}: replicas", task=str(rng.choice(["mlp", "gru"])))
        return
    task = str(rng.choice([*ANY, "autoencoder", "hard"]))
    factor, batch, clip = _between(rng, 0.5, 2), int(rng.choice([16, 32, 64])), rng.choice([0.0, 1.0, 5.0])
    rate = [lambda _: 1.0, lambda step: min(1, (step + 1) / 8), lambda step: math.cos(step / 50)][rng.integers(3)]
    optimizer, decay = str(rng.choice(["adam", "adam", "adamw"])), float(rng.choice([0, 1e-4, 1e-3]))

    def change(job: Job) -> None:
        job.lr, job.batch, job.clip, job.rate = job.lr * factor, batch, float(clip) or None, rate
        job.optimizer, job.weight_decay = optimizer, decay

    RANDOM_DRAWS.sound(task, f"{number}: rate times {factor:.2g}, batches of {batch}", change)


def draw() -> None:
    """Register all runs."""
    rng = np.random.default_rng(SEED)
    for number in range(NUM_FAULTS):
        which = number % (len(KINDS) + 2)  # each kind as often as the others
        if which < len(KINDS):
            cause, name, tasks, make_change = KINDS[which]
            task, change = str(rng.choice(tasks)), make_change(rng)
            RANDOM_DRAWS.fault(cause, f"{number}: {name}", task)(change)
        elif which == len(KINDS):
            _draw_boosting(rng, number)
        else:
            _draw_replicas(rng, number)
    for number in range(NUM_SOUND):
        _draw_sound(rng, number)


draw()
