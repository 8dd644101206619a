"""Losses and parameters are read as a step used them, whatever a framework saves."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sagemaker_debug_ext.rules.inference.training import (
    LOSSES,
    loss_at,
    loss_reduction_size,
    loss_values,
    value_before_update,
)
from sagemaker_debug_ext.rules.reading.step_view import StepReader
from support.rule_trials import EVAL, TRAIN


def test_a_running_mean_over_the_epoch_is_undone(keras_views):
    """A running mean over the epoch becomes the loss of each batch, and a new epoch starts anew."""
    losses = [[4.0, 2.0, 3.0, 1.0], [0.5, 0.7]]
    batches = [(batch, np.mean(epoch[: batch + 1])) for epoch in losses for batch in range(len(epoch))]
    views = keras_views({(TRAIN, step): {"loss": mean, "batch": n} for step, (n, mean) in enumerate(batches)})
    found = [loss_at(views.at(step), "loss") for step in range(6)]
    np.testing.assert_allclose(found, [*losses[0], *losses[1]])


def test_steps_that_were_not_saved_are_averaged(keras_views):
    """The loss at a saved step is the mean over the steps since the one saved before."""
    means = {0: 4.0, 2: 3.0, 4: 2.0}
    views = keras_views({(TRAIN, step): {"loss": mean, "batch": step} for step, mean in means.items()})
    np.testing.assert_allclose([loss_at(views.at(index), "loss") for index in range(3)], [4.0, 2.5, 0.5])


@pytest.mark.parametrize("saved", [(0, 1, 2, 3), (0, 2, 3), (0, 3)])
def test_a_running_mean_counts_samples(keras_views, saved):
    """The last batch of an epoch has as many samples as are left, and counts as much."""
    losses, sizes = np.array([4.0, 2.0, 3.0, 10.0]), np.array([8, 8, 8, 2])
    means = np.cumsum(losses * sizes) / np.cumsum(sizes)
    tensors = {step: {"loss": means[step], "batch": step, "labels": np.ones(sizes[step])} for step in saved}
    answers = {step: {**of_step, "predictions": of_step["labels"]} for step, of_step in tensors.items()}
    views = keras_views({(TRAIN, step): of_step for step, of_step in answers.items()})
    found = [loss_at(views.at(index), "loss") for index in range(len(saved))]
    bounds = [0, *(step + 1 for step in saved)]
    parts = [slice(start, end) for start, end in itertools.pairwise(bounds)]
    np.testing.assert_allclose(found, [np.average(losses[part], weights=sizes[part]) for part in parts])


@pytest.mark.parametrize("later", [{"loss": 2.0}, {"loss": 2.0, "batch": 9}, {"loss": 1e9, "batch": 1}])
def test_a_running_mean_is_kept_if_it_cannot_be_undone(keras_views, later):
    """A running mean is kept without batch numbers, after a gap in them, or when digits would be lost."""
    views = keras_views({(TRAIN, 0): {"loss": 2e9 if later["loss"] > 2 else 2.0, "batch": 0}, (TRAIN, 1): later})
    assert loss_at(views.at(1), "loss") == later["loss"]


def test_a_loss_of_each_sample_is_averaged(gluon_views):
    """A loss of each sample is averaged, and its size tells over how many samples gradients are summed."""
    name = "l2loss0_output_0"
    view = gluon_views({(TRAIN, 0): {name: np.array([1.0, 3.0]), "dense0_weight": np.ones((8, 4))}}).at(0)
    assert (loss_values(view, LOSSES), loss_reduction_size(view)) == ({name: 2.0}, 2)


def test_pytorch_has_losses_of_one_element(make_trial):
    """A PyTorch loss has one element, and gradients are not summed."""
    view = StepReader(make_trial({(TRAIN, 0): {"a_loss": np.ones(2), "b_loss": 3.0}})).at(0)
    assert (loss_values(view, LOSSES), loss_reduction_size(view)) == ({"b_loss": 3.0}, 1)


def test_a_parameter_saved_after_the_update_is_that_of_the_step_before(gluon_views):
    """A parameter saved after the update was used at the next step, and evaluation does not update it."""
    steps = {(TRAIN, step): {"dense0_weight": np.full(2, step)} for step in range(2)}
    views = gluon_views({**steps, (EVAL, 0): {"dense0_weight": np.ones(2)}})
    used = [value_before_update(views.at(step), "dense0_weight") for step in range(3)]
    assert used[0] is None
    assert [value.tolist() for value in used[1:]] == [[0, 0], [1, 1]]


def test_a_first_update_of_nothing_is_seen(gluon_views):
    """A first parameter was used as saved if its gradient is 0."""
    tensors = {"dense0_weight": np.ones(2), "gradient/dense0_weight": np.zeros(2)}
    assert value_before_update(gluon_views({(TRAIN, 0): tensors}).at(0), "dense0_weight").tolist() == [1, 1]
