"""The fixed words of the field: modes, reduction names, built-in collections.

The module is not called ``modes`` because ``from sagemaker_debug_ext import modes`` must give the enumeration itself.
"""

from __future__ import annotations

import enum
from typing import Final


class ModeKeys(enum.Enum):
    """What a step is for. The numbers are those stored in event records (store format, section 2.5)."""

    TRAIN = 1
    EVAL = 2
    PREDICT = 3
    GLOBAL = 4

    __hash__ = object.__hash__  # members are unique, and Enum's own is written in Python: every step would call it


REDUCTIONS: Final = ("min", "max", "mean", "std", "variance", "sum", "prod")
"""Reductions that give one number for a tensor; each also exists of the absolute values."""

NORMS: Final = ("l1", "l2")
"""Norms that give one number for a tensor; each also exists of the absolute values."""


STATISTICS: Final = ("zero_fraction", "nonfinite", "abs_max", "histogram")
"""What a hook can save of tensors beyond `REDUCTIONS` and `NORMS`; stored as reductions of these names are."""


class CollectionKeys:
    """Names of the built-in collections."""

    DEFAULT: Final = "default"
    ALL: Final = "all"
    INPUTS: Final = "inputs"
    OUTPUTS: Final = "outputs"
    WEIGHTS: Final = "weights"
    GRADIENTS: Final = "gradients"
    LOSSES: Final = "losses"
    BIASES: Final = "biases"
    LAYERS: Final = "layers"
    SM_METRICS: Final = "sm_metrics"
    OPTIMIZER_VARIABLES: Final = "optimizer_variables"
    TENSORFLOW_SUMMARIES: Final = "tensorflow_summaries"
    METRICS: Final = "metrics"
    HYPERPARAMETERS: Final = "hyperparameters"
    PREDICTIONS: Final = "predictions"
    LABELS: Final = "labels"
    FEATURE_IMPORTANCE: Final = "feature_importance"
    AVERAGE_SHAP: Final = "average_shap"
    FULL_SHAP: Final = "full_shap"
    TREES: Final = "trees"


BUILTIN_COLLECTIONS: Final = tuple(
    value for name, value in vars(CollectionKeys).items() if name.isupper() and isinstance(value, str)
)
"""All names of `CollectionKeys`."""

SCALAR_COLLECTIONS: Final = frozenset(
    {
        CollectionKeys.LOSSES,
        CollectionKeys.METRICS,
        CollectionKeys.FEATURE_IMPORTANCE,
        CollectionKeys.AVERAGE_SHAP,
        CollectionKeys.SM_METRICS,
    }
)
"""Collections whose members are always saved raw, never reduced (store format, section 2.6)."""
