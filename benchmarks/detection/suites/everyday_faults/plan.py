"""The runs of this suite, and functions that add to them."""

from __future__ import annotations

from harness.parts import BoostingChange
from harness.registry import Registry
from suites.everyday_faults.tasks import set_training

EVERYDAY_FAULTS = Registry("everyday_faults", 90_000, set_training)
sound, faults = EVERYDAY_FAULTS.sound, EVERYDAY_FAULTS.faults


def boosted(cause: str, kind: str, name: str, change: BoostingChange | None = None, rows: int = 400) -> None:
    """Add a run of boosted trees."""
    EVERYDAY_FAULTS.boosted(cause, f"boosting, {kind}: {name}", kind, change, rows)


def replicas(cause: str, name: str, task: str, **settings: object) -> None:
    """Add a run of two processes."""
    EVERYDAY_FAULTS.replicas(cause, f"two replicas, {task}: {name}", task=task, **settings)
