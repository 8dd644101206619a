"""The collections of XGBoost jobs: their tensors, and the kinds of tensors that a configuration needs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.hooks.xgboost.trees import COLUMNS
from sagemaker_debug_ext.vocabulary import CollectionKeys

IMPORTANCES: Final = ("weight", "gain", "cover", "total_gain", "total_cover")
"""XGBoost's measures of feature importance."""

BASE_VALUE: Final = "bias"
"""Name of the base value of a prediction, without contributions of features, unless a feature has this name."""

_METRIC: Final = r"^[^/-]+-.+$"
_LOSS: Final = (
    # Metrics for which larger is better are not losses; names that end in _score are those of scikit-learn.
    r"^[^/-]+-(?!(?:auc|aucpr|map|ndcg|pre|interval-regression-accuracy)(?:[@-]|$))(?!.*(?:_score|-std)$).+$"
)

BUILTIN_PATTERNS: Final[Mapping[str, tuple[str, ...]]] = {
    CollectionKeys.DEFAULT: (),
    CollectionKeys.ALL: (),
    CollectionKeys.METRICS: (_METRIC,),
    CollectionKeys.LOSSES: (_LOSS,),
    CollectionKeys.HYPERPARAMETERS: ("^hyperparameters/.*$",),
    CollectionKeys.PREDICTIONS: ("^predictions$",),
    CollectionKeys.LABELS: ("^labels$",),
    CollectionKeys.FEATURE_IMPORTANCE: ("^feature_importance/.*",),
    CollectionKeys.AVERAGE_SHAP: (f"^average_shap/(?!{BASE_VALUE}$)",),
    CollectionKeys.FULL_SHAP: (f"^full_shap/(?!{BASE_VALUE}$)",),
    CollectionKeys.TREES: ("^trees/.*",),
}
"""The built-in collections, with their patterns."""


def contributors(features: Sequence[str]) -> list[str]:
    """Return the names of contributions to a prediction, in the order of XGBoost's columns."""
    return [*features] if BASE_VALUE in features else [*features, BASE_VALUE]


def select_kinds(
    collections: Sequence[Collection], features: Sequence[str], hyperparameters: Iterable[str]
) -> frozenset[str]:
    """Return the built-in collections whose kind of tensor is in any of these collections.

    Names of tensors are checked only if a pattern leaves it open, so that models with a million features have no
    overhead unless a collection needs them. Metrics are not included, because they are free.

    Args:
        collections: The saved collections.
        features: Names of the model's features.
        hyperparameters: Names of hyperparameters.
    """
    names: dict[str, Callable[[], Iterable[str]]] = {
        CollectionKeys.HYPERPARAMETERS: lambda: (f"hyperparameters/{name}" for name in hyperparameters),
        CollectionKeys.PREDICTIONS: lambda: ["predictions"],
        CollectionKeys.LABELS: lambda: ["labels"],
        CollectionKeys.FEATURE_IMPORTANCE: lambda: (
            f"feature_importance/{kind}/{feature}" for feature in features for kind in IMPORTANCES
        ),
        CollectionKeys.AVERAGE_SHAP: lambda: (f"average_shap/{name}" for name in contributors(features)),
        CollectionKeys.FULL_SHAP: lambda: (f"full_shap/{name}" for name in contributors(features)),
        CollectionKeys.TREES: lambda: (f"trees/{name}" for name in COLUMNS),
    }
    return frozenset(kind for kind, offered in names.items() if _asks_for(collections, kind, offered))


def _asks_for(collections: Iterable[Collection], prefix: str, names: Callable[[], Iterable[str]]) -> bool:
    able = [
        collection
        for collection in collections
        if any(may_match(pattern, prefix) for pattern in collection.include_regex)
        or any(name.startswith(prefix) for name in collection.tensor_names)
    ]
    return bool(able) and any(collection.matches(name) for name in names() for collection in able)


def may_match(pattern: str, prefix: str) -> bool:
    """Return whether a pattern may match a name that starts with `prefix`, by the literal it is anchored to."""
    if pattern in (_METRIC, _LOSS):
        return False
    anchored = re.match(r"\^([\w/]*)(.?)", pattern, re.DOTALL)
    if anchored is None or "|" in pattern:
        return True
    literal, following = anchored.groups()
    if following and following in "*?{":  # the last character is optional
        literal = literal[:-1]
    return literal.startswith(prefix) or prefix.startswith(literal)
