"""PredictionCollapse fires when nearly all predictions, or nearly all labels, are of one class."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules.extra.layers.prediction_collapse import knowledge, predicted_ids
from support.rule_trials import TRAIN, fired_at, loss_tensors, steps_of

RNG = np.random.default_rng(0)


def steps_of_predictions(predicted, labels):
    scores = np.eye(3)[predicted]
    tensors = {"CrossEntropyLoss_input_0": scores, "CrossEntropyLoss_input_1": np.asarray(labels)}
    return {(TRAIN, step): tensors for step in range(40)}


def test_one_class_for_everything_fires(run_rule):
    """One predicted class for mixed labels fires, and labels that are nearly all of that class do not."""
    mixed = [0, 1, 2, 0, 1] * 4
    (issue, *_) = run_rule("PredictionCollapse", steps_of_predictions([1] * 20, mixed))
    assert (issue.step, issue.value) == (39, 1.0)
    assert run_rule("PredictionCollapse", steps_of_predictions(mixed, mixed)) == []
    assert run_rule("PredictionCollapse", steps_of_predictions([0] * 20, [0] * 18 + [1, 2])) == []


def test_steps_without_predictions_are_tolerated(run_rule):
    """A last step without predictions does not end the rule, and the issue names the labels."""
    steps = steps_of_predictions([1] * 20, [0, 1, 2, 0, 1] * 4)
    steps[TRAIN, 39] = {"CrossEntropyLoss_input_1": steps[TRAIN, 0]["CrossEntropyLoss_input_1"]}
    (issue,) = run_rule("PredictionCollapse", steps)
    assert (issue.step, issue.tensors) == (39, ("CrossEntropyLoss_input_1",))


def test_labels_of_one_class_fire(run_rule):
    """Labels of a single class fire, and targets of a regression do not."""
    assert fired_at(run_rule("PredictionCollapse", steps_of_predictions([0, 1] * 10, [2] * 20))) == [39]
    assert run_rule("PredictionCollapse", steps_of_predictions([0, 1] * 10, [0.5] * 20)) == []


@pytest.mark.parametrize(
    ("others", "text"), [(0, "so far are of class 2"), (1, "hardly ever come up"), (400, "Labels come sorted")]
)
def test_message_on_labels_of_one_class_depends_on_the_labels_before(run_rule, others, text):
    """The message depends on how many of the labels before were of other classes."""
    steps = steps_of_predictions([0, 1] * 10, [2] * 20)
    steps[TRAIN, 0] = {"CrossEntropyLoss_input_1": np.array([0] * others + [2])}
    (issue,) = run_rule("PredictionCollapse", steps)
    assert text in issue.message


def test_a_rare_event_may_be_missing_for_a_while(run_rule):
    """Labels of one class are tolerated for a while if the other class has been rare before."""
    steps = steps_of_predictions([0, 1] * 10, [2] * 20)
    steps[TRAIN, 0] = {"CrossEntropyLoss_input_1": np.array([0] * 10 + [2])}
    assert run_rule("PredictionCollapse", steps) == []


@pytest.mark.parametrize(("units", "fires"), [(4, True), (6, False)])
def test_the_right_candidate_may_always_be_the_first(run_rule, units, fires):
    """Labels that are all 0 are tolerated if no layer has a unit for each candidate."""
    tensors = loss_tensors(RNG.normal(size=(20, 4)), np.zeros(20, np.int64)) | {"head.weight": np.ones((units, 3))}
    assert bool(run_rule("PredictionCollapse", steps_of([tensors] * 45))) == fires


@pytest.mark.parametrize(("distance", "fires"), [(2.5, False), (-2.5, False), (0.8, True)])
@pytest.mark.parametrize("of_two", [False, True])
def test_scores_that_tell_classes_apart_only_miss_the_threshold(run_rule, distance, fires, of_two):
    """Scores that separate the classes on one side of the threshold do not fire, nor do opposite ones: distances."""
    rng = np.random.default_rng(0)
    steps = []
    for _ in range(40):
        labels = rng.integers(0, 2, 20)
        margins = rng.normal(size=20) + distance * labels - 8
        scores = np.stack([0 * margins, margins], axis=1) if of_two else margins[:, None]
        loss = "CrossEntropyLoss" if of_two else "BCEWithLogitsLoss"
        targets = labels if of_two else labels[:, None].astype(float)
        steps.append({f"{loss}_input_0": scores, f"{loss}_input_1": targets})
    assert bool(run_rule("PredictionCollapse", steps_of(steps))) == fires


def test_knowledge_needs_scores_that_differ_and_belong_to_the_labels():
    """Constant scores, and scores of another shape than the labels, give no measure of knowledge."""
    labels = np.array([0, 1, 0, 1])
    assert knowledge(np.ones((4, 1)), labels) is None
    assert knowledge(np.ones((4, 2, 3)), labels) is None
    assert knowledge(labels + 7.0, labels) == pytest.approx(1)


@pytest.mark.parametrize(("patience", "fires"), [(300, False), (40, True)])
def test_one_class_may_be_predicted_at_first(run_rule, patience, fires):
    """One predicted class at first is tolerated within `patience_running` if the job mends it."""
    labels, steps = np.arange(20) % 2, []
    for step in range(100):
        scores = np.eye(2)[labels if step > 60 else np.zeros(20, int)]
        steps.append({"CrossEntropyLoss_input_0": scores, "CrossEntropyLoss_input_1": labels})
    assert bool(run_rule("PredictionCollapse", steps_of(steps), patience_running=patience)) == fires


@pytest.mark.parametrize(("length", "fires"), [(40, False), (80, True)])
def test_one_class_may_be_predicted_when_another_model_begins(run_rule, length, fires):
    """Late in a job, as when the next of several models starts, a collapse has to last as well."""
    labels, steps = np.arange(20) % 2, []
    for step in range(300):
        scores = np.eye(2)[np.zeros(20, int) if 200 <= step < 200 + length else labels]
        steps.append({"CrossEntropyLoss_input_0": scores, "CrossEntropyLoss_input_1": labels})
    assert bool(run_rule("PredictionCollapse", steps_of(steps), patience_running=100)) == fires


@pytest.mark.parametrize(("empty", "fires"), [(1, False), (16, True)])
def test_labels_of_pixels_are_taken_from_all_over_the_batch(run_rule, empty, fires):
    """The last pixels of a picture often show the background; labels come sorted if those of whole batches do."""
    pictures, of_background = np.zeros((16, 32, 32)), np.zeros((16, 32, 32))
    pictures[:, 8:24] = 1.0
    of_background[empty:, 8:24] = 1.0
    steps = [
        {"BCEWithLogitsLoss_input_0": RNG.normal(size=labels.shape), "BCEWithLogitsLoss_input_1": labels}
        for labels in [pictures] * 39 + [of_background]
    ]
    assert bool(run_rule("PredictionCollapse", steps_of(steps))) == fires


@pytest.mark.parametrize(
    ("scores", "ids"),
    [
        ([0.0, 0.4, 0.6, 1.0], [0, 0, 1, 1]),
        ([-0.1, 0.4, 0.6, 1.0], [0, 1, 1, 1]),
        ([0.0, 0.4, 0.6, 1.1], [0, 1, 1, 1]),
        ([[0.1, 0.9], [0.8, 0.2]], [1, 0]),
        ([2.0, 0.0], [2, 0]),
    ],
    ids=["probabilities", "a negative score", "a score above 1", "a column for each class", "classes"],
)
def test_predicted_class_follows_from_the_kind_of_scores(scores, ids):
    """Probabilities are split at 0.5, other scores of one column at 0, and columns have the largest."""
    assert predicted_ids(np.array(scores)).tolist() == ids


@pytest.mark.parametrize("scores", [np.array([np.nan, 1.0]), np.array([np.inf, 1.0]), np.array([1j, 1.0])])
def test_scores_that_are_not_finite_or_complex_have_no_predicted_class(scores):
    """NaN, infinite and complex scores predict nothing."""
    assert predicted_ids(scores) is None
