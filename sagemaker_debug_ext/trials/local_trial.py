"""Public face of trials in a folder."""

from sagemaker_debug_ext.trials.trial import LocalTrial

__all__ = ["LocalTrial"]
