"""Public face of what to save of tensors."""

from sagemaker_debug_ext.config.reductions import ReductionConfig

__all__ = ["ReductionConfig"]
