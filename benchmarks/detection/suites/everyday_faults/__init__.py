"""Runs by a third author, who did not know the rules either: everyday faults, and sound runs, on tasks of their own.

They were written without a look at any rule, at what a rule needs, or at what rules made of other runs. Of each fault
it was seen, beside the same job without it, that it harms the job or shows; of each sound run, that it learns. Runs
whose evaluation data are training data are an exception: only the data themselves show it.
"""

from suites.everyday_faults import others, outputs, samples, sound, training  # noqa: F401 - they add the runs
from suites.everyday_faults.plan import EVERYDAY_FAULTS

__all__ = ["EVERYDAY_FAULTS"]
