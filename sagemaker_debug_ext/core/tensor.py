"""Public face of `StepState`."""

from sagemaker_debug_ext._imports.lazy import lazy_names
from sagemaker_debug_ext.trials.index.completeness import StepState

__all__ = ["StepState"]

__path__: list[str] = []  # submodules and further names come from the table of public names
__getattr__ = lazy_names(__name__)
