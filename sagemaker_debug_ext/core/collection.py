"""Public face of collections."""

from sagemaker_debug_ext._imports.lazy import lazy_names
from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.vocabulary import CollectionKeys

__all__ = ["Collection", "CollectionKeys"]

__path__: list[str] = []  # submodules and further names come from the table of public names
__getattr__ = lazy_names(__name__)
