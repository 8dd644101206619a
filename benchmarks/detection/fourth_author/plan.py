"""The list of runs by the fourth author, and short ways to add to it."""

from __future__ import annotations

from collections.abc import Callable

from boosting import BoostingJob, boosting
from jobs import RATES, TASKS, Job
from registry import Registry

from fourth_author.making import MAKING_TASKS
from fourth_author.pairs import PAIR_TASKS
from fourth_author.parts import Task
from fourth_author.pictures import PICTURE_TASKS
from fourth_author.series import SERIES_TASKS
from fourth_author.table_tasks import TABLE_TASKS
from fourth_author.texts import TEXT_TASKS

FOURTH_AUTHOR = Registry("fourth author", 110_000)
other = FOURTH_AUTHOR.other

Change = Callable[[Job], None]

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


def sound(task: str, name: str = "as it should be", change: Change | None = None) -> None:
    """Add a task, with a change that leaves it sound, made ready as it needs after that."""

    def all_changes(job: Job) -> None:
        job.steps = OWN_TASKS[task].steps
        for each in (change, OWN_TASKS[task].ready):
            if each:
                each(job)

    FOURTH_AUTHOR.sound(task, name, all_changes)


def boosted(kind: str, name: str, change: Callable[[BoostingJob], None] | None = None, rows: int = 1500) -> None:
    """Add a run of boosted trees."""
    other("", f"boosting {kind}: {name}", boosting(kind, FOURTH_AUTHOR.next_seed, change, rows))
