"""Fixed vocabulary: modes, reduction names and built-in collections.

The module is not named ``modes`` because ``from sagemaker_debug_ext import modes`` imports the enumeration itself.
"""

from __future__ import annotations

import enum
from typing import Final


class ModeKeys(enum.Enum):
    """Purpose of a step. Event records store the numbers (store format, section 2.5)."""

    TRAIN = 1
    EVAL = 2
    PREDICT = 3
    GLOBAL = 4

    __hash__ = object.__hash__  # faster than Enum's, which is written in Python and would run at every step


REDUCTIONS: Final = ("min", "max", "mean", "std", "variance", "sum", "prod")
"""Reductions of a tensor to one number; each one also exists for the absolute values."""

NORMS: Final = ("l1", "l2")
"""Norms of a tensor; each one also exists for the absolute values."""


STATISTICS: Final = ("zero_fraction", "nonfinite", "abs_max", "histogram")
"""Statistics that a hook can save in addition to `REDUCTIONS` and `NORMS`; they are stored like reductions."""


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
"""Collections whose members are always saved whole, never reduced (store format, section 2.6)."""
