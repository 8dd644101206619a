"""Faults in the data of training or evaluation."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from harness.boosting import BoostingJob
from harness.parts import FunctionLoss, setting, with_xgboost
from suites.practitioner_faults.losses import MarginLoss
from suites.practitioner_faults.models import (
    Averaged,
    Causal,
    Documents,
    Padded,
    Reshaped,
    Tabular,
)
from suites.practitioner_faults.plan import at_steps, boosted, fault, gans, input_fault, loss_fault, model_fault
from suites.practitioner_faults.tasks import three_layers

# --- inputs ----------------------------------------------------------------------------------------------------------


def _gaps_of_9999(x):
    x[torch.rand(x.shape) < 0.1] = -9999
    return x


input_fault("inputs", "gaps filled with -9999", "series", _gaps_of_9999)
input_fault("inputs", "gaps filled with -9999", "heavy tails", _gaps_of_9999)
input_fault("inputs", "bytes that wrap around", "patches", lambda x: (x * 900).to(torch.uint8) / 128 - 1)
input_fault("inputs", "all words unknown", "documents", torch.ones_like)
input_fault("inputs", "divided by 255 twice more", "segments", lambda x: x / 255**2)
input_fault("inputs", "multiplied instead of divided by the spread", "denoising", lambda x: x * 500)
input_fault("inputs", "a date in days since 1970 beside the features", "heavy tails",
              lambda x: torch.cat([x[:, :5], 2e4 + 365 * torch.rand(len(x), 1)], 1))  # fmt: skip
fault("inputs", "noise 20 times as large as the signal", "patches", "sets")(
    setting(prepare=lambda x, y: (x + 20 * torch.randn_like(x), y))
)
fault("inputs", "features in another order in each batch", "gated")(
    setting(prepare=lambda x, y: (x[:, torch.randperm(x.shape[1])], y))
)


def _all_missing(job: BoostingJob) -> None:
    job.x[:], job.x_valid[:] = np.nan, np.nan


boosted("inputs", "all features missing", "binary", _all_missing)

# --- labels ----------------------------------------------------------------------------------------------------------


@fault("labels", "every other batch has the opposite labels", "tabular", "graphs")
def _(job):
    job.prepare = at_steps(lambda step: step % 2 == 0, lambda x, y: (x, 1 - y))


@fault("labels", "targets made smaller in place, batch by batch", "heavy tails")
def _(job):
    def prepare(x, y):
        job.y.mul_(0.9)
        return x, y

    job.y_eval, job.prepare = job.y_eval.clone(), prepare


@fault("labels", "-999 where a target is missing", "forecast", "ratings")
def _(job):
    job.y = job.y.clone()
    job.y[torch.rand(job.y.shape) < 0.03] = -999


@fault("labels", "from a third of the file on, labels are those of other rows", "series", "sets")
def _(job):
    third = len(job.y) // 3
    job.y = torch.cat([job.y[:third], job.y[third:][torch.randperm(len(job.y) - third)]])


@fault("labels", "masks one image behind", "segments")
def _(job):
    job.y, job.y_eval = job.y.roll(1, 0), job.y_eval.roll(1, 0)


@fault("labels", "preferences of somebody who answers by chance", "preferences")
def _(job):
    job.y = job.y[torch.randperm(len(job.y))]


gans("labels", "points called real by chance", mixed=True)


def _missing_targets(job: BoostingJob) -> None:
    job.y[np.random.default_rng(0).random(len(job.y)) < 0.05] = -999


boosted("labels", "-999 where a target is missing", "regression", _missing_targets)

# --- data ------------------------------------------------------------------------------------------------------------


@fault("overfitting", "a number for each row among the codes", "tabular")
def _(job):
    rows = len(job.x) + len(job.x_eval)
    job.model = Tabular(codes=(6, 10, 4, rows), numbers=5)
    for name, number in (("x", torch.arange(len(job.x))), ("x_eval", torch.arange(len(job.x), rows))):
        codes, numbers = getattr(job, name).split([3, 5], 1)
        setattr(job, name, torch.cat([codes, number[:, None], numbers], 1))
    job.steps, job.lr = 250, 5e-2


@fault("overfitting", "48 rows over and over", "uneven noise", "heavy tails")
def _(job):
    job.x, job.y, job.steps, job.lr = job.x[:48], job.y[:48], 160, 1e-2
    job.model = three_layers(6, job.model[-1].out_features, hidden=128)


@fault("class imbalance", "one in 50 is clicked", "tabular")
def _(job):
    keep = (job.y[:, 0] == 0) | (torch.rand(len(job.y)) < 0.02)
    job.x, job.y = job.x[keep], job.y[keep]


@fault("class imbalance", "labels that articles hardly ever have", "documents")
def _(job):
    job.y = job.y * (torch.rand(job.y.shape) < 0.04)


@fault("class imbalance", "two labels of three are very rare", "series")
def _(job):
    keep = (job.y == 0) | (torch.rand(len(job.y)) < 0.03)
    job.x, job.y = job.x[keep], job.y[keep]


@fault("sampling", "the same batch again and again after 15 steps", "documents", "tabular")
def _(job):
    job.prepare = at_steps(lambda step: step >= 15, lambda *_: (job.x[:32], job.y[:32]))


@fault("sampling", "each batch of one class", "series", "sets")
def _(job):
    def prepare(*_):
        rows = torch.nonzero(job.y == torch.randint(3, ()))[:32, 0]
        return job.x[rows], job.y[rows]

    job.prepare = prepare


boosted("sampling", "one row in 100 to a tree", "classes", with_xgboost(subsample=0.01))


def _twelve_deep(job: BoostingJob) -> None:
    rng = np.random.default_rng(0)
    job.y, job.y_valid = (y + 2 * rng.normal(size=len(y)) for y in (job.y, job.y_valid))
    job.parameters |= {"max_depth": 12, "eta": 0.5, "lambda": 0, "min_child_weight": 0}


def _two_rare_classes(job: BoostingJob) -> None:
    keep = (job.y == 1) | (np.random.default_rng(0).random(len(job.y)) < 0.03)
    job.x, job.y = job.x[keep], job.y[keep]


def _opposite(job: BoostingJob) -> None:
    job.y_valid = 1 - job.y_valid


boosted("overfitting", "depth of 12 and much noise", "regression", _twelve_deep)
boosted("class imbalance", "two classes of three are very rare", "classes", _two_rare_classes)
boosted("evaluation data", "labels of validation the other way round", "binary", _opposite)

# --- leaks -----------------------------------------------------------------------------------------------------------

model_fault("leaking feature", "a forecast that sees the next value", "forecast", lambda: Causal(ahead=1))


@fault("leaking feature", "what is to be written is read", "translation")
def _(job):
    job.x, job.x_eval = (torch.cat([x[:, :4], y], 1) for x, y in ((job.x, job.y), (job.x_eval, job.y_eval)))


@fault("leaking feature", "the words to predict are those that are read", "language")
def _(job):
    job.y, job.y_eval = job.x, job.x_eval


@fault("leaking feature", "the click among the features", "tabular")
def _(job):
    job.x, job.x_eval = job.x.clone(), job.x_eval.clone()
    job.x[:, 7], job.x_eval[:, 7] = job.y[:, 0] * 3, job.y_eval[:, 0] * 3


def _sorted_with_numbers(job: BoostingJob) -> None:
    for x, y in ((job.x, job.y), (job.x_valid, job.y_valid)):
        order = np.argsort(y, kind="stable")
        x[:], y[:] = x[order], y[order]
        x[:, 4] = np.arange(len(x)) / len(x)


boosted("leaking feature", "row numbers of a sorted table", "classes", _sorted_with_numbers)

# --- evaluation ------------------------------------------------------------------------------------------------------

OTHER_WORDS = torch.randperm(12, generator=torch.Generator().manual_seed(0))


@fault("evaluation data", "codes of evaluation numbered otherwise", "tabular")
def _(job):
    for column, size in enumerate((6, 10, 4)):
        job.x_eval[:, column] = size - 1 - job.x_eval[:, column]


@fault("evaluation data", "items of evaluation one further", "ratings")
def _(job):
    job.x_eval = torch.stack([job.x_eval[:, 0], (job.x_eval[:, 1] + 1) % 30], 1)


@fault("evaluation data", "series of evaluation not scaled", "forecast")
def _(job):
    job.x_eval, job.y_eval = job.x_eval * 12 + 40, job.y_eval * 12 + 40


@fault("evaluation data", "texts of evaluation in another language", "language")
def _(job):
    job.x_eval, job.y_eval = OTHER_WORDS[job.x_eval], OTHER_WORDS[job.y_eval]


@fault("evaluation data", "images of evaluation upside down in brightness", "patches")
def _(job):
    job.x_eval = 1.5 - job.x_eval


def _columns_swapped(job: BoostingJob) -> None:
    job.x_valid = job.x_valid[:, ::-1]


boosted("evaluation data", "columns of validation in another order", "regression", _columns_swapped)

# --- modes -----------------------------------------------------------------------------------------------------------


@fault("wrong mode", "evaluated with dropout", "tabular", "documents")
def _(job):
    job.model = Tabular(drop=0.7) if job.task == "tabular" else Documents(drop=0.7)
    job.eval_mode, job.lr, job.steps = False, 1e-2, 140


model_fault("wrong mode", "evaluated with an average that has not moved", "averaged",
            lambda: Averaged(three_layers(8, 4), decay=0.9999))  # fmt: skip


@fault("wrong mode", "dropout that does not know of modes", "stack")
def _(job):
    job.model.selu.register_forward_hook(lambda _, __, output: functional.dropout(output, 0.5))


# --- not finite ------------------------------------------------------------------------------------------------------


@fault("not finite", "root of a distance of zero", "siamese")
def _(job):
    job.loss = MarginLoss(epsilon=0.0)
    job.x = job.x.clone()
    job.x[::40, 1] = job.x[::40, 0]


loss_fault("not finite", "logarithms of rates that may be negative", "counts", nn.PoissonNLLLoss(log_input=False))


def _of_each_class(scores, y):
    share, of_class = scores.softmax(1), functional.one_hot(y, 3)
    return -(of_class * share.log() + (1 - of_class) * (1 - share).log()).sum(1).mean()


@fault("not finite", "logarithm of what is left when it is certain", "padded")
def _(job):
    job.loss, job.lr, job.steps = FunctionLoss(_of_each_class), 1e-2, 160


@fault("not finite", "texts without words", "padded")
def _(job):
    job.model, job.x = Padded(least=0), job.x.clone()
    job.x[::60] = 0


@fault("not finite", "divided by the spread of series that do not change", "series")
def _(job):
    job.x = job.x.clone()
    job.x[::50, 1] = 0
    job.x = (job.x - job.x.mean(2, keepdim=True)) / job.x.std(2, keepdim=True)


@fault("not finite", "numbers of 16 bits", "denoising")
def _(job):
    job.model = Reshaped(job.model, lambda output: (output * 2e5).half().float() / 2e5)


@fault("not finite", "variances overflow", "vae")
def _(job):
    nn.init.constant_(job.model.spread.bias, 90)
