"""CreateXgboostReport writes a report on a job of boosted trees, and never fires."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sagemaker_debug_ext.looking import read_report, write_report
from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.rules.inference.xgboost_report import (
    classification_scores,
    decile_errors,
    predicted_classes,
    recognise_task,
    roc_curve,
    xgboost_report,
)
from support.rule_trials import GLOBAL

COLLECTIONS = {
    "metrics": ["-(logloss|rmse)$"], "labels": ["^labels$"], "predictions": ["^predictions$"],
    "feature_importance": ["^feature_importance/"], "hyperparameters": ["^hyperparameters/"],
}  # fmt: skip


def rounds(labels, predictions, objective):
    steps = {}
    for step in range(3):
        steps[GLOBAL, step] = {
            "train-logloss": 1.0 / (step + 1), "validation-logloss": 1.1 / (step + 1), "labels": labels,
            "predictions": predictions, "feature_importance/weight/<f0>": 0.7, "feature_importance/weight/f1": 0.3,
        }  # fmt: skip
    steps[GLOBAL, 0]["hyperparameters/objective"] = np.array([objective])
    return steps


@pytest.mark.parametrize(
    ("labels", "predictions", "objective", "task"),
    [
        (np.array([0.0, 1, 1, 0]), np.array([0.2, 0.9, 0.4, 0.1]), "binary:logistic", "binary classification"),
        (np.array([0.0, 1, 2, 0]), np.eye(3)[[0, 1, 2, 1]], "multi:softprob", "multi-class classification"),
        (np.linspace(0, 5, 40), np.linspace(0, 5, 40) + 0.5, "reg:squarederror", "regression"),
    ],
)
def test_the_report_is_written_as_html_and_json(make_trial, tmp_path, labels, predictions, objective, task):
    """The report has the sections of the model's task, and names of features are escaped in the page."""
    trial = make_trial(rounds(labels, predictions, objective), collections=COLLECTIONS)
    rule = create_rule("CreateXgboostReport", trial)
    rule.output_path = str(tmp_path / "out")
    evaluation = evaluate([rule], trial)
    assert evaluation.run() == []
    assert evaluation.statuses[0].status == "NoIssuesFound"
    report = json.loads((tmp_path / "out" / "xgboost_report.json").read_text())
    page = (tmp_path / "out" / "xgboost_report.html").read_text()
    assert report["task"] == task
    assert report["feature_importance"]["weight"] == {"<f0>": 0.7, "f1": 0.3}
    assert report["metrics"]["validation-logloss"]["training"][2] == [2, pytest.approx(1 / 3)]
    assert ("regression" in report) == (task == "regression")
    assert ("roc" in report.get("classification", {})) == task.startswith("binary")
    assert "&lt;f0&gt;" in page
    assert "<f0>" not in page
    assert task in page
    assert read_report(tmp_path / "out" / "xgboost_report.html")["trials"][0]["name"] == trial.name


def test_page_when_trees_were_saved_then_they_are_nested_lists(make_trial, tmp_path):
    """Splits, gains and leaves of the first tree of a round are shown, and hostile names are text."""
    columns = {
        "Tree": np.array([0, 0, 0]), "ID": np.array(["0-0", "0-1", "0-2"]),
        "Feature": np.array(["<b>age", "Leaf", "Leaf"]), "Split": np.array([41.5, np.nan, np.nan]),
        "Yes": np.array(["0-1", "nan", "nan"]), "No": np.array(["0-2", "nan", "nan"]),
        "Gain": np.array([88.0, 0.12, -0.31]), "Cover": np.array([9.0, 4, 5]),
    }  # fmt: skip
    trial = make_trial(
        {(GLOBAL, step): {f"trees/{name}": value for name, value in columns.items()} for step in range(3)}
    )
    write_report([trial], tmp_path / "page.html", [None])
    page = (tmp_path / "page.html").read_text()
    assert "&lt;b&gt;age &lt; 41.5?" in page
    assert "yes: leaf 0.12" in page
    assert "no: leaf -0.31" in page
    assert page.count('class="tree"') == 3


def test_without_a_folder_or_material_nothing_is_written(make_trial, tmp_path):
    """A trial of another kind of job gives no report."""
    trial = make_trial({(GLOBAL, 0): {"x": 1.0}}, collections=COLLECTIONS)
    rule = create_rule("CreateXgboostReport", trial)
    rule.output_path = str(tmp_path / "out")
    evaluation = evaluate([rule], trial)
    evaluation.run()
    assert not (tmp_path / "out").exists()
    assert (evaluation.statuses[0].num_steps, evaluation.statuses[0].num_skipped) == (0, 1)


def test_what_was_not_saved_is_left_out(make_trial):
    """Metrics alone make a report, even when their values are NaN."""
    trial = make_trial({(GLOBAL, 0): {"train-rmse": 1.0, "validation-rmse": np.nan}}, collections=COLLECTIONS)
    report = xgboost_report(trial)
    assert "task" not in report
    assert report["metrics"]["validation-rmse"]["training"] == [[0, 1.0]]


@pytest.mark.parametrize(
    ("objective", "labels", "task"),
    [
        ("", [0, 1], "binary classification"), ("", [0, 2], "multi-class classification"), ("", [0.5, 2], "regression"),
        ("reg:squarederror", [0, 1], "regression"), ("multi:softmax", [0, 1], "multi-class classification"),
        ("", range(40), "regression"),
    ],
)  # fmt: skip
def test_the_kind_of_model_is_recognised(objective, labels, task):
    """The task follows from the objective, or from the labels if the objective does not tell."""
    assert recognise_task(objective, np.array(labels, float)) == task


@pytest.mark.parametrize(
    ("predictions", "objective", "classes"),
    [
        ([[0.1, 0.9], [0.8, 0.2]], "multi:softprob", [1, 0]), ([2.0, 0.0], "multi:softmax", [2, 0]),
        ([0.5, 0.4], "binary:logistic", [1, 0]), ([0.4, -0.1], "binary:logitraw", [1, 0]),
    ],
)  # fmt: skip
def test_predicted_classes_follow_from_the_objective(predictions, objective, classes):
    """Predictions become classes according to the objective: scores, classes, probabilities or margins."""
    assert predicted_classes(np.array(predictions), objective).tolist() == classes


def test_scores_equal_those_of_scikit_learn():
    """Precision, recall, F1 and the area under the curve equal those of scikit-learn."""
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    labels, predictions = rng.integers(0, 3, 90), rng.integers(0, 3, 90)
    scores = classification_scores(metrics.confusion_matrix(labels, predictions))
    for average in ("micro", "macro", "weighted"):
        expected = metrics.precision_recall_fscore_support(labels, predictions, average=average)
        found = [scores[name][average] for name in ("precision", "recall", "f1")]
        assert found == pytest.approx(expected[:3])
    values = rng.integers(0, 8, 60) / 8
    truth = (labels[:60] == 1).astype(float)
    assert roc_curve(truth, values)["area"] == pytest.approx(metrics.roc_auc_score(truth, values))


def test_one_class_alone_has_no_curve():
    """Labels of one class have no area under the curve."""
    assert roc_curve(np.ones(3), np.array([0.1, 0.2, 0.3]))["area"] is None


def test_errors_are_reported_for_each_tenth_of_the_labels():
    """Errors are reported by decile of the labels, from the smallest labels to the largest."""
    labels = np.arange(20.0)[::-1]
    errors = decile_errors(labels, labels + labels)
    assert errors == [index * 2 + 0.5 for index in range(10)]
