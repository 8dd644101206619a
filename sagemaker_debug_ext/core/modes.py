"""Public face of the modes."""

from sagemaker_debug_ext.vocabulary import ModeKeys

__all__ = ["ModeKeys"]
