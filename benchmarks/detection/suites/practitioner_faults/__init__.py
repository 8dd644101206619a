"""Runs by somebody who did not know the rules: other models, other tasks, and faults that practitioners meet in them.

They were written from what the jobs of this benchmark can do, without a look at any rule, at what any rule needs, or at
what rules made of other runs; all that was known of rules is the names of causes and one commit message that says in a
paragraph what twelve of them are about. Of each fault it was seen that it harms the job or shows, beside the same job
without it; of each sound run, that it learns.
"""

from suites.practitioner_faults import data, sound, training  # noqa: F401 - they add the runs
from suites.practitioner_faults.plan import PRACTITIONER_FAULTS

__all__ = ["PRACTITIONER_FAULTS"]
