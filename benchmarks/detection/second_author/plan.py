"""The list of runs by the second author, and short ways to add to it."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import torch
from boosting import BoostingJob, boosting
from jobs import Job
from registry import Registry, setting
from torch import nn

from second_author.tasks import take_steps

SECOND_AUTHOR = Registry("second author", 70_000)
other = SECOND_AUTHOR.other

Change = Callable[[Job], None]
Pair = tuple[torch.Tensor, torch.Tensor]
Prepare = Callable[[torch.Tensor, torch.Tensor], Pair]


def sound(task: str, name: str = "as it should be", change: Change | None = None) -> None:
    """Add a task without a fault, of as many steps as it needs."""
    SECOND_AUTHOR.sound(task, name, _after_steps(change))


def fault(cause: str, name: str, *tasks: str) -> Callable[[Change], Change]:
    """Register a change of a job as a fault, for each of some tasks, of as many steps as they need."""

    def register(change: Change) -> Change:
        SECOND_AUTHOR.fault(cause, name, *tasks)(_after_steps(change))
        return change

    return register


def model_fault(cause: str, name: str, task: str, make_model: Callable[[], nn.Module]) -> None:
    """Register another model as a fault."""
    fault(cause, name, task)(lambda job: setattr(job, "model", make_model()))


def loss_fault(cause: str, name: str, task: str, loss: nn.Module) -> None:
    """Register another loss as a fault."""
    fault(cause, name, task)(setting(loss=loss))


def boosted(cause: str, name: str, kind: str, change: Callable[[BoostingJob], None] | None = None, **more: int) -> None:
    """Add a run of boosted trees."""
    other(cause, f"boosting {kind}: {name}", boosting(kind, SECOND_AUTHOR.next_seed, change, **more))


def with_parameters(**parameters: object) -> Callable[[BoostingJob], None]:
    """Return the change that sets parameters of boosting."""
    return lambda job: job.parameters.update(parameters)


def change_inputs(cause: str, name: str, task: str, change: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """Register a change of the inputs of training and evaluation as a fault."""

    def both(job: Job) -> None:
        job.x, job.x_eval = change(job.x.clone()), change(job.x_eval.clone())

    fault(cause, name, task)(both)


def at(chosen: Callable[[int], bool], change: Prepare) -> Prepare:
    """Return what prepares batches of training, and changes those of chosen steps."""
    steps = itertools.count()

    def prepare(x: torch.Tensor, y: torch.Tensor) -> Pair:
        return change(x, y) if chosen(next(steps)) else (x, y)

    return prepare


def _after_steps(change: Change | None) -> Change:
    def both(job: Job) -> None:
        take_steps(job)
        if change:
            change(job)

    return both
