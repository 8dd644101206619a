"""FeatureImportanceOverweight fires when a few features have most of the importance."""

from __future__ import annotations

import pytest

from sagemaker_debug_ext.rules.sagemaker.trees.feature_importance_overweight import leading_share
from support.rule_trials import GLOBAL, TRAIN


def test_leading_share_is_the_sum_of_the_largest_over_all():
    """The leading share is the sum of the largest importances over all, and None if all are 0."""
    assert leading_share({"a": 6, "b": 3, "c": 1}, 2) == 0.9
    assert leading_share({"a": 6}, 3) == 1
    assert leading_share({"a": 0}, 3) is None


@pytest.mark.parametrize(("threshold", "fires"), [(0.9, False), (0.89, True)])
def test_the_threshold_itself_is_tolerated(run_rule, threshold, fires):
    """A leading share fires only above the threshold, and the largest features are named first."""
    steps = {(TRAIN, 0): {f"feature_importance/weight/f{n}": v for n, v in enumerate((1.0, 6.0, 3.0))}}
    issues = run_rule("FeatureImportanceOverweight", steps, nfeatures=2, threshold=threshold)
    names = ("feature_importance/weight/f1", "feature_importance/weight/f2")
    assert [issue.tensors for issue in issues] == ([names] if fires else [])


@pytest.mark.parametrize(("start", "fires"), [(0, True), (2, False)])
def test_the_first_trees_may_use_one_feature(run_rule, start, fires):
    """Steps before `start_step` are not evaluated, because the first trees use few features."""
    steps = {
        (GLOBAL, n): {f"feature_importance/weight/f{k}": float(k == 0 or n > 1) for k in range(4)} for n in range(4)
    }
    assert bool(run_rule("FeatureImportanceOverweight", steps, nfeatures=1, start_step=start)) == fires
