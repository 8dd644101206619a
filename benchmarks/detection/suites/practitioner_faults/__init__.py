"""Faults that practitioners meet, many of them subtle, with their own models and tasks, and sound runs.

The author did not know the rules: neither their code, nor what they need, nor how they did on other runs. The author
knew the names of the causes, the code of the jobs, and one commit message that describes twelve rules in a paragraph.
Each fault was compared with the same job without it: it harms the job or is visible. Each sound run learns.
"""

from suites.practitioner_faults import data, sound, training  # noqa: F401 - they add the runs
from suites.practitioner_faults.plan import PRACTITIONER_FAULTS

__all__ = ["PRACTITIONER_FAULTS"]
