"""Losses are observed with their scores and targets, whatever form a framework gives them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sagemaker_debug_ext.rules.inference.losses import (
    LossObservation,
    as_class_ids,
    class_answers,
    class_labels,
    label_entropy,
    observed_losses,
)
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.store.format.program import LossRecord, ProgramRecord
from sagemaker_debug_ext.trials import Trial
from support.rule_trials import TRAIN, loss_tensors


def test_cross_entropy_is_that_of_softmax():
    """The cross entropy is of softmax along the class axis, and targets out of range are ignored."""
    scores = np.log([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]])
    view = LossObservation("loss", 1.0, scores, np.array([0, 2]))
    assert view.cross_entropy == pytest.approx(-np.log([0.5, 0.8]).mean())
    of_sequences = LossObservation("loss", 1.0, scores.T[None], np.array([[0, -100]]))
    assert of_sequences.cross_entropy == pytest.approx(-np.log(0.5))


@pytest.mark.parametrize(("arguments", "classes"), [({"ignore_index": 0}, [2]), ({"ignore_index": -100}, [0, 2, 0])])
def test_a_class_that_the_loss_ignores_does_not_count(make_trial, monkeypatch, arguments, classes):
    """Padding often has a number of its own among the classes, which the program record tells."""
    loss = LossRecord(name="CrossEntropyLoss", type="CrossEntropyLoss", arguments=arguments)
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", losses=(loss,)))
    scores = np.log([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8], [0.2, 0.2, 0.6]])
    trial = make_trial({(TRAIN, 0): loss_tensors(scores, np.array([0, 2, 0]))})
    view = StepView(trial, 0)
    (observed,) = observed_losses(view)
    assert observed.classes.tolist() == classes
    shares = [0.8] if classes == [2] else [0.5, 0.8, 0.2]
    assert observed.cross_entropy == pytest.approx(-np.log(shares).mean())
    assert class_labels(view, "CrossEntropyLoss_input_1").tolist() == classes


@pytest.mark.parametrize(("fed", "is_loss"), [((), False), (("Process",), True)])
def test_what_a_model_gets_that_returns_its_loss_is_no_prediction(make_trial, monkeypatch, fed, is_loss):
    """A Gaussian process compares inputs and targets by a kernel; one that another model feeds may be a loss."""
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", model="Process", fed_models=fed))
    inputs = {"Process_input_0": np.linspace(0, 1, 8), "Process_input_1": np.ones(8)}
    trial = make_trial({(TRAIN, 0): {"Process_output_0": np.array(1.5), **inputs}})
    assert bool(observed_losses(StepView(trial, 0))) == is_loss


def test_targets_with_the_shape_of_scores_are_not_classes():
    """Targets of the shape of the scores, and one column of scores, have no classes."""
    assert LossObservation("loss", 1.0, np.ones((4, 2)), np.ones((4, 2))).num_classes is None
    assert LossObservation("loss", 1.0, np.ones((4, 1)), np.ones(4, int)).num_classes is None


@pytest.mark.parametrize(
    ("kind", "value", "expected"), [("MSE", 9.0, True), (None, 4.0, True), (None, -2.0, True), (None, 9.0, False)]
)
def test_a_loss_of_targets_is_recognised_by_name_or_value(kind, value, expected):
    """A loss that wants the targets themselves is recognised by its name, or by the value of a squared error."""
    view = LossObservation("loss", value, np.ones((9, 1)) * 3.0, np.ones((9, 1)), kind=kind)
    assert view.is_regression_loss is expected
    assert not view.expects_logits


def test_residual_variance_does_not_depend_on_place_and_scale():
    """The residual variance does not depend on place and scale, and too few pairs have none."""
    targets = np.random.default_rng(0).normal(size=40)
    view = LossObservation("loss", 1.0, 5 - 3 * targets, targets)
    assert view.residual_variance == pytest.approx(0, abs=1e-12)
    assert LossObservation("loss", 1.0, np.ones(40), targets).residual_variance == pytest.approx(
        np.var(targets) * 40 / 38
    )
    assert LossObservation("loss", 1.0, np.ones(7), np.ones(7)).residual_variance is None


@pytest.mark.parametrize(("slope", "share"), [(0.01, 1.0), (-1.0, 0.0), (0.0, 0.0)])
def test_share_explained_is_that_of_a_fit_that_rises(slope, share):
    """Whatever the level of the scores; scores that fall where targets rise explain nothing."""
    targets = np.random.default_rng(0).integers(0, 2, 40)
    assert LossObservation("loss", 1.0, 0.1 + slope * targets, targets).share_explained == pytest.approx(share)
    assert LossObservation("loss", 1.0, np.ones(40), np.ones(40)).share_explained is None


@given(hnp.arrays(np.int64, st.integers(1, 50), elements=st.integers(0, 5)))
def test_no_constant_prediction_beats_the_entropy_of_the_labels(labels):
    """No constant prediction has a cross entropy below the entropy of the labels."""
    shares = np.random.default_rng(0).dirichlet(np.ones(6))
    assert label_entropy(labels) <= -np.log(shares[labels]).mean() + 1e-9


SHARES = np.array([[0.5, 0.25, 0.25], [0.1, 0.8, 0.1]])


@pytest.mark.parametrize(
    "labels", [np.array([0, 1]), np.array([[0.0], [1.0]]), np.eye(3)[:2]], ids=["flat", "column", "vectors"]
)
def test_probabilities_of_classes_are_scores(keras_views, labels):
    """Probabilities of classes become scores, whatever form the labels have."""
    tensors = {"loss": 0.4, "predictions": SHARES, "labels": labels}
    view = keras_views({(TRAIN, 0): tensors}).at(0)
    (loss,) = observed_losses(view)
    assert (loss.name, loss.num_classes, loss.targets.tolist()) == ("loss", 3, [0, 1])
    assert loss.cross_entropy == pytest.approx(-np.log([0.5, 0.8]).mean())
    assert class_labels(view, "labels").tolist() == [0, 1]
    assert class_answers(view, "predictions").argmax(axis=1).tolist() == [0, 1]


def test_sequences_have_a_row_for_each_place(keras_views):
    """Sequences have a row of scores for each place, with classes along the last axis in Keras."""
    shares = np.stack([SHARES, SHARES[::-1]])
    tensors = {"loss": 0.4, "predictions": shares, "labels": np.array([[0, 1], [1, 0]])}
    view = keras_views({(TRAIN, 0): tensors}).at(0)
    (loss,) = observed_losses(view)
    assert (loss.scores.shape, loss.num_classes) == ((2, 3, 2), 3)
    assert class_answers(view, "predictions").argmax(axis=1).tolist() == [0, 1, 1, 0]


def test_probabilities_of_one_column_are_logits(keras_views):
    """Probabilities in one column become logits of two classes."""
    tensors = {"loss": 0.4, "predictions": np.array([[0.5], [0.9]]), "labels": np.array([0, 1])}
    (loss,) = observed_losses(keras_views({(TRAIN, 0): tensors}).at(0))
    assert loss.is_binary
    np.testing.assert_allclose(loss.scores, [[0], [np.log(9)]], atol=1e-12)


def test_predictions_of_numbers_are_not_classes(keras_views):
    """Predictions of numbers are not classes, even where targets are whole."""
    tensors = {"loss": 0.4, "predictions": np.array([[0.5], [7.0]]), "labels": np.array([0, 7])}
    view = keras_views({(TRAIN, 0): tensors}).at(0)
    (loss,) = observed_losses(view)
    assert (loss.num_classes, loss.is_binary, loss.targets.shape) == (None, False, (2, 1))
    assert class_labels(view, "labels") is None
    assert class_answers(view, "predictions") is None


@pytest.mark.parametrize("targets", [np.array([0, 3]), np.array([0.5, 1]), np.ones((2, 3)), np.array(["a", "b"])])
def test_targets_that_are_not_one_class_each_are_refused(targets):
    """Targets beyond the scores, fractions, several at once and texts are not classes."""
    assert as_class_ids(SHARES, targets) is None


@pytest.mark.parametrize("targets", [np.tile([0.0, 1.0], (4, 4)), np.tile([0.25, 0.75], (4, 4))], ids=["yes", "shares"])
def test_a_sum_of_binary_cross_entropies_is_known_as_one(targets):
    """Whether targets are 0 and 1, or probabilities such as pixels."""
    scores = np.linspace(-1, 1, 32).reshape(4, 8)
    of_each = np.logaddexp(0, scores) - scores * targets
    for value, is_sum in ((of_each.sum(), True), (of_each.mean(), False)):
        assert LossObservation("loss", float(value), scores, targets, kind="BCEWithLogits").is_sum == is_sum
