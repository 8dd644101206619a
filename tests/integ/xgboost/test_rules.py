"""The rules for XGBoost evaluate trials that the hook wrote."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xgboost as xgb

from sagemaker_debug_ext.rules import create_rule, evaluate


@pytest.fixture
def noise():
    """Labels that only the first of three features tells anything of, and that little."""
    random = np.random.default_rng(0)
    features = random.random((200, 3))
    labels = (features[:, 0] + random.normal(0, 0.4, 200) > 0.5).astype(int)
    return xgb.DMatrix(features[:100], label=labels[:100]), xgb.DMatrix(features[100:], label=labels[100:])


@pytest.fixture
def make_trial(make_hook, open_trial, noise):
    """Return a function that trains on noise with given parameters, and opens the trial."""

    made = []

    def make(num_rounds=30, **parameters):
        training, validation = noise
        given = {"objective": "binary:logistic", "seed": 0, "nthread": 1, **parameters}
        made.append(given)
        hook = make_hook(
            f"trial-{len(made)}",
            include_collections=["losses", "predictions", "labels", "feature_importance", "trees", "hyperparameters"],
            hyperparameters=given,
            validation_data=validation,
        )
        evals = [(training, "train"), (validation, "validation")]
        xgb.train(given, training, num_rounds, evals=evals, callbacks=[hook], verbose_eval=False)
        return open_trial(hook)

    return make


def fires(rule, trial, **parameters):
    """Run one rule over a trial; tell whether it found something."""
    evaluation = evaluate([create_rule(rule, trial, parameters)], trial)
    issues = evaluation.run()
    assert [status.status for status in evaluation.statuses] == ["IssuesFound" if issues else "NoIssuesFound"]
    return bool(issues)


def test_overfit_when_trees_learn_noise_then_fires_and_when_they_do_not_then_not(make_trial):
    """Validation and training losses are compared by their names."""
    assert fires("Overfit", make_trial(max_depth=8, eta=0.5), ratio_threshold=0.5)
    assert not fires("Overfit", make_trial(max_depth=1, eta=0.1, num_rounds=3), ratio_threshold=0.5)


def test_loss_not_decreasing_when_nothing_is_learnt_then_fires(make_trial):
    """A model without splits keeps its loss."""
    assert fires("LossNotDecreasing", make_trial(gamma=1e9), num_steps=3)


def test_overweight_when_one_feature_has_it_all_then_fires(make_trial):
    """One of three features holds most of the gain."""
    parameters = {"tensor_regex": "feature_importance/total_gain", "nfeatures": 1, "threshold": 0.7}
    trial = make_trial(max_depth=2, num_rounds=3)
    sound = make_trial(max_depth=8, num_rounds=3, min_child_weight=0)
    assert fires("FeatureImportanceOverweight", trial, **parameters)
    assert not fires("FeatureImportanceOverweight", sound, **{**parameters, "threshold": 0.9})


def test_tree_depth_then_is_the_deepest_of_the_round(make_trial):
    """With trees for several classes, all of a round count."""
    trial = make_trial(max_depth=6, num_rounds=3, objective="multi:softprob", num_class=2)
    assert fires("TreeDepth", trial, depth=3)
    assert not fires("TreeDepth", trial, depth=12)


def test_confusion_and_class_imbalance_when_classes_are_mixed_up_then_fire(make_trial):
    """Predictions and labels are found under the names that the rules look for."""
    trial = make_trial(max_depth=1, num_rounds=2, objective="multi:softmax", num_class=2)
    assert fires("Confusion", trial, category_no=2, min_diag=0.99, max_off_diag=0.01)


def test_all_zero_and_unchanged_then_run(make_trial):
    """Rules that look at any tensor take texts in their stride."""
    trial = make_trial(num_rounds=4)
    for rule in ("AllZero", "UnchangedTensor", "TensorVariance"):
        fires(rule, trial, tensor_regex=".*")


@pytest.mark.parametrize("objective", ["binary:logistic", "multi:softprob", "reg:squarederror"])
def test_report_then_is_written_of_a_real_job(make_trial, tmp_path, objective):
    """The report knows what kind of model it is, and shows what was saved of it."""
    classes = {"num_class": 2} if objective.startswith("multi") else {}
    trial = make_trial(num_rounds=8, objective=objective, max_depth=3, **classes)
    rule = create_rule("CreateXgboostReport", trial)
    rule.output_path = str(tmp_path / "report")
    assert not list(evaluate([rule], trial))
    report = json.loads((tmp_path / "report" / "xgboost_report.json").read_text())
    assert report["num_steps"] == 8
    assert report["hyperparameters"]["objective"] == objective
    assert set(report["feature_importance"]["gain"]) <= {"f0", "f1", "f2"}
    assert list(report["metrics"])
    if objective.startswith("reg"):
        assert report["task"] == "regression"
        assert len(report["regression"]["course"]) == 8
    else:
        assert "classification" in report["task"]
        assert sum(map(sum, report["classification"]["confusion_matrix"])) == 100
        assert 0.5 < report["classification"]["course"][-1]["accuracy"] < 1
    page = (tmp_path / "report" / "xgboost_report.html").read_text()
    assert objective in page
