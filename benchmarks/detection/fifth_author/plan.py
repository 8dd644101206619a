"""The list of runs by the fifth author, and short ways to add to it and to change a job."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from boosting import BoostingJob, boosting
from jobs import OPTIMIZERS, TASKS, Job
from registry import Registry
from torch import nn

from fifth_author.amounts import AMOUNT_TASKS
from fifth_author.making import MAKING_TASKS
from fifth_author.pairs import PAIR_TASKS
from fifth_author.parts import Task
from fifth_author.pictures import PICTURE_TASKS
from fifth_author.series import SERIES_TASKS
from fifth_author.tables import TABLE_TASKS
from fifth_author.texts import TEXT_TASKS

FIFTH_AUTHOR = Registry("fifth author", 130_000)
other = FIFTH_AUTHOR.other

Change = Callable[[Job], None]
Values = Callable[[torch.Tensor], torch.Tensor]

FIFTH_TASKS: dict[str, Task] = {
    **TABLE_TASKS,
    **AMOUNT_TASKS,
    **PICTURE_TASKS,
    **SERIES_TASKS,
    **TEXT_TASKS,
    **PAIR_TASKS,
    **MAKING_TASKS,
}
TASKS |= {name: (each.data, each.model, each.loss) for name, each in FIFTH_TASKS.items()}
OPTIMIZERS |= {
    "nesterov momentum": functools.partial(torch.optim.SGD, momentum=0.9, nesterov=True),
    "adam with largest squares": functools.partial(torch.optim.Adam, amsgrad=True),
    "nesterov adam": torch.optim.NAdam,
    "rectified adam": torch.optim.RAdam,
    "adam by largest": torch.optim.Adamax,
    "adam of transformers": functools.partial(torch.optim.AdamW, betas=(0.9, 0.98), eps=1e-9),
    "adam with epsilon 100": functools.partial(torch.optim.Adam, eps=100.0),
    "almost all momentum": functools.partial(torch.optim.SGD, momentum=0.999),
}

# --- what is added ---------------------------------------------------------------------------------------------------


def together(*changes: Change) -> Change:
    """Return the change that makes several, one after the other."""

    def change(job: Job) -> None:
        for each in changes:
            each(job)

    return change


def as_trained(job: Job) -> None:
    """Train a job as its task is trained."""
    for name, value in FIFTH_TASKS[job.task].how.items():
        setattr(job, name, value)


def sound(task: str, name: str = "as it should be", *changes: Change) -> None:
    """Add a job without a fault."""
    FIFTH_AUTHOR.sound(task, name, together(as_trained, *changes))


def fault(cause: str, task: str, name: str, *changes: Change) -> None:
    """Add a job with a fault."""
    FIFTH_AUTHOR.fault(cause, name, task)(together(as_trained, *changes))


def faults(table: dict[str, list[tuple[Any, ...]]]) -> None:
    """Add jobs by the cause of their fault: task, name, and the changes that make it."""
    for cause, jobs in table.items():
        for task, name, *changes in jobs:
            fault(cause, task, name, *changes)


def boosted(cause: str, kind: str, name: str, *changes: Callable[[BoostingJob], None], rows: int = 1200) -> None:
    """Add a run of boosted trees."""

    def change(job: BoostingJob) -> None:
        for each in changes:
            each(job)

    other(cause, f"boosting, {kind}: {name}", boosting(kind, FIFTH_AUTHOR.next_seed, change, rows))


# --- changes of jobs -------------------------------------------------------------------------------------------------


def with_model(make: Callable[[], nn.Module]) -> Change:
    """Train another model."""
    return lambda job: setattr(job, "model", make())


def ending_in(*last: nn.Module) -> Change:
    """Put something behind the model."""
    return lambda job: setattr(job, "model", nn.Sequential(job.model, *last))


def values_of(values: Values, *names: str) -> Change:
    """Change tensors of the job, such as the inputs for evaluation, by what is made of them."""

    def change(job: Job) -> None:
        for name in names:
            setattr(job, name, values(getattr(job, name).clone()))

    return change


def inputs(values: Values) -> Change:
    """Change the inputs of training and evaluation."""
    return values_of(values, "x", "x_eval")


def targets(values: Values) -> Change:
    """Change the targets of training and evaluation."""
    return values_of(values, "y", "y_eval")


def kept(rows: Callable[[Job], torch.Tensor]) -> Change:
    """Train on some rows only, or on rows in another order."""

    def change(job: Job) -> None:
        chosen = rows(job)
        job.x, job.y = job.x[chosen], job.y[chosen]

    return change


def first_rows(count: int) -> Change:
    """Train on a few rows only."""
    return kept(lambda _: torch.arange(count))


def filled(make: Callable[[torch.Tensor], object], *named: str) -> Change:
    """Set parameters in place: those whose name has one of some texts, or all with two dimensions or more."""

    def change(job: Job) -> None:
        with torch.no_grad():
            for name, parameter in job.model.named_parameters():
                if any(text in name for text in named) or (not named and parameter.ndim > 1):
                    make(parameter)

    return change


def updated(*named: str) -> Change:
    """Give the optimizer only those parameters whose name begins with one of some texts."""
    return lambda job: setattr(
        job, "trained", lambda model: (p for name, p in model.named_parameters() if name.startswith(named))
    )


def frozen(*named: str) -> Change:
    """Let no gradient reach parameters whose name begins with one of some texts."""

    def change(job: Job) -> None:
        for name, parameter in job.model.named_parameters():
            if name.startswith(named):
                parameter.requires_grad_(False)

    return change
