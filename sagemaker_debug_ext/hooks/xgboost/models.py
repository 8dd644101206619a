"""Properties of an XGBoost model before training, which determine the tensors that it can provide."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import attrs
import numpy as np
from xgboost import collective

from sagemaker_debug_ext.errors import SMDebugTypeError
from sagemaker_debug_ext.store.format.messages import Array, to_array
from sagemaker_debug_ext.vocabulary import CollectionKeys

_OF_TREES: Final = frozenset({CollectionKeys.FEATURE_IMPORTANCE, CollectionKeys.TREES})
_OF_CONTRIBUTIONS: Final = frozenset({CollectionKeys.AVERAGE_SHAP, CollectionKeys.FULL_SHAP})
OF_ONE_MODEL: Final = _OF_TREES | _OF_CONTRIBUTIONS | {CollectionKeys.PREDICTIONS, CollectionKeys.LABELS}
"""Collections of a single model, as opposed to those of its evaluation or its hyperparameters."""


@attrs.frozen
class ModelKind:
    """The kind of a model, and the collections that it cannot provide.

    Args:
        features: Names of its features; XGBoost's defaults if they have none.
        feature_names: Required feature names of data; None if any names are accepted.
        num_rounds: Number of existing rounds, if the model is trained further.
        num_trees: Number of existing trees.
        lacking: Collections that it cannot provide.
        reason: The reason, as the end of a sentence.
        is_ensemble: Whether it consists of several models for cross-validation.
        is_refreshed: Whether training refreshes existing trees.
    """

    features: list[str] = attrs.field(factory=list)
    feature_names: tuple[str, ...] | None = None
    num_rounds: int = 0
    num_trees: int = 0
    lacking: frozenset[str] = frozenset()
    reason: str = ""
    is_ensemble: bool = False
    is_refreshed: bool = False

    @classmethod
    def of(cls, model: Any) -> ModelKind:
        """Return the kind of a booster, or of the models of `xgboost.cv`."""
        if hasattr(model, "cvfolds"):
            features = _features(model.cvfolds[0].bst)
            return cls(features, lacking=OF_ONE_MODEL, reason="xgboost.cv trains several models", is_ensemble=True)
        features = _features(model)
        found = _read(json.loads(model.save_config())["learner"])
        return cls(
            features,
            feature_names=None if model.feature_names is None else tuple(features),
            num_rounds=model.num_boosted_rounds(),
            **found,
        )

    def find_mismatch(self, matrix: Any) -> str | None:
        """Return why the model cannot predict a matrix; None if it can."""
        if self.feature_names is not None and tuple(matrix.feature_names or ()) != self.feature_names:
            return f"its features must be named {', '.join(self.feature_names)} (got {matrix.feature_names})"
        if collective.get_world_size() == 1 and matrix.num_col() > len(self.features):
            return f"it must have {len(self.features)} features at most (got {matrix.num_col()})"
        return None


def _features(booster: Any) -> list[str]:
    """Return the names of a booster's features; reading their number also finalizes the booster's configuration."""
    count = booster.num_features()
    names = booster.feature_names
    return [f"f{number}" for number in range(count)] if names is None else list(names)


def _read(learner: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of trees from a model's configuration."""
    booster = learner["gradient_booster"]
    if booster["name"] == "gblinear":
        return {"lacking": _OF_TREES, "reason": "a linear model has no trees"}
    booster = booster.get("gbtree", booster)  # dart has one inside
    found: dict[str, Any] = {
        "num_trees": int(booster["gbtree_model_param"]["num_trees"]),
        # XGBoost omits the process type, but without an updater that grows trees, they are not new.
        "is_refreshed": "grow" not in booster["gbtree_train_param"].get("updater", "grow"),
    }
    outputs = learner["learner_model_param"]
    num_outputs = max(int(outputs["num_class"]), int(outputs.get("num_target", 1)))
    if learner["learner_train_param"].get("multi_strategy") == "multi_output_tree" and num_outputs > 1:
        found |= {
            "lacking": _OF_TREES | _OF_CONTRIBUTIONS,
            "reason": "XGBoost does not describe trees with several outputs",
        }
    return found


def number(value: float) -> Array:
    """Return a number as an array to save."""
    return np.array([float(value)])


def parameter_value(value: Any) -> Array:
    """Return a hyperparameter as an array: numbers, strings and flat lists unchanged, other values as strings."""
    is_nested = isinstance(value, (list, tuple)) and any(isinstance(item, (list, tuple)) for item in value)
    try:
        return to_array(str(value) if is_nested else value)
    except (SMDebugTypeError, ValueError):
        return np.array([str(value)])
