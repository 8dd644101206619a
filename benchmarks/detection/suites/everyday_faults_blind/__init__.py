"""Runs by a fifth author, who did not know the rules either: sound runs first of all, and everyday faults.

They were written without a look at any rule, at what a rule needs, or at what rules made of any run. Of each sound run
it was seen that its loss falls and that it becomes clearly better than guessing; of each fault, beside the same job
without it, that it harms the job or shows. A run evaluated by rows it has learned is an exception: only the data show
it.
"""

from suites.everyday_faults_blind import others, outputs, samples, sound  # noqa: F401 - they add the runs
from suites.everyday_faults_blind.plan import EVERYDAY_FAULTS_BLIND

__all__ = ["EVERYDAY_FAULTS_BLIND"]
