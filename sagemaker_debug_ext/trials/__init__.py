"""Analyse: open the saved output of a job, finished or still running, and look at its tensors."""

from sagemaker_debug_ext._imports.lazy import lazy_names
from sagemaker_debug_ext.trials.following import JobState
from sagemaker_debug_ext.trials.index.completeness import StepState
from sagemaker_debug_ext.trials.problems import Problem
from sagemaker_debug_ext.trials.tensors import Tensor
from sagemaker_debug_ext.trials.trial import LocalTrial, S3Trial, Trial, create_trial
from sagemaker_debug_ext.trials.values.comparison import Comparison, Difference
from sagemaker_debug_ext.trials.waiting import Polling

__all__ = [
    "Comparison",
    "Difference",
    "JobState",
    "LocalTrial",
    "Polling",
    "Problem",
    "S3Trial",
    "StepState",
    "Tensor",
    "Trial",
    "create_trial",
]

__getattr__ = lazy_names(__name__)  # submodules
