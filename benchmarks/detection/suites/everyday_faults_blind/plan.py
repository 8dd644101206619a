"""The runs of this suite, and functions that add to them."""

from __future__ import annotations

import functools

import torch

from harness.jobs import OPTIMIZERS, TASKS, Job
from harness.parts import BoostingChange, combine
from harness.registry import Registry
from suites.everyday_faults_blind.amounts import AMOUNT_TASKS
from suites.everyday_faults_blind.making import MAKING_TASKS
from suites.everyday_faults_blind.pairs import PAIR_TASKS
from suites.everyday_faults_blind.parts import Task
from suites.everyday_faults_blind.pictures import PICTURE_TASKS
from suites.everyday_faults_blind.series import SERIES_TASKS
from suites.everyday_faults_blind.tables import TABLE_TASKS
from suites.everyday_faults_blind.texts import TEXT_TASKS

OWN_TASKS: dict[str, Task] = {
    **TABLE_TASKS,
    **AMOUNT_TASKS,
    **PICTURE_TASKS,
    **SERIES_TASKS,
    **TEXT_TASKS,
    **PAIR_TASKS,
    **MAKING_TASKS,
}
TASKS |= {name: (task.data, task.model, task.loss) for name, task in OWN_TASKS.items()}
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


def set_training(job: Job) -> None:
    """Set the attributes of a job that its task declares, such as the learning rate."""
    for name, value in OWN_TASKS[job.task].settings.items():
        setattr(job, name, value)


EVERYDAY_FAULTS_BLIND = Registry("everyday_faults_blind", 130_000, set_training)
sound, faults, other = EVERYDAY_FAULTS_BLIND.sound, EVERYDAY_FAULTS_BLIND.faults, EVERYDAY_FAULTS_BLIND.other


def boosted(cause: str, kind: str, name: str, *changes: BoostingChange, rows: int = 1200) -> None:
    """Add a run of boosted trees."""
    EVERYDAY_FAULTS_BLIND.boosted(cause, f"boosting, {kind}: {name}", kind, combine(*changes), rows)


def replicas(cause: str, name: str, task: str, **settings: object) -> None:
    """Add a run of two processes."""
    EVERYDAY_FAULTS_BLIND.replicas(cause, f"two replicas, {task}: {name}", task=task, **settings)
