"""ClassImbalance fires when labels are uneven, or when a class is mispredicted too often."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules import create_rule, evaluate
from support.rule_trials import EVAL, TRAIN, loss_tensors, steps_of


@pytest.mark.parametrize(("rare", "fires"), [(10, False), (9, True)])
def test_a_ratio_of_exactly_the_threshold_is_tolerated(run_rule, rare, fires):
    """The ratio of the largest to the smallest class fires only above the threshold."""
    steps = {(TRAIN, 0): {"my_labels": np.repeat([0, 1], [100, rare])}}
    issues = run_rule("ClassImbalance", steps, samples=1)
    assert bool(issues) == fires


def test_counts_go_over_all_steps_and_the_verdict_waits_for_enough_labels(run_rule):
    """Labels are counted over all steps, and steps with labels are evaluated once there are enough."""
    steps = {
        (TRAIN, 0): {"labels": np.zeros(30)}, (TRAIN, 1): {"labels": np.append(np.zeros(19), 1)},
        (TRAIN, 2): {"x": 1.0}, (EVAL, 0): {"labels": np.ones(2)},
    }  # fmt: skip
    issues = run_rule("ClassImbalance", steps, samples=50)
    assert [(issue.step, round(issue.value, 1)) for issue in issues] == [(1, 49), (3, 16.3)]


def test_one_class_alone_is_not_unbalanced(run_rule):
    """A single class does not fire, because there is no other to compare it with."""
    assert run_rule("ClassImbalance", {(TRAIN, 0): {"labels": np.zeros(600)}}) == []


@pytest.mark.parametrize(("wrong", "fires"), [(7, False), (8, True)])
def test_a_class_may_be_mispredicted_up_to_a_share(run_rule, wrong, fires):
    """A class that is mispredicted more often than the limit fires, and the issue names the predictions first."""
    labels = np.repeat([0, 1], [10, 10])
    predictions = labels.copy()
    predictions[:wrong] = 1
    steps = {(TRAIN, 0): {"labels": labels, "predictions": predictions}}
    issues = run_rule("ClassImbalance", steps, samples=20)
    assert [issue.tensors for issue in issues] == ([("predictions", "labels")] if fires else [])


def test_scores_of_several_classes_need_argmax(run_rule, make_trial):
    """Scores of several classes are reduced with `argmax`, and without it the rule ends with an error."""
    steps = {(TRAIN, 0): {"labels": np.array([0, 1] * 10), "predictions": np.tile([[0.1, 7.0]], (20, 1))}}
    (issue,) = run_rule("ClassImbalance", steps, samples=20, argmax="true")
    assert (issue.value, "class 0" in issue.message.lower()) == (1.0, True)
    trial = make_trial(steps)
    evaluation = evaluate([create_rule("ClassImbalance", trial, {"samples": 20})], trial)
    evaluation.run()
    assert evaluation.statuses[0].status == "Error"
    assert "arg-max" in evaluation.statuses[0].details


def test_predictions_of_another_length_do_not_count(run_rule):
    """Predictions are ignored when there are more or fewer of them than labels."""
    steps = {(TRAIN, 0): {"labels": np.array([0, 1]), "predictions": np.array([1, 0, 1])}}
    assert run_rule("ClassImbalance", steps, samples=1) == []


def test_several_label_tensors_are_joined_in_the_order_of_names(run_rule):
    """Several tensors of labels are concatenated by name, as are predictions, so that they stay paired."""
    steps = {
        (TRAIN, 0): {
            "a_labels": np.zeros(4), "b_labels": np.ones(4),
            "a_predictions": np.zeros(4), "b_predictions": np.ones(4),
        }
    }  # fmt: skip
    assert run_rule("ClassImbalance", steps, samples=1) == []


@pytest.mark.parametrize(
    ("shape", "inputs", "fires"),
    [((60,), 60, True), ((60,), 6, False), ((20, 3), 20, False), ((60, 1), 60, True)],
)
def test_labels_of_which_a_sample_has_several_may_be_left_out(run_rule, shape, inputs, fires):
    """With `per_sample`, labels are ignored if a sample has several, as the words of a text do."""
    labels = np.array([0] * 57 + [1] * 3).reshape(shape)
    steps = steps_of([{"CrossEntropyLoss_input_1": labels, "Net_input_0": np.ones((inputs, 5))}] * 10)
    options = {"labels_regex": "Loss_input_1", "predictions_regex": "^$"}
    assert bool(run_rule("ClassImbalance", steps, **options, per_sample=True)) == fires
    assert run_rule("ClassImbalance", steps, **options)


@pytest.mark.parametrize(("first_axis", "fires"), [(1, False), (2, True)])
def test_imbalance_when_one_long_sequence_is_given_then_its_positions_are_no_samples(run_rule, first_axis, fires):
    """With `per_sample`, a second axis as long as the labels is that of samples, unless the batch is one sequence."""
    labels = np.array([0] * 57 + [1] * 3)
    inputs = np.zeros((first_axis, 60), np.int64)
    steps = steps_of([{"CrossEntropyLoss_input_1": labels, "Net_input_0": inputs}] * 10)
    options = {"labels_regex": "Loss_input_1", "predictions_regex": "^$"}
    assert bool(run_rule("ClassImbalance", steps, **options, per_sample=True)) == fires


@pytest.mark.parametrize(("weight", "fires"), [(1.0, True), (5.0, False)])
def test_imbalance_when_the_loss_is_weighted_then_is_tolerated_if_asked(run_rule, weight, fires):
    """With `unless_weighed`, imbalance is tolerated if the loss value shows that rare classes weigh more."""
    rng = np.random.default_rng(0)
    steps = []
    for step in range(12):
        labels = np.array([float(step == 3)] + [0.0] * 19)
        scores = rng.normal(size=20)
        errors = np.logaddexp(0, scores) - scores * labels
        tensors = {"BCEWithLogitsLoss_input_0": scores, "BCEWithLogitsLoss_input_1": labels}
        steps.append({**tensors, "BCEWithLogitsLoss_output_0": float(np.mean(errors * (1 + (weight - 1) * labels)))})
    parameters = {"labels_regex": "Loss_input_1", "predictions_regex": "^$", "samples": 100}
    assert run_rule("ClassImbalance", steps_of(steps), **parameters) != []
    assert bool(run_rule("ClassImbalance", steps_of(steps), unless_weighed=True, **parameters)) == fires


@pytest.mark.parametrize(("scores", "fires"), [([0.0, 1.0], True), ([-0.01, 1.0], False), ([0.0, 1.01], False)])
def test_imbalance_when_scores_are_probabilities_then_their_loss_is_not_compared(run_rule, scores, fires):
    """Probabilities have no cross entropy of logits, so the loss value does not show a weight of rare classes."""
    targets = np.array([0.0] * 19 + [1.0])
    tensors = loss_tensors(np.resize(scores, 20), targets, 5.0, "BCEWithLogitsLoss")
    options = {"labels_regex": "Loss_input_1", "predictions_regex": "^$", "samples": 100, "unless_weighed": True}
    assert bool(run_rule("ClassImbalance", steps_of([tensors] * 6), **options)) == fires


def test_labels_of_texts_are_skipped_for_good(run_rule):
    """Where any step has several labels of a sample, one label of each at other steps is no class of its own either."""
    labels = np.array([0] * 60 + [1])
    texts = {"Net_input_0": np.zeros((4, 16)), **loss_tensors(np.zeros((64, 2)), np.arange(64) % 2)}
    words = {"Net_input_0": np.zeros((61, 3)), **loss_tensors(np.zeros((61, 2)), labels)}
    given = {"labels_regex": "Loss_input_1", "predictions_regex": "^$", "samples": 50, "per_sample": True}
    assert run_rule("ClassImbalance", steps_of([words] * 2), **given)
    assert run_rule("ClassImbalance", steps_of([texts, *[words] * 2]), **given) == []


@pytest.mark.parametrize(("num_classes", "fires"), [(30, True), (31, False)])
def test_labels_of_a_vocabulary_are_skipped(run_rule, num_classes, fires):
    """Some characters of a text are rare; with that many classes, labels are taken for those of a text."""
    labels = np.array([*range(num_classes)] + [0] * 60)
    tensors = loss_tensors(np.zeros((len(labels), num_classes)), labels)
    given = {"labels_regex": "Loss_input_1", "predictions_regex": "^$", "samples": 50, "per_sample": True}
    assert bool(run_rule("ClassImbalance", steps_of([tensors]), **given)) == fires


@pytest.mark.parametrize(
    ("share", "found", "num_steps", "fires"),
    [(0.01, 0.0, 45, True), (0.01, 0.1, 45, False), (0.2, 0.0, 45, False), (0.01, 0.0, 30, False)],
    ids=["never predicted", "sometimes", "frequent", "too early"],
)
@pytest.mark.parametrize("name", ["CrossEntropyLoss", "BCELoss", "BCEWithLogitsLoss"])
def test_a_rare_class_of_pixels_must_be_predicted_some_time(run_rule, name, share, found, num_steps, fires):
    """A plain loss of all pixels hardly depends on it."""
    rng = np.random.default_rng(0)
    steps = {}
    for step in range(num_steps):
        labels = (rng.random((8, 32, 32)) < share).astype(int)
        margins = np.where((labels == 1) & (rng.random(labels.shape) < found), 1.0, -1.0)
        scores = {
            "CrossEntropyLoss": np.stack([np.zeros(labels.shape), margins], axis=1),
            "BCELoss": 1 / (1 + np.exp(-margins)),
            "BCEWithLogitsLoss": margins,
        }[name]
        targets = labels if name == "CrossEntropyLoss" else labels.astype(float)
        entropy = np.mean(np.logaddexp(0, margins) - margins * labels)
        steps[TRAIN, step] = {"Net_input_0": np.zeros((8, 1, 32, 32)), **loss_tensors(scores, targets, entropy, name)}
    given = {"labels_regex": "Loss_input_1", "predictions_regex": "^$", "per_sample": True}
    assert bool(run_rule("ClassImbalance", steps, **given, unless_weighed=True)) == fires


@pytest.mark.parametrize(
    ("share", "found", "num_steps", "fires"),
    [(0.1, 0.0, 45, True), (0.1, 0.05, 45, False), (0.25, 0.0, 45, False), (0.1, 0.0, 30, False), (0.01, 0, 45, False)],
    ids=["never predicted", "sometimes", "frequent", "too early", "too few"],
)
@pytest.mark.parametrize("name", ["CrossEntropyLoss", "BCELoss", "BCEWithLogitsLoss"])
def test_a_rare_class_of_samples_must_be_predicted_some_time(run_rule, name, share, found, num_steps, fires):
    """A class of a tenth is no rare one, but a model that never predicts it is right for nine in ten."""
    rng = np.random.default_rng(0)
    steps = {}
    for step in range(num_steps):
        labels = (rng.random(32) < share).astype(int)
        chosen = (labels == 1) & (rng.random(32) < found)
        scores = {
            "CrossEntropyLoss": np.stack([np.ones(32), 2.0 * chosen], axis=1),
            "BCELoss": np.where(chosen, 0.9, 0.1),
            "BCEWithLogitsLoss": np.where(chosen, 2.0, -2.0),
        }[name]
        targets = labels if name == "CrossEntropyLoss" else labels.astype(float)
        steps[TRAIN, step] = {"Net_input_0": np.zeros((32, 3)), **loss_tensors(scores, targets, name=name)}
    given = {"labels_regex": "Loss_input_1", "predictions_regex": "^$", "per_sample": True, "threshold_imbalance": 200}
    assert bool(run_rule("ClassImbalance", steps, **given)) == fires


@pytest.mark.parametrize(("num_classes", "fires"), [(2, True), (6, False)])
def test_one_of_many_classes_is_not_rare(run_rule, num_classes, fires):
    """A model that predicts one class for all samples never predicts the others, which says nothing about these."""
    rng, steps = np.random.default_rng(0), []
    for _ in range(45):
        labels = np.where(rng.random(32) < 0.9, rng.integers(0, num_classes - 1, 32), num_classes - 1)
        scores = np.eye(num_classes)[np.zeros(32, int)]
        steps.append({"Net_input_0": np.zeros((32, 3)), **loss_tensors(scores, labels)})
    given = {"labels_regex": "Loss_input_1", "predictions_regex": "^$", "per_sample": True, "threshold_imbalance": 200}
    assert bool(run_rule("ClassImbalance", steps_of(steps), **given)) == fires


TASKS = {
    "another after the first": (lambda step: step >= 40, "CrossEntropyLoss", False),
    "another of another loss": (lambda step: step >= 40, "BCEWithLogitsLoss", False),
    "two in turn": (lambda step: step % 20 >= 10, "CrossEntropyLoss", False),
    "one that is unbalanced": (lambda step: False, "CrossEntropyLoss", True),
    "one that is unbalanced in turn": (lambda step: step % 20 >= 10, "CrossEntropyLoss", True),
}


@pytest.mark.parametrize(("is_other", "name", "fires"), TASKS.values(), ids=TASKS)
def test_labels_of_different_tasks_are_counted_apart(run_rule, is_other, name, fires):
    """A pre-training on two classes says nothing about the balance of the eight classes after it."""
    rng, steps = np.random.default_rng(0), []
    for step in range(80):
        if is_other(step):
            steps.append(loss_tensors(rng.normal(size=(32, 8)), rng.integers(0, 8, 32)))
        else:
            labels = (rng.random(32) < (0.05 if fires else 0.5)).astype(int)
            scores = rng.normal(size=32 if name.startswith("BCE") else (32, 2))
            steps.append(loss_tensors(scores, labels if scores.ndim > 1 else labels.astype(float), name=name))
        steps[-1]["Net_input_0"] = np.zeros((32, 3))
    given = {"labels_regex": "Loss_input_1", "predictions_regex": "^$", "threshold_imbalance": 4}
    assert bool(run_rule("ClassImbalance", steps_of(steps), **given, per_sample=True)) == fires
    # by default all labels count together, as for SageMaker's rule
    assert run_rule("ClassImbalance", steps_of(steps), **given)
