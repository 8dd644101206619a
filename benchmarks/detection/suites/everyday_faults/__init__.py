"""Everyday faults and sound runs, on their own tasks.

The author did not know the rules: neither their code, nor what they need, nor how they did on other runs. Each fault
was compared with the same job without it: it harms the job or is visible. Each sound run learns. Exception: faults
whose evaluation rows are training rows are visible in the data only.
"""

from suites.everyday_faults import others, outputs, samples, sound, training  # noqa: F401 - they add the runs
from suites.everyday_faults.plan import EVERYDAY_FAULTS

__all__ = ["EVERYDAY_FAULTS"]
