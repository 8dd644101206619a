"""Simple models predict each sample from all others, as refitting them without it would."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.rules.inference.baselines.simple_models import (
    DAMPING,
    _answers_of_neighbours,
    _linear_answers,
    answers_and_targets,
    features_of,
    share_explained,
)
from sagemaker_debug_ext.rules.inference.losses import LossObservation


def samples(seed, num_rows, num_features, num_targets=2):
    """Return centred features, and targets that partly follow from them."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(num_rows, num_features))
    features -= features.mean(axis=0)
    return features, features @ rng.normal(size=(num_features, num_targets)) + rng.normal(size=(num_rows, num_targets))


@given(st.integers(0, 1000), st.integers(10, 25), st.integers(1, 40))
def test_a_line_is_fitted_without_the_sample_that_it_predicts(seed, num_rows, num_features):
    """Each prediction is that of a ridge regression over the other samples, with a penalty that suits them best."""
    features, targets = samples(seed, num_rows, num_features)
    products = features @ features.T
    largest = np.linalg.eigvalsh(products)[-1]

    def refitted(penalty):
        answers = []
        ones = np.hstack([np.ones((num_rows, 1)), features])
        penalties = np.diag([0.0, *[penalty] * num_features])
        for row in range(num_rows):
            others, wanted = np.delete(ones, row, axis=0), np.delete(targets, row, axis=0)
            answers.append(ones[row] @ np.linalg.solve(others.T @ others + penalties, others.T @ wanted))
        return np.array(answers)

    candidates = [refitted(damping * largest) for damping in DAMPING]
    best = min(candidates, key=lambda answers: np.sum((answers - targets) ** 2))
    # where a sample decides nearly all of its own fit, few digits are left of its prediction without itself
    np.testing.assert_allclose(_linear_answers(products, targets), best, rtol=0.03, atol=0.03)


@given(st.integers(0, 1000), st.integers(60, 80), st.integers(1, 5))
def test_neighbours_are_the_nearest_other_samples(seed, num_rows, num_features):
    """Each prediction is the mean of the targets of the five nearest other samples."""
    features, targets = samples(seed, num_rows, num_features)
    distances = np.linalg.norm(features[:, None] - features, axis=-1)
    np.fill_diagonal(distances, np.inf)
    expected = targets[np.argsort(distances, axis=1)[:, :5]].mean(axis=1)
    np.testing.assert_allclose(_answers_of_neighbours(features @ features.T, targets), expected)


@pytest.mark.parametrize(
    ("value", "features"),
    [
        (np.array([[0, 2], [1, 0]]), [[1, 0, 0, 0, 1], [0, 1, 1, 0, 0]]),  # a few indices each have their own place
        (np.array([[0, 2, 2, 2, 1]]), [[1, 1, 3]]),  # words are counted
        (np.array([[-1, 3]]), [[-1, 3]]),
        (np.array([[[0.5], [2.0]]], np.float32), [[0.5, 2.0]]),
        (np.array([[[7], [255]]], np.uint8), [[7, 255]]),  # a picture of bytes
    ],
)
def test_a_sample_becomes_a_row_of_numbers(value, features):
    """Indices are no quantities, so each has a place of its own."""
    assert features_of(value).tolist() == features


LOGITS = np.log(np.array([[0.2, 0.8], [0.5, 0.5]]))


@pytest.mark.parametrize(
    ("loss", "answers"),
    [
        (LossObservation("loss", 0.5, LOGITS + 3, np.array([1, 0]), kind="CrossEntropy"), [[0.2, 0.8], [0.5, 0.5]]),
        (LossObservation("loss", 0.5, np.exp(LOGITS), np.array([1, 0])), [[0.2, 0.8], [0.5, 0.5]]),
        (LossObservation("loss", 0.5, np.zeros(2), np.ones(2), kind="BCEWithLogits"), [[0.5], [0.5]]),
        (LossObservation("loss", 0.5, np.array([-2.0, 2]), np.ones(2), kind="BCEWithLogits"), [[0.119], [0.881]]),
        (LossObservation("loss", 0.5, np.array([0.2, 0.8]), np.ones(2), kind="BCE"), [[0.2], [0.8]]),
        (LossObservation("loss", 0.5, np.array([7.0, 8]), np.array([7.5, 9]), kind="MSE"), [[7.0], [8.0]]),
        (LossObservation("loss", 0.5, np.array([7.0, 8]), np.array([7.5, 9]), kind="PoissonNLL"), None),
        (LossObservation("loss", 0.5, np.zeros((2, 3, 4)), np.zeros((2, 4), int), kind="CrossEntropy"), None),
        (LossObservation("loss", 0.5, np.zeros((2, 101)), np.zeros((2, 101)), kind="MSE"), None),
    ],
)
def test_predictions_are_in_the_units_of_the_targets(loss, answers):
    """Classes are compared by their probabilities; other losses than those of the targets themselves are not."""
    found = answers_and_targets(loss)
    assert (found is None) == (answers is None)
    if answers is not None:
        np.testing.assert_allclose(found[0], answers, atol=1e-3)


def test_share_that_is_explained():
    """The best constant explains nothing, and worse predictions explain less than that."""
    targets = np.array([[0.0], [1.0], [2.0]])
    assert share_explained(targets, targets) == 1
    assert share_explained(np.ones((3, 1)), targets) == 0
    assert share_explained(2 - targets, targets) == -3
    assert share_explained(targets, np.ones((3, 1))) is None
