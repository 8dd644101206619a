"""Public face of trials on S3."""

from sagemaker_debug_ext.trials.trial import S3Trial

__all__ = ["S3Trial"]
