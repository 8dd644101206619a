"""Public face of the state of a step."""

from sagemaker_debug_ext.trials.steps import StepState

__all__ = ["StepState"]
