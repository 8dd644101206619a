"""Runs by an author who has read nothing of the rules: what ordinary people train, none of it with a fault."""

from suites.sound_jobs import sound  # noqa: F401 - it adds the runs
from suites.sound_jobs.plan import SOUND_JOBS

__all__ = ["SOUND_JOBS"]
