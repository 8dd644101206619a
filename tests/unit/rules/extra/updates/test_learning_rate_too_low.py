"""LearningRateTooLow fires when weights hardly move, or have stopped, while the loss does not fall."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.store.format.program import OptimizerRecord, ProgramRecord
from sagemaker_debug_ext.trials import Trial
from support.rule_trials import EVAL, TRAIN, first_cause, loss_tensors, steps_of, steps_with


@pytest.mark.parametrize(("factor", "fires"), [(1.3, False), (1.1, False), (1 + 1e-6, True), (1.0, False)])
def test_usual_update_when_too_small_then_fires(run_rule, factor, fires):
    """A tiny update at each step fires, and a large one or none at all does not."""
    steps = steps_with("w_weight", [np.full(3, factor**step) for step in range(15)])
    assert bool(run_rule("LearningRateTooLow", steps)) == fires


def test_one_fast_weight_is_enough_not_to_be_too_slow(run_rule):
    """One weight that moves fast enough keeps the rule from firing."""
    steps = {
        (TRAIN, step): {"a_weight": np.full(3, 1 + 1e-6 * step), "b_weight": np.full(3, 1.01**step)}
        for step in range(15)
    }
    assert run_rule("LearningRateTooLow", steps) == []


@pytest.mark.parametrize(("last", "fires"), [(0.3, True), (0.05, False)])
def test_tiny_updates_of_a_model_that_has_converged_do_not_fire(run_rule, last, fires):
    """Near the optimum, gradients are small, and so are updates."""
    losses = [1.0] * 5 + [last] * 20
    steps = steps_of({"w_weight": np.full(3, (1 + 1e-6) ** step), "loss": loss} for step, loss in enumerate(losses))
    assert bool(run_rule("LearningRateTooLow", steps, window=15)) == fires


@pytest.mark.parametrize(("stride", "start", "fires"), [(10, 2.0, False), (10, 1.0, True), (1, 2.0, True)])
def test_weights_that_are_saved_once_an_epoch_may_go_in_circles(run_rule, stride, start, fires):
    """Saved a whole epoch apart, weights that went far seem to rest, although each step moves them."""
    way = [start, *(1 + 1e-7 * step for step in range(30))]
    steps = {(TRAIN, stride * place): {"w_weight": np.full(3, point)} for place, point in enumerate(way)}
    assert bool(run_rule("LearningRateTooLow", steps)) == fires


def steps_of_weight(change, losses, count=60, gradient=1.0):
    return steps_of(
        {
            "w_weight": np.full(4, 1 + sum(change(earlier) for earlier in range(step))),
            "gradient/w_weight": np.full(4, gradient),
            "loss": losses(step),
        }
        for step in range(count)
    )


@pytest.mark.parametrize(
    ("size", "loss_falls", "fires"), [(4e-4, False, True), (8e-4, False, False), (4e-4, True, False)]
)
def test_many_updates_that_lead_nowhere_fire_if_the_loss_stays(run_rule, size, loss_falls, fires):
    """Fifty updates that together move a weight too little fire, unless the loss falls."""
    issues = run_rule(
        "LearningRateTooLow",
        steps_of_weight(lambda step: size * (-1) ** step, lambda step: 1 - 0.01 * step if loss_falls else 1.0),
    )
    assert [issue.step for issue in issues] == ([50] if fires else [])


@pytest.mark.parametrize(("last", "patience", "fires"), [(0.2, 0, True), (0.2, 100, False), (0.9, 100, True)])
def test_first_updates_that_hardly_move_may_be_enough(run_rule, last, patience, fires):
    """With `patience_running`, updates that lead nowhere at first are tolerated if the loss halves later."""
    steps = steps_of_weight(lambda step: 4e-4 * (-1) ** step, lambda step: 1.0 if step < 60 else last, count=120)
    issues = run_rule("LearningRateTooLow", steps, patience_running=patience)
    assert [issue.step for issue in issues] == [50] * fires


@pytest.mark.parametrize(
    ("moves", "gradient", "fires"),
    [
        (lambda step: step < 3, 1.0, True),
        (lambda step: step < 3, 0.0, False),
        (lambda step: step % 8 == 7, 1.0, False),  # gradients are gathered over eight steps
        (lambda _: False, 1.0, False),  # what never moves is another rule's business
    ],
)
def test_weights_that_have_stopped_fire(run_rule, moves, gradient, fires):
    """A weight that stopped fires if it has a gradient, and one that moves rarely or never does not."""
    steps = steps_of_weight(lambda step: 0.1 * moves(step), lambda _: 1.0, count=40, gradient=gradient)
    assert bool(run_rule("LearningRateTooLow", steps)) == fires


@pytest.mark.parametrize(("last", "fires"), [(0.5, True), (0.01, False)])
def test_weights_that_have_stopped_when_the_loss_has_fallen_far_have_converged(run_rule, last, fires):
    """A loop over all samples at once converges to the last digit, and gradients are then tiny but not 0."""
    steps = steps_of_weight(lambda step: 0.1 * (step < 3), lambda step: 1.0 if step < 3 else last, count=40)
    assert bool(run_rule("LearningRateTooLow", steps)) == fires


@pytest.mark.parametrize("least", [0.0, 1e-8])
@pytest.mark.parametrize(("num_small", "fires"), [(40, False), (80, True)])
def test_a_schedule_may_end_at_a_rate_of_nearly_0(run_rule, least, num_small, fires):
    """The last fifth of all updates may be tiny, as a cosine leaves them."""
    num_large = 200
    losses = iter([1.0, *[0.6] * (num_large + num_small)])
    steps = steps_of_weight(
        lambda step: 1e-3 if step < num_large else least, lambda _: next(losses), count=num_large + num_small
    )
    assert bool(run_rule("LearningRateTooLow", steps)) == fires


@pytest.mark.parametrize(
    ("held", "cause"),
    [
        ([("w_weight",), ()], "parameters not trained"),
        ([("w_weight",), ("w_weight",)], "learning rate too low"),
        ([()], "learning rate too low"),  # what it has is unknown
    ],
)
def test_weights_that_have_stopped_when_the_optimizer_has_others_are_not_trained(run_rule, monkeypatch, held, cause):
    """A layer that replaces another one after the optimizer was made is none of its parameters."""
    optimizers = tuple(OptimizerRecord(type="Adam", parameters=names) for names in held)
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="PyTorch", optimizers=optimizers))
    steps = steps_of_weight(lambda step: 0.1 * (step < 3), lambda _: 1.0, count=40)
    assert first_cause(run_rule("LearningRateTooLow", steps)) == cause


@pytest.mark.parametrize(("known", "fires"), [(0.8, False), (0.0, True)])
def test_a_model_that_was_trained_before_may_be_tuned_slowly(run_rule, known, fires):
    """Slow updates are tolerated if the predictions show that the model was trained before."""
    targets = np.random.default_rng(0).normal(size=(32, 1))
    tensors = {"MSELoss_input_0": known * targets, "MSELoss_input_1": targets, "loss": 1.0}
    tensors["MSELoss_output_0"] = np.array(1.0)
    steps = steps_of({**tensors, "w_weight": np.full(3, 1 + 4e-4 * step)} for step in range(60))
    assert bool(run_rule("LearningRateTooLow", steps)) == fires


def test_slow_updates_fire_at_training_steps_only(run_rule):
    """Weights saved in evaluation as well do not fire again there."""
    steps = {}
    for step in range(52):
        weight = np.full(4, 1 + 4e-4 * step)
        steps[TRAIN, step] = {"w_weight": weight, "gradient/w_weight": np.ones(4), "loss": 1.0}
        if step == 50:
            steps |= {(EVAL, eval_step): {"w_weight": weight, "loss": 1.0} for eval_step in range(5)}
    assert [issue.mode for issue in run_rule("LearningRateTooLow", steps)] == [TRAIN]


@pytest.mark.parametrize(
    ("noise", "last", "count", "is_known", "fires"),
    [
        (0.0, 1.2, 60, True, True),
        (0.3, 1.2, 60, True, False),
        (0.0, 1.97, 60, True, False),
        (0.0, 0.6, 60, True, False),
        (0.0, 1.2, 15, True, False),
        (0.0, 1.2, 60, False, False),
    ],
    ids=["straight", "to and fro", "flat", "has skill", "few steps", "unknown loss"],
)
def test_weights_that_go_straight_ahead_to_the_end_fire(run_rule, noise, last, count, is_known, fires):
    """While the loss still falls, steps all in one direction are too small or too few, unless the model has skill."""
    rng = np.random.default_rng(0)
    targets = np.linspace(-1, 1, 100)

    def tensors(step):
        share = 2 - (2 - last) * step / (count - 1)  # of the error of the best constant
        answers = targets * (1 - np.sqrt(share))
        loss = loss_tensors(answers, targets, np.mean((answers - targets) ** 2), "MSELoss")
        weight = np.linspace(1, 2, 8) * (1 + step / 10) + rng.normal(0, noise, 8)
        return {"w_weight": weight, **(loss if is_known else {"loss": share})}

    issues = run_rule("LearningRateTooLow", steps_of(map(tensors, range(count))))
    assert [issue.step for issue in issues] == [count - 1] * fires
    assert first_cause(issues) == ("learning rate too low" if fires else None)
