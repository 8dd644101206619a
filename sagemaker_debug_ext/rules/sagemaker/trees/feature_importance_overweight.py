"""FeatureImportanceOverweight: a few features dominate an XGBoost model."""

from __future__ import annotations

from collections.abc import Mapping

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView


def leading_share(importances: Mapping[str, float], number: int) -> float | None:
    """Return the fraction of the sum that the `number` largest importances hold, or None if the sum is 0."""
    total = sum(importances.values())
    return sum(sorted(importances.values(), reverse=True)[:number]) / total if total else None


class FeatureImportanceOverweight(BuiltinRule):
    """A few features hold too large a fraction of the importance of all features.

    Checks the importances of each saved step, one scalar per feature. The rule fires if the `nfeatures` largest hold
    more than `threshold` of their sum. With `nfeatures` features or fewer, the fraction is 1. Steps before
    `start_step`, and steps whose sum is 0, are not evaluated: the first few trees may well split by the same feature.

    Parameters:
        threshold: Largest fraction held by the leading features, from 0 to 1; 0.8 when not given.
        start_step: First global step to evaluate; 0 when not given.
        nfeatures: Number of leading features to sum; 3 when not given.
        tensor_regex: Regular expressions searched in the names of importances, as a list or separated by commas;
            ``.*feature_importance/weight`` when not given.

    Example:
        >>> parameters = {"nfeatures": 1, "threshold": 0.5, "tensor_regex": "feature_importance/gain"}
        >>> rule = create_rule("FeatureImportanceOverweight", trial, parameters)
        >>> invoke_rule(rule)
    """

    spec_name = "FeatureImportanceOverweight"
    is_stateless = True
    evaluates_only_tensors = True
    advice = (
        "Check that the leading features do not reveal the label. If they are genuine, regularise or sample "
        "columns (colsample_bytree) so that the model uses other features, too."
    )

    def configure(self) -> None:
        self.selection = Selection(patterns=self.parameters["tensor_regex"])

    def needs(self) -> tuple[TensorRequirement, ...]:
        return (TensorRequirement("importances of features", self.selection),)

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue that names the leading features, the largest first."""
        importances = view.scalars(self.selection)
        number: int = self.parameters["nfeatures"]
        share = leading_share(importances, number) if importances else None
        if share is None or view.step < self.parameters["start_step"]:
            return None
        limit: float = self.parameters["threshold"]
        if not share > limit:
            return []
        names = sorted(importances, key=lambda name: (-importances[name], name))[:number]
        text = (
            f"Few features dominate: {', '.join(names)} hold {share:.1%} of the importance of all "
            f"{len(importances)} features (at most {limit:.1%} allowed)."
        )
        return [self.found(view, text, tensors=names, value=share, threshold=limit)]
