"""Public face of the collections of a trial."""

from sagemaker_debug_ext._imports.lazy import lazy_names
from sagemaker_debug_ext.trials.collections import CollectionManager

__all__ = ["CollectionManager"]

__path__: list[str] = []  # submodules and further names come from the table of public names
__getattr__ = lazy_names(__name__)
