"""The list of runs by the third author, and short ways to add to it and to change a job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from boosting import BoostingJob, boosting
from jobs import Job
from registry import Registry
from torch import nn

from third_author.tasks import as_usual

THIRD_AUTHOR = Registry("third author", 90_000)
other = THIRD_AUTHOR.other

Change = Callable[[Job], None]
Values = Callable[[torch.Tensor], torch.Tensor]
Faults = dict[str, list[tuple[Any, ...]]]
"""Of each cause the jobs that have it: task, name of the fault, and the changes that make it."""

# --- what is added ---------------------------------------------------------------------------------------------------


def sound(task: str, name: str = "as it should be", *changes: Change) -> None:
    """Add a job without a fault."""
    THIRD_AUTHOR.sound(task, name, _all(as_usual, *changes))


def faults(table: Faults) -> None:
    """Add jobs with a fault."""
    for cause, jobs in table.items():
        for task, name, *changes in jobs:
            THIRD_AUTHOR.fault(cause, name, task)(_all(as_usual, *changes))


def boosted(cause: str, kind: str, name: str, change: Callable[[BoostingJob], None] | None = None, **more: int) -> None:
    """Add a run of boosted trees."""
    other(cause, f"boosting, {kind}: {name}", boosting(kind, THIRD_AUTHOR.next_seed, change, **more))


def with_parameters(**parameters: object) -> Callable[[BoostingJob], None]:
    """Return the change that sets parameters of boosting."""
    return lambda job: job.parameters.update(parameters)


def _all(*changes: Change) -> Change:
    def change(job: Job) -> None:
        for each in changes:
            each(job)

    return change


# --- changes of jobs -------------------------------------------------------------------------------------------------


def model(make: Callable[[], nn.Module]) -> Change:
    """Use another model."""
    return lambda job: setattr(job, "model", make())


def after(final: nn.Module) -> Change:
    """Apply something to the output of the model."""
    return lambda job: setattr(job, "model", nn.Sequential(job.model, final))


def inputs(values: Values) -> Change:
    """Change all inputs."""

    def change(job: Job) -> None:
        job.x, job.x_eval = values(job.x.clone()), values(job.x_eval.clone())

    return change


def train_inputs(values: Values) -> Change:
    """Change the inputs of training."""
    return lambda job: setattr(job, "x", values(job.x.clone()))


def eval_inputs(values: Values) -> Change:
    """Change the inputs of evaluation."""
    return lambda job: setattr(job, "x_eval", values(job.x_eval.clone()))


def targets(values: Values) -> Change:
    """Change all targets."""

    def change(job: Job) -> None:
        job.y, job.y_eval = values(job.y.clone()), values(job.y_eval.clone())

    return change


def train_targets(values: Values) -> Change:
    """Change the targets of training."""
    return lambda job: setattr(job, "y", values(job.y.clone()))


def eval_targets(values: Values) -> Change:
    """Change the targets of evaluation."""
    return lambda job: setattr(job, "y_eval", values(job.y_eval.clone()))


def rows(chosen: Callable[[Job], torch.Tensor]) -> Change:
    """Train on some rows only, or on rows in another order."""

    def change(job: Job) -> None:
        which = chosen(job)
        job.x, job.y = job.x[which], job.y[which]

    return change


def rare(share: float, *labels: int) -> Change:
    """Train on only a share of the rows with some labels."""

    def chosen(job: Job) -> torch.Tensor:
        of_them = torch.isin(job.y.reshape(len(job.y)), torch.tensor(labels, dtype=job.y.dtype))
        return torch.nonzero(~of_them | (torch.rand(len(job.y)) < share))[:, 0]

    return rows(chosen)


def parameters(make: Callable[[torch.Tensor], object], named: str = "") -> Change:
    """Change parameters in place, of those whose name has a text."""

    def change(job: Job) -> None:
        with torch.no_grad():
            for name, parameter in job.model.named_parameters():
                if named in name:
                    make(parameter)

    return change


def weights(make: Callable[[torch.Tensor], object]) -> Change:
    """Change parameters in place, but for those with one dimension: biases and those of normalisation."""
    return parameters(lambda parameter: make(parameter) if parameter.ndim > 1 else None)


def optimized(*named: str) -> Change:
    """Give the optimizer only parameters whose names begin with some text."""
    return lambda job: setattr(
        job, "trained", lambda model: (p for name, p in model.named_parameters() if name.startswith(named))
    )


def frozen(*named: str) -> Change:
    """Freeze parameters whose names begin with some text."""

    def change(job: Job) -> None:
        for name, parameter in job.model.named_parameters():
            if name.startswith(named):
                parameter.requires_grad_(False)

    return change
