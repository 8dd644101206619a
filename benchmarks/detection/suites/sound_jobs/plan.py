"""The runs of this suite, and functions that add to them."""

from __future__ import annotations

from harness.jobs import RATES, TASKS, Job
from harness.parts import BoostingChange, Change
from harness.registry import Registry
from suites.sound_jobs.making import MAKING_TASKS
from suites.sound_jobs.pairs import PAIR_TASKS
from suites.sound_jobs.parts import Task
from suites.sound_jobs.pictures import PICTURE_TASKS
from suites.sound_jobs.series import SERIES_TASKS
from suites.sound_jobs.table_tasks import TABLE_TASKS
from suites.sound_jobs.texts import TEXT_TASKS

OWN_TASKS: dict[str, Task] = {
    **TABLE_TASKS,
    **PICTURE_TASKS,
    **SERIES_TASKS,
    **TEXT_TASKS,
    **PAIR_TASKS,
    **MAKING_TASKS,
}
TASKS |= {name: (task.data, task.model, task.loss) for name, task in OWN_TASKS.items()}
RATES |= {name: task.lr for name, task in OWN_TASKS.items()}


def _set_steps(job: Job) -> None:
    job.steps = OWN_TASKS[job.task].steps


SOUND_JOBS = Registry("sound_jobs", 110_000, _set_steps)
other, replicas = SOUND_JOBS.other, SOUND_JOBS.replicas


def sound(task: str, name: str = "as it should be", change: Change | None = None) -> None:
    """Add a task with a change that leaves it sound. The task's own `finish` comes after the change."""
    changes = (change, OWN_TASKS[task].finish)
    SOUND_JOBS.sound(task, name, *(step for step in changes if step))


def boosted(kind: str, name: str, change: BoostingChange | None = None, rows: int = 1500) -> None:
    """Add a run of boosted trees."""
    SOUND_JOBS.boosted("", f"boosting {kind}: {name}", kind, change, rows)
