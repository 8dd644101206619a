"""Classes under the module paths that tests and rule containers for Debugger import."""

from sagemaker_debug_ext._imports.lazy import lazy_names

__getattr__ = lazy_names(__name__)
