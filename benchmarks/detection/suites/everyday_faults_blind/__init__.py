"""Sound runs and everyday faults, on their own tasks.

The author did not know the rules: neither their code, nor what they need, nor how they did on any run. For each sound
run, the loss falls and the result is clearly better than guessing. Each fault was compared with the same job without
it: it harms the job or is visible. Exception: a run evaluated on training rows is visible in the data only.

The rules were not tuned on this suite, except that two of them have learned to skip masks.
"""

from suites.everyday_faults_blind import others, outputs, samples, sound  # noqa: F401 - they add the runs
from suites.everyday_faults_blind.plan import EVERYDAY_FAULTS_BLIND

__all__ = ["EVERYDAY_FAULTS_BLIND"]
