"""Public face of the collections of a trial."""

from sagemaker_debug_ext.trials.collections import CollectionManager

__all__ = ["CollectionManager"]
