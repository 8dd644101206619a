"""FlatLoss fires when the loss hardly depends on the weights at the start of training."""

from __future__ import annotations

import numpy as np
import pytest

from support.rule_trials import loss_tensors, steps_of


@pytest.mark.parametrize(
    ("gradient", "fires"),
    [(0.0049, True), (0.0051, False), (1e-5, False)],  # two weights of norm 2, loss of 0.66
)
def test_a_loss_that_depends_on_the_weights_too_little_fires(run_rule, gradient, fires):
    """A small gradient in relation to loss and weights fires, and hardly any gradient at all has another cause."""
    weight = np.ones((2, 2))
    step = {"w_weight": weight, "gradient/w_weight": gradient * weight, "loss": 0.66}
    assert [issue.step for issue in run_rule("FlatLoss", steps_of([step] * 8))] == ([4] if fires else [])


def test_only_the_beginning_tells_whether_a_loss_is_flat(run_rule):
    """A loss that becomes flat later does not fire, because it may be learnt."""
    weight = np.ones((2, 2))
    flat = {"w_weight": weight, "gradient/w_weight": 0.001 * weight, "loss": 0.66}
    assert run_rule("FlatLoss", steps_of([{**flat, "gradient/w_weight": weight}, *[flat] * 8])) == []


@pytest.mark.parametrize(("differentiated", "fires"), [(0.0132, False), (0.66, True)])
def test_loss_when_another_one_was_differentiated_then_only_that_one_counts(run_rule, differentiated, fires):
    """Gradients are those of the sum over a batch divided by its size, and not of the sum itself."""
    weight = np.ones((2, 2))
    step = {"w_weight": weight, "gradient/w_weight": 0.001 * weight}
    step |= {"BCELoss_output_0": 0.66, "loss_output_0": differentiated}
    issues = run_rule("FlatLoss", steps_of([step] * 8))
    assert [issue.tensors for issue in issues] == ([("loss_output_0",)] if fires else [])


@pytest.mark.parametrize(("target", "score", "fires"), [(60.0, 1.0, False), (60.0, 7.0, True), (2.0, 0.001, True)])
def test_large_targets_make_a_loss_that_predictions_hardly_change(run_rule, target, score, fires):
    """A squared error is then mostly the square of the targets, which are not scaled."""
    weight = np.ones((2, 2))
    losses = loss_tensors(np.full((8, 1), score), np.full((8, 1), target), (target - score) ** 2, "MSELoss")
    step = {"w_weight": weight, "gradient/w_weight": 1e-3 * (target - score) ** 2 * weight, **losses}
    assert bool(run_rule("FlatLoss", steps_of([step] * 8))) == fires
