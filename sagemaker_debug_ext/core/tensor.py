"""Public face of the state of a step."""

from sagemaker_debug_ext.trials.index.completeness import StepState

__all__ = ["StepState"]
