"""Public face of collections."""

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.vocabulary import CollectionKeys

__all__ = ["Collection", "CollectionKeys"]
