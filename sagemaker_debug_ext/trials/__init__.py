"""Analyse: open the saved output of a job, finished or still running, and look at its tensors."""

from sagemaker_debug_ext.trials.problems import Problem
from sagemaker_debug_ext.trials.steps import StepState
from sagemaker_debug_ext.trials.tensors import Tensor
from sagemaker_debug_ext.trials.trial import LocalTrial, Trial, create_trial
from sagemaker_debug_ext.trials.waiting import Polling

__all__ = ["LocalTrial", "Polling", "Problem", "StepState", "Tensor", "Trial", "create_trial"]
