"""Sound runs of ordinary kinds, by an author who had read nothing of the rules."""

from suites.sound_jobs import sound  # noqa: F401 - it adds the runs
from suites.sound_jobs.plan import SOUND_JOBS

__all__ = ["SOUND_JOBS"]
