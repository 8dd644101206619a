"""Public face of `ReductionConfig`."""

from sagemaker_debug_ext.config.reductions import ReductionConfig

__all__ = ["ReductionConfig"]
