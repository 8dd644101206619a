"""LabelMix fires when a class is missing or rare, or when labels come sorted."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules.extra.data.label_mix import Batch, mixing
from sagemaker_debug_ext.store.format.program import LayerRecord, ProgramRecord
from sagemaker_debug_ext.trials.trial import Trial
from support.rule_trials import EVAL, GLOBAL, TRAIN, fired_at, first_cause, loss_tensors, steps_of, steps_with

RNG = np.random.default_rng(0)


def steps_of_labels(batches, num_classes=3):
    return {
        (TRAIN, step): loss_tensors(np.zeros((len(labels), num_classes)), np.array(labels))
        for step, labels in enumerate(batches)
    }


def test_a_class_that_never_comes_fires(run_rule):
    """A class without a label fires after enough samples, unless the output has very many classes."""
    issues = run_rule("LabelMix", steps_of_labels([[0, 1] * 5] * 31))
    assert fired_at(issues)[:1] == [29]
    assert "Class 2 never comes up" in issues[0].message
    assert run_rule("LabelMix", steps_of_labels([[0, 1] * 4 + [2]] * 40)) == []
    assert run_rule("LabelMix", steps_of_labels([[0, 1] * 5] * 40, num_classes=25)) == []


def test_a_class_that_only_evaluation_has_points_at_the_evaluation_data(run_rule):
    """Training and evaluation have other classes if data that lie in order were split."""
    steps = steps_of_labels([[0, 1] * 5] * 31)
    steps |= {(EVAL, 0): loss_tensors(np.zeros((10, 3)), np.array([0, 2] * 5))}
    issues = run_rule("LabelMix", {(TRAIN, 0): steps.pop((TRAIN, 0)), (EVAL, 0): steps.pop((EVAL, 0)), **steps})
    assert "Class 2 comes up in evaluation, but never among the 300 labels" in issues[0].message
    assert first_cause(issues) == "evaluation data"
    issues = run_rule("LabelMix", {**steps_of_labels([[0, 1] * 5] * 31)})
    assert first_cause(issues) == "class imbalance"


@pytest.mark.parametrize(
    ("labels", "evaluates", "cause"),
    [
        ([0, 1, 2], True, "sampling"),
        ([3, 4, 5], True, "sampling"),
        ([0, 1, 2], False, "class imbalance"),
        ([0, 2, 4], True, "class imbalance"),
        ([0, 1, 2, 3, 4], True, "class imbalance"),
    ],
)
def test_missing_classes_at_one_end_point_at_sorted_data(run_rule, labels, evaluates, cause):
    """Several classes at one end are missing where sorted data were split; others are rare."""
    steps = steps_of_labels([labels * 10] * 61, num_classes=6)
    steps |= {(EVAL, 0): {"Net_input_0": np.zeros((10, 2))}} if evaluates else {}
    assert first_cause(run_rule("LabelMix", steps)) == cause


def test_sorted_labels_fire(run_rule):
    """Batches of one class each fire after a window of them."""
    issues = run_rule("LabelMix", steps_of_labels([[step % 3] * 9 for step in range(25)]))
    assert fired_at(issues)[:1] == [19]
    assert "come sorted" in issues[0].message


@pytest.mark.parametrize(("first", "fires"), [([0] * 10, True), ([0] * 9 + [1], True), ([0] * 8 + [1, 2], False)])
def test_labels_when_batches_are_mixed_enough_then_do_not_fire(run_rule, first, fires):
    """Batches fire while their mean entropy is below 0.6 of that of all labels together."""
    batches = [[(label + step) % 3 for label in first] for step in range(25)]
    assert bool(run_rule("LabelMix", steps_of_labels(batches))) == fires


@pytest.mark.parametrize(("num_classes", "fires"), [(2, False), (40, True)])
def test_labels_of_another_task_after_a_first_one_are_not_compared_with_it(run_rule, num_classes, fires):
    """The same loss may teach many classes at first, and then two; two of many are sorted."""
    first = [RNG.integers(0, 40, 40) for _ in range(20)]
    steps = steps_of_labels(first, num_classes=40)
    for step in range(20, 40):
        steps[TRAIN, step] = loss_tensors(np.zeros((16, num_classes)), RNG.integers(0, 2, 16))
    assert bool(run_rule("LabelMix", steps)) == fires


def test_rare_classes_among_all_labels_fire(run_rule):
    """Labels saved as a whole, as by boosted trees, fire if a class is too rare, and fractions are not classes."""
    for rare, fires in ((1, True), (2, False)):
        labels = np.array([0.0] * 11 + [1.0] * rare)
        assert bool(run_rule("LabelMix", steps_with("labels", [labels], GLOBAL))) == fires
    assert run_rule("LabelMix", steps_with("labels", [np.linspace(0, 1, 30)], GLOBAL)) == []


def test_counts_are_no_classes(run_rule):
    """Whole labels are not classes if the metric is of counts or other numbers."""
    labels = np.array([0.0] * 11 + [1.0])
    for metric, fires in (("validation-logloss", True), ("train-poisson-nloglik", False), ("train-rmse", False)):
        assert bool(run_rule("LabelMix", {(GLOBAL, 0): {"labels": labels, metric: 1.0}})) == fires


def test_only_labels_of_samples_count(run_rule):
    """Labels count only if each sample has one, not if the words of a sample have."""
    flat = steps_of_labels([[0, 1] * 5] * 40)
    for rows, fires in ((10, True), (5, False)):
        steps = {key: {**step, "Net_input_0": np.zeros((rows, 2))} for key, step in flat.items()}
        assert bool(run_rule("LabelMix", steps)) == fires
    words = {(TRAIN, step): loss_tensors(np.zeros((10, 3, 4)), np.zeros((10, 4), int)) for step in range(40)}
    assert run_rule("LabelMix", words) == []


def test_small_batches_drawn_at_random_are_mixed():
    """The entropy of small batches drawn at random is corrected to about that of all labels."""
    rng = np.random.default_rng(0)
    found = mixing([Batch.of(rng.integers(0, 8, 8)) for _ in range(200)])
    assert found is not None
    assert 0.85 < found < 1.1
    assert mixing([Batch.of(np.zeros(8, int))] * 20) is None


@pytest.mark.parametrize(("units", "fires"), [(4, True), (6, False)])
def test_the_right_candidate_may_always_be_the_first(run_rule, units, fires):
    """Labels that are all 0 are tolerated if no layer has a unit for each candidate."""
    tensors = loss_tensors(RNG.normal(size=(20, 4)), np.zeros(20, np.int64)) | {"head.weight": np.ones((units, 3))}
    assert bool(run_rule("LabelMix", steps_of([tensors] * 45))) == fires


@pytest.mark.parametrize(("num_words", "fires"), [(3, False), (30, True)])
def test_words_that_a_decoder_is_never_to_answer_are_not_missed(run_rule, monkeypatch, num_words, fires):
    """A model that embeds its own classes predicts words, such as a start token that is never a target."""
    program = ProgramRecord(framework="PyTorch", layers=(LayerRecord(name="e", type="Embedding", units=5),))
    monkeypatch.setattr(Trial, "program", program)
    tensors = loss_tensors(RNG.normal(size=(20, 3)), np.arange(20) % 2 + 1)
    parameters = {"head.weight": np.ones((3, 4)), "e.weight": np.ones((num_words, 5))}
    assert bool(run_rule("LabelMix", steps_of([tensors | parameters] * 45))) == fires


def test_complex_labels_give_no_verdict(run_rule):
    """Complex labels are not classes, and do not end the rule with an error."""
    assert run_rule("LabelMix", steps_of([{"labels": np.array([1 + 2j, 1, 1])}] * 3)) == []


@pytest.mark.parametrize(("num_calls", "fires"), [(2, True), (3, False)])
def test_words_that_come_one_by_one_lack_some_tokens(run_rule, num_calls, fires):
    """A decoder computes its loss for each word, and the token of padding is no word; two heads are two tasks."""
    tensors = loss_tensors(RNG.normal(size=(40, 4)), RNG.integers(1, 4, 40))
    tensors |= {f"CrossEntropyLoss_output_{number}": 1.0 for number in range(num_calls)}
    assert bool(run_rule("LabelMix", steps_of([tensors] * 45))) == fires
