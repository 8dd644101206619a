"""What several suites share: changes of jobs, small modules, and preparation of data.

A change is a function that alters a job in place before it is trained. Functions named `with_…` return one.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import torch
from torch import nn

from harness.boosting import BoostingJob
from harness.jobs import Job

AnyJob = TypeVar("AnyJob")
Change = Callable[[Job], None]
BoostingChange = Callable[[BoostingJob], None]
Values = Callable[[torch.Tensor], torch.Tensor]

# --- changes of any job ----------------------------------------------------------------------------------------------


def setting(**values: object) -> Callable[[object], None]:
    """Return the change that sets attributes of a job."""

    def change(job: object) -> None:
        for name, value in values.items():
            setattr(job, name, value)

    return change


def combine(*changes: Callable[[AnyJob], None]) -> Callable[[AnyJob], None]:
    """Return the change that applies several changes in order."""

    def change_all(job: AnyJob) -> None:
        for change in changes:
            change(job)

    return change_all


def with_xgboost(**parameters: object) -> BoostingChange:
    """Return the change that sets parameters of XGBoost."""
    return lambda job: job.parameters.update(parameters)


# --- changes of data -------------------------------------------------------------------------------------------------


def with_tensors(values: Values, *names: str) -> Change:
    """Replace tensors of the job, such as ``x_eval``, by a function of a copy of them."""

    def change(job: Job) -> None:
        for name in names:
            setattr(job, name, values(getattr(job, name).clone()))

    return change


def with_inputs(values: Values) -> Change:
    """Replace the inputs of training and evaluation by a function of them."""
    return with_tensors(values, "x", "x_eval")


def with_targets(values: Values) -> Change:
    """Replace the targets of training and evaluation by a function of them."""
    return with_tensors(values, "y", "y_eval")


def with_rows(choose: Callable[[Job], torch.Tensor]) -> Change:
    """Train on the chosen rows, in the chosen order."""

    def change(job: Job) -> None:
        rows = choose(job)
        job.x, job.y = job.x[rows], job.y[rows]

    return change


def with_first_rows(count: int) -> Change:
    """Train on the first rows only."""
    return with_rows(lambda _: torch.arange(count))


def with_few(share: float, *labels: int) -> Change:
    """Train on only a share of the rows that have one of these labels."""

    def choose(job: Job) -> torch.Tensor:
        has_label = torch.isin(job.y.flatten(), torch.tensor(labels, dtype=job.y.dtype))
        return torch.nonzero(~has_label | (torch.rand(len(job.y)) < share))[:, 0]

    return with_rows(choose)


def with_leak(column: int, values: Values) -> Change:
    """Overwrite a column of the inputs by a function of the targets."""

    def change(job: Job) -> None:
        job.x, job.x_eval = job.x.clone(), job.x_eval.clone()
        for x, y in ((job.x, job.y), (job.x_eval, job.y_eval)):
            x[:, column] = values(y).to(x.dtype)

    return change


def sort_by_label(job: Job) -> None:
    """Sort the training rows by label, and take batches in this order."""
    order = job.y.flatten().argsort()
    job.x, job.y, job.same_batch = job.x[order], job.y[order], len(job.y) // job.batch


def evaluate_on_training_rows(job: Job) -> None:
    """Evaluate on the first 128 rows of training."""
    job.x_eval, job.y_eval = job.x[:128], job.y[:128]


def permute(y: torch.Tensor) -> torch.Tensor:
    """Return the rows in random order."""
    return y[torch.randperm(len(y))]


def replace_by_random(share: float, classes: int) -> Values:
    """Return the function that replaces a share of the labels by random ones."""
    return lambda y: torch.where(torch.rand(y.shape) < share, torch.randint(0, classes, y.shape).to(y.dtype), y)


# --- changes of models -----------------------------------------------------------------------------------------------


def with_model(make: Callable[[], nn.Module]) -> Change:
    """Train another model."""
    return lambda job: setattr(job, "model", make())


def with_output(*last: nn.Module) -> Change:
    """Append modules to the model."""
    return lambda job: setattr(job, "model", nn.Sequential(job.model, *last))


def with_weights(edit: Callable[[torch.Tensor], object], *texts: str) -> Change:
    """Edit parameters in place: those whose name contains one of the texts, or else all of two or more dimensions."""

    def change(job: Job) -> None:
        with torch.no_grad():
            for name, parameter in job.model.named_parameters():
                if any(text in name for text in texts) or (not texts and parameter.ndim > 1):
                    edit(parameter)

    return change


def with_gate(number: int, size: int, value: float) -> Change:
    """Fill the input biases of one gate of a recurrent layer named ``cell``."""
    return with_weights(lambda bias: bias[number * size : (number + 1) * size].fill_(value), "cell.bias_ih")


def with_frozen(*prefixes: str) -> Change:
    """Freeze the parameters whose name begins with one of the prefixes."""

    def change(job: Job) -> None:
        for name, parameter in job.model.named_parameters():
            if name.startswith(prefixes):
                parameter.requires_grad_(False)

    return change


def with_optimized(*prefixes: str) -> Change:
    """Give the optimizer only the parameters whose name begins with one of the prefixes."""
    return setting(trained=lambda model: (p for name, p in model.named_parameters() if name.startswith(prefixes)))


def with_detached(layer: str) -> Change:
    """Detach the output of a layer."""
    return lambda job: job.model.get_submodule(layer).register_forward_hook(lambda _, __, output: output.detach())


def optimize_a_copy(job: Job) -> None:
    """Give the optimizer the parameters of a copy of the model."""
    job.trained = lambda model: copy.deepcopy(model).parameters()


# --- modules ---------------------------------------------------------------------------------------------------------


class FunctionLoss(nn.Module):
    """A loss that is a function of output and target.

    Suites subclass it where the loss has another name there: the class name is part of the names of saved tensors.
    """

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, output, y):
        return self.function(output, y)


class Apply(nn.Module):
    """A function as a layer."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def dense(*sizes: int, act=nn.ReLU, norm=None, drop: float = 0.0, last: Sequence[nn.Module] = ()) -> nn.Sequential:
    """Return fully connected layers.

    Args:
        *sizes: Number of inputs, of units in each hidden layer, and of outputs.
        act: Makes the activation after each hidden layer.
        norm: Makes the normalisation before each activation, from a size. Default: no normalisation.
        drop: Dropout after each activation.
        last: Modules after the last layer.
    """
    layers = []
    for inputs, outputs in itertools.pairwise(sizes[:-1]):
        layers += [nn.Linear(inputs, outputs), *([norm(outputs)] if norm else []), act()]
        layers += [nn.Dropout(drop)] if drop else []
    return nn.Sequential(*layers, nn.Linear(*sizes[-2:]), *last)


def reshape_instead_of_transpose(scores: torch.Tensor) -> torch.Tensor:
    """Return scores of shape (N, C, T) as (N, C, T) with values in the wrong places."""
    return scores.transpose(1, 2).reshape(scores.shape)


def train_classifier(model: nn.Module, x: torch.Tensor, y: torch.Tensor, *, steps: int, batch: int = 32) -> nn.Module:
    """Train a classifier by Adam at 0.005, without a hook, and return it."""
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)
    for _ in range(steps):
        rows = torch.randint(0, len(x), (batch,))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.step()
    return model


# --- data ------------------------------------------------------------------------------------------------------------


def standardize(x: np.ndarray) -> np.ndarray:
    """Return columns of mean 0 and standard deviation 1."""
    return ((x - x.mean(0)) / x.std(0)).astype(np.float32)


def column(y: np.ndarray) -> np.ndarray:
    """Return one number for each sample, of shape (N, 1)."""
    return np.asarray(y, np.float32).reshape(len(y), -1)
