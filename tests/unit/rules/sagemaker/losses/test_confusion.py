"""Confusion fires when the share of right predictions of a class is low, or that of another class high."""

from __future__ import annotations

import tempfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule
from sagemaker_debug_ext.rules.inference.class_labels import confusion_matrix
from sagemaker_debug_ext.rules.sagemaker.losses import confusion
from sagemaker_debug_ext.rules.sagemaker.losses.confusion import Confusion
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from support.rule_trials import KERAS_COLLECTIONS, TRAIN, fired_at

ANSWERS = st.builds(
    lambda pairs, dtype, kept: {
        name: np.array(values).astype(dtype) for name, values in zip(kept, zip(*pairs, strict=True), strict=False)
    },
    st.lists(st.tuples(st.integers(-1, 4), st.integers(0, 3)) | st.integers(0, 3).map(lambda n: (n, n)), min_size=1,
             max_size=9),
    st.sampled_from([np.int64, np.int64, np.int32, np.uint8, np.float32]),
    st.sampled_from([("labels", "predictions"), ("labels", "predictions"), ("labels",), ("predictions",)]),
)  # fmt: skip
"""Labels and predictions of a step; now and then one of them is missing, or is not a class."""


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30))
def test_the_matrix_equals_that_of_a_naive_loop(pairs):
    """The matrix equals a count pair by pair, with a row for each label and a column for each prediction."""
    labels, predictions = np.array(pairs).T
    expected = np.zeros((4, 4), int)
    for label, prediction in pairs:
        expected[label, prediction] += 1
    assert np.array_equal(confusion_matrix(labels, predictions, 4), expected)
    size = int(max(labels.max(), predictions.max())) + 1
    assert np.array_equal(confusion_matrix(labels, predictions), expected[:size, :size])


@settings(max_examples=60)
@given(st.lists(ANSWERS, max_size=8), st.sampled_from([None, 2, 4]))
def test_screening_of_a_block_finds_the_same_as_evaluating_each_step(steps, category_no):
    """Screening many steps at once finds the same issues and errors as evaluating each step."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        writer = SmallTrial(folder)
        for number, tensors in enumerate(steps):
            writer.write(TRAIN, number, {"loss": 1.0, **tensors})
        writer.end()

        def found():
            trial = create_trial(folder, index_cache=False)
            given = {"category_no": category_no, "min_diag": 0.6, "max_off_diag": 0.4}
            evaluation = evaluate([create_rule("Confusion", trial, given)], trial, clock=lambda: 0.0)
            return [issue.to_json() for issue in evaluation], evaluation.statuses

        screened = found()
        patch.setattr(BuiltinRule, "can_screen_block", False)
        assert screened == found()


def test_sound_steps_are_not_evaluated_one_by_one(make_trial, monkeypatch):
    """Sound steps are screened as a block, even when not each class occurs at each step."""
    rng = np.random.default_rng(0)
    classes = [rng.integers(0, 6, 5) for _ in range(20)]
    trial = make_trial({(TRAIN, step): {"labels": ids, "predictions": ids} for step, ids in enumerate(classes)})
    rule = create_rule("Confusion", trial)
    monkeypatch.setattr(rule, "_failures", None)
    evaluation = evaluate([rule], trial)
    assert evaluation.run() == []
    assert [(status.status, status.num_steps) for status in evaluation.statuses] == [("NoIssuesFound", 20)]


@pytest.mark.parametrize("method", ["evaluate", "result_at", "issues_at"])
def test_a_subclass_that_judges_in_its_own_way_judges_each_step(make_trial, method):
    """A subclass that overrides a method of evaluation is not screened by its parent's method."""

    def find(self, view_or_step):
        return [self.issue(view_or_step if isinstance(view_or_step, int) else view_or_step.step)]

    classes = {"labels": np.arange(3), "predictions": np.arange(3)}
    trial = make_trial({(TRAIN, 0): classes, (TRAIN, 1): classes})
    strict = type("Strict", (Confusion,), {method: find})
    assert fired_at(evaluate([strict(trial)], trial)) == [0, 1]


def test_a_subclass_that_requires_tensors_skips_steps_without_them(make_trial):
    """A subclass that requires a tensor skips the steps that lack it."""

    class Requiring(Confusion):
        def set_required_tensors(self, step):
            self.req_tensors.add("never saved", steps=[step])

    trial = make_trial({(TRAIN, 0): {"labels": np.arange(3), "predictions": np.arange(3)}})
    evaluation = evaluate([Requiring(trial)], trial)
    evaluation.run()
    assert [(status.num_steps, status.num_skipped) for status in evaluation.statuses] == [(0, 1)]


def test_steps_with_very_many_labels_are_counted_one_by_one(make_trial, monkeypatch):
    """Steps with very many labels, such as pixels, are counted one by one, which takes less memory."""
    ids = np.zeros((9, 300), np.uint8)
    trial = make_trial({(TRAIN, step): {"labels": ids, "predictions": ids} for step in range(3)})
    monkeypatch.setattr(confusion, "confusion_matrices", None)
    assert fired_at(evaluate([create_rule("Confusion", trial)], trial)) == []


def test_a_perfect_matrix_never_fires(run_rule):
    """Predictions that are all right do not fire, however many classes there are."""
    classes = np.repeat(np.arange(10), 3)
    assert run_rule("Confusion", {(TRAIN, 0): {"labels": classes, "predictions": classes}}) == []


@pytest.mark.parametrize(("wrong", "fires"), [(1, False), (2, True)])
def test_shares_are_of_the_predictions_of_a_class(run_rule, wrong, fires):
    """A share is of the predictions of a class, and 9 of 10 right ones are enough."""
    predictions = np.repeat([0, 1], [10, 10])
    labels = predictions.copy()
    labels[:wrong] = 1
    assert bool(run_rule("Confusion", {(TRAIN, 0): {"labels": labels, "predictions": predictions}})) == fires


def test_the_largest_share_of_another_class_is_limited_by_itself(run_rule):
    """The share of another class fires above its own limit, even if the diagonal is within its limit."""
    labels, predictions = np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0])
    given = {"min_diag": 0, "max_off_diag": "0.2"}
    (issue,) = run_rule("Confusion", {(TRAIN, 0): {"labels": labels, "predictions": predictions}}, **given)
    assert (issue.value, issue.threshold) == (0.25, 0.2)


def test_a_class_that_is_never_predicted_is_never_right(run_rule):
    """A class that has labels and no predictions fires, and a class without either is ignored."""
    labels, predictions = np.array([0, 0, 2]), np.array([0, 0, 0])
    steps = {(TRAIN, 0): {"labels": labels, "predictions": predictions}}
    (issue,) = run_rule("Confusion", steps, max_off_diag=1, min_diag=0.5, category_no=5)
    assert "class 2" in issue.message


def test_each_step_is_evaluated_by_itself(run_rule):
    """Counts are not carried to the next step, and labels without as many predictions give no verdict."""
    bad, good = np.array([0, 1]), np.array([1, 0])
    steps = {
        (TRAIN, 0): {"labels": bad, "predictions": good}, (TRAIN, 1): {"labels": bad, "predictions": bad},
        (TRAIN, 2): {"labels": bad, "predictions": np.array([1, 0, 1])}, (TRAIN, 3): {"labels": bad},
    }  # fmt: skip
    assert fired_at(run_rule("Confusion", steps)) == [0]


def test_collections_are_searched_where_the_tensor_is_missing(run_rule, make_trial):
    """A collection of the parameter's name is used at steps at which no tensor has that name."""
    steps = {
        (TRAIN, 0): {"truth": np.array([0, 1]), "guess": np.array([1, 0])},
        (TRAIN, 1): {"truth": np.array([0, 1]), "guess": np.array([1, 0]), "predictions": np.array([0, 1])},
    }
    trial = make_trial(steps, collections={"labels": ["^truth"], "predictions": ["^guess"]})
    assert fired_at(run_rule("Confusion", trial)) == [0]


def test_a_name_is_no_pattern(run_rule):
    """The name of a tensor is compared literally, whatever characters it has."""
    steps = {(TRAIN, 0): {"labels[0]": np.array([0, 1]), "guess[0]": np.array([1, 0])}}
    assert fired_at(run_rule("Confusion", steps, labels="labels[0]", predictions="guess[0]")) == [0]


@pytest.mark.parametrize(("ids", "number"), [([-1, 0], None), ([0, 2], 2)])
def test_impossible_classes_end_the_rule_with_an_error(make_trial, ids, number):
    """A class that is negative, or not below the number of classes, ends the rule with an error."""
    trial = make_trial({(TRAIN, 0): {"labels": np.array(ids), "predictions": np.array([0, 1])}})
    evaluation = evaluate([create_rule("Confusion", trial, {"category_no": number})], trial)
    evaluation.run()
    assert evaluation.statuses[0].status == "Error"
    assert "classes from 0 to" in evaluation.statuses[0].details


def keras_steps(targets, answers, loss):
    return {(TRAIN, step): {"labels": targets, "predictions": answers, "loss": loss} for step in range(3)}


LABELS = np.arange(30) % 3
SHARES = np.full((30, 3), 0.1) + 0.7 * np.eye(3)[LABELS]


@pytest.mark.parametrize("rule", ["Confusion", "ClassImbalance"])
@pytest.mark.parametrize(
    ("targets", "answers", "fires"),
    [
        (np.eye(3)[LABELS], SHARES, False),
        (np.eye(3)[LABELS], SHARES[::-1], True),
        (LABELS[:, None], SHARES, False),
        (LABELS.astype(np.float32), SHARES[::-1], True),
        (np.linspace(-9, 99, 30)[:, None], np.linspace(0, 1, 30)[:, None], False),
    ],
    ids=["one-hot", "one-hot, wrong", "indices", "indices, wrong", "quantities"],
)
def test_keras_labels_may_be_one_hot_or_numbers(run_rule, make_trial, rule, targets, answers, fires):
    """One-hot labels and scores of several classes are read as classes, and quantities give no verdict."""
    is_one_hot = targets.shape == answers.shape
    classes = targets.argmax(1) if is_one_hot else LABELS
    loss = float(-np.log(answers[np.arange(30), classes]).mean()) if answers.shape[1] > 1 else 7.0
    trial = make_trial(keras_steps(targets, answers, loss), collections=KERAS_COLLECTIONS)
    parameters = {"samples": 20} if rule == "ClassImbalance" else {}
    assert bool(run_rule(rule, trial, **parameters)) == fires
