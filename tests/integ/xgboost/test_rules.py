"""The rules for XGBoost run_rule trials that the hook wrote."""

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


def issues_of(rule, trial, **parameters):
    """Return the issues of one rule over a trial, and assert that its status fits them."""
    evaluation = evaluate([create_rule(rule, trial, parameters)], trial)
    issues = evaluation.run()
    assert [status.status for status in evaluation.statuses] == ["IssuesFound" if issues else "NoIssuesFound"]
    return issues


def fires(rule, trial, **parameters):
    """Return whether one rule finds an issue in a trial."""
    return bool(issues_of(rule, trial, **parameters))


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


@pytest.fixture
def mixed_up_classes(make_trial):
    """Return a trial whose shallow trees mispredict many samples of class 0."""
    return make_trial(max_depth=1, num_rounds=2, objective="multi:softmax", num_class=2)


@pytest.mark.parametrize(("min_diag", "max_off_diag", "fires_at"), [(0.99, 0.01, [0, 1]), (0.5, 0.5, [])])
def test_confusion_when_classes_are_mixed_up_then_fires(mixed_up_classes, min_diag, max_off_diag, fires_at):
    """Labels and predictions are found by name, and fire when fewer are right than required."""
    issues = issues_of("Confusion", mixed_up_classes, category_no=2, min_diag=min_diag, max_off_diag=max_off_diag)
    assert [(issue.step, issue.tensors) for issue in issues] == [(step, ("labels", "predictions")) for step in fires_at]


@pytest.mark.parametrize(("below", "fires"), [(0.01, True), (0.0, False)], ids=["above the limit", "at the limit"])
def test_class_imbalance_when_a_class_is_mispredicted_then_fires(mixed_up_classes, below, fires):
    """The class that is mispredicted most fires when its share is above the limit, not when it equals it."""
    labels, predictions = (mixed_up_classes.tensor(name).value(0) for name in ("labels", "predictions"))
    share = max(np.mean(predictions[labels == label] != label) for label in (0, 1))
    issues = issues_of("ClassImbalance", mixed_up_classes, samples=100, threshold_misprediction=share - below)
    assert [(issue.step, issue.tensors, issue.value) for issue in issues[:1]] == (
        [(0, ("predictions", "labels"), share)] if fires else []
    )


@pytest.mark.parametrize(("limit", "fires_at"), [(1.2, [0, 1]), (1.25, [])])
def test_class_imbalance_when_labels_are_uneven_then_fires(mixed_up_classes, limit, fires_at):
    """55 labels of one class and 45 of the other fire below their ratio and not above it."""
    issues = issues_of("ClassImbalance", mixed_up_classes, samples=100, threshold_imbalance=limit)
    expected = [(step, ("labels",), 55 / 45) for step in fires_at]
    assert [(issue.step, issue.tensors, issue.value) for issue in issues] == expected


def test_all_zero_when_over_all_tensors_then_names_those_with_enough_zeros(make_trial):
    """The seed of 0, the numbers of the first tree, and labels of which half are 0 are named at step 0."""
    issues = issues_of("AllZero", make_trial(num_rounds=4), tensor_regex=".*", threshold=50)
    assert [set(issue.tensors) for issue in issues] == [
        {"hyperparameters/seed", "labels", "trees/Tree"}, *[{"hyperparameters/seed", "labels"}] * 3,
    ]  # fmt: skip


def test_unchanged_tensor_when_over_all_tensors_then_names_constants(make_trial):
    """Hyperparameters and labels, which no round changes, are named from the third round on."""
    issues = issues_of("UnchangedTensor", make_trial(num_rounds=4), tensor_regex=".*")
    assert [issue.step for issue in issues] == [2, 3]
    assert all({"hyperparameters/nthread", "hyperparameters/seed", "labels"} <= set(issue.tensors) for issue in issues)
    assert not any({"predictions", "train-logloss"} & set(issue.tensors) for issue in issues)


@pytest.mark.parametrize(("limit", "num_issues"), [(1e-9, 4), (1e9, 0)])
def test_tensor_variance_when_over_all_tensors_then_leaves_texts_and_scalars_out(make_trial, limit, num_issues):
    """Columns of numbers are evaluated, and columns of texts and single numbers are ignored."""
    issues = issues_of("TensorVariance", make_trial(num_rounds=4), tensor_regex=".*", max_threshold=limit)
    assert len(issues) == num_issues
    for issue in issues:
        assert {"labels", "predictions", "trees/Cover", "trees/Gain", "trees/Node"} == set(issue.tensors)


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
