"""Objects on S3 and files, under the module path from which scripts for Debugger import them."""

from sagemaker_debug_ext._imports.lazy import lazy_names

__getattr__ = lazy_names(__name__)
