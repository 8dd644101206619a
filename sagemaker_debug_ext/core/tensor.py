"""Public face of `StepState`."""

from sagemaker_debug_ext.trials.index.completeness import StepState

__all__ = ["StepState"]
