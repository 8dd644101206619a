"""LossDivergence fires when the loss is far above its first values."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.store.format.program import ProgramRecord
from sagemaker_debug_ext.trials import Trial
from support.rule_trials import GLOBAL, fired_at, first_cause, loss_tensors, steps_of, steps_with


@pytest.mark.parametrize(("last", "fires"), [(3.1, True), (2.9, False), (-5.0, False)])
def test_a_loss_far_above_the_first_fires(run_rule, last, fires):
    """The latest five losses fire when they are above three times the first."""
    assert fired_at(run_rule("LossDivergence", steps_with("loss", [1.0] * 3 + [last] * 5))) == ([7] if fires else [])


@pytest.mark.parametrize(("first", "fires"), [([0.5, 1.0, 1.2], False), ([0.5, 9.0, 99.0], True)])
def test_a_lucky_first_value_is_not_where_the_loss_began(run_rule, first, fires):
    """The first three losses are averaged, up to three times the very first."""
    last = 1.7 if not fires else 50.0
    assert bool(run_rule("LossDivergence", steps_with("loss", first + [last] * 5))) == fires


def test_one_outlier_does_not_fire(run_rule):
    """One outlier does not fire, because the median must be too high as well."""
    assert run_rule("LossDivergence", steps_with("loss", [1.0, 1, 1, 1, 99, 1, 1, 1])) == []


def test_validation_does_not_count(run_rule):
    """A validation loss is not a training loss, so it does not fire."""
    steps = steps_with("validation-loss", [1.0] + [9.0] * 9, GLOBAL)
    assert run_rule("LossDivergence", steps) == []


@pytest.mark.parametrize(("turns", "fires"), [((), True), (("generator", "discriminator"), False)])
def test_losses_of_models_that_take_turns_are_not_one_course(run_rule, monkeypatch, turns, fires):
    """The loss of a second model is no rise of the first one's; that of a single model is."""
    monkeypatch.setattr(Trial, "program", ProgramRecord(framework="Keras", turns=turns))
    assert bool(run_rule("LossDivergence", steps_with("loss", [0.1] * 3 + [3.1] * 5))) == fires


@pytest.mark.parametrize(
    ("num_samples", "name", "lives", "fires"),
    [
        (1, "loss_output_0", (1, 2, 3), False),
        (2, "loss_output_0", (1, 2, 3), True),
        (1, "loss_output_0", (1, 2), True),
        (1, "loss", (1, 2, 3), True),
    ],
    ids=["a sum", "no agent", "as many answers", "a mean"],
)
def test_a_sum_over_what_an_agent_has_done_grows_with_its_life(run_rule, num_samples, name, lives, fires):
    """An agent answers for single samples, before it is trained and between updates, as long as it lasts."""
    answer = {"Net_input_0": np.zeros((num_samples, 4))}
    steps = [answer] * 5
    for number, loss in enumerate([10.0] * 3 + [80.0] * 5):
        steps += [*[answer] * lives[number % len(lives)], {name: loss}]
    assert bool(run_rule("LossDivergence", steps_of(steps))) == fires


@pytest.mark.parametrize("rule", ["LossDivergence", "LossPlateau"])
@pytest.mark.parametrize(("other", "fires"), [("loss", False), ("accuracy", True)])
def test_a_part_may_rise_beside_a_total(run_rule, rule, other, fires):
    """A divergence that starts at nearly 0 rises in a sound autoencoder; without a total, a loss that rises fires."""
    steps = [{"kl_loss": 0.1 + 0.05 * step, other: 40.0 * 0.98**step} for step in range(160)]
    assert bool(run_rule(rule, steps_of(steps))) == fires


@pytest.mark.parametrize(("total", "fires"), [([2.0, 2.3], False), ([2.0, 8.0], True)])
def test_the_number_that_is_differentiated_counts_beside_its_terms(run_rule, total, fires):
    """A term that starts at nearly 0 may rise in the sum on which the script calls `backward`; the sum may not."""
    begin, end = total
    steps = [{"MSELoss_output_0": 0.001, "loss_output_0": begin}] * 3 + [
        {"MSELoss_output_0": 0.1, "loss_output_0": end}
    ] * 5
    assert bool(run_rule("LossDivergence", steps_of(steps), tensor_regex="loss_output")) == fires
    assert bool(run_rule("LossDivergence", steps_of(steps))) == fires


@pytest.mark.parametrize(("last", "fires"), [(0.8, False), (4.0, True)])
def test_the_factor_of_a_gradient_scaler_is_no_rise(run_rule, last, fires):
    """The scaled loss doubles with its factor, so that the loss itself counts."""
    losses = [(1.0, 2.0**10)] * 3 + [(last, 2.0**13)] * 5
    steps = [{"CrossEntropyLoss_output_0": loss, "loss_output_0": loss * factor} for loss, factor in losses]
    assert bool(run_rule("LossDivergence", steps_of(steps))) == fires


@pytest.mark.parametrize("rule", ["LossDivergence", "LossPlateau"])
@pytest.mark.parametrize(("fall", "fires"), [(0.99, False), (1.0, True)])
def test_one_of_several_losses_without_a_total_may_rise(run_rule, rule, fall, fires):
    """What a discriminator wins, its generator loses; where none wins, training goes wrong."""
    steps = [{"d_loss": 0.7 * fall**step, "g_loss": 0.7 + 0.02 * step} for step in range(160)]
    assert bool(run_rule(rule, steps_of(steps))) == fires


@pytest.mark.parametrize("rule", ["LossDivergence", "LossSpike"])
@pytest.mark.parametrize(("second", "fires"), [("other/kernel", False), ("dense/kernel", True)])
def test_the_loss_of_the_next_model_is_no_rise(run_rule, rule, second, fires):
    """An autoencoder ends with a small loss, and the classifier that a script trains then begins with a large one."""
    steps = [{"loss": 0.02, f"gradients/{name}Grad": np.ones(2)} for name in ["dense/kernel"] * 25 + [second] * 25]
    for tensors in steps[25:]:
        tensors["loss"] = 2.3
    assert bool(run_rule(rule, steps_of(steps))) == fires


@pytest.mark.parametrize(("num_targets", "fires"), [(1, False), (8, True)])
def test_the_loss_of_a_few_samples_may_begin_small_by_chance(run_rule, num_targets, fires):
    """Single samples may be easy, so that the largest of the first ones tells more of where the loss began."""
    losses = [0.01, 0.5, 0.04, *[0.4] * 50]
    assert bool(run_rule("LossDivergence", steps_of_few(losses, num_targets))) == fires


def steps_of_few(losses, num_targets, varies=True):
    """Return steps with these losses, each of a few targets."""
    scores = np.zeros((num_targets, 3))
    return steps_of(
        loss_tensors(scores, np.full(num_targets, step % 3 if varies else 0), loss) for step, loss in enumerate(losses)
    )


@pytest.mark.parametrize(
    ("num_targets", "varies", "num_large", "fires"),
    [(1, True, 15, False), (1, True, 40, True), (8, True, 5, True), (4, False, 5, True)],
    ids=["few", "long", "many targets", "always the same"],
)
def test_a_few_hard_samples_are_no_divergence(run_rule, num_targets, varies, num_large, fires):
    """Of single samples, forty are averaged; a model that diverges answers all of them worse."""
    steps = steps_of_few([1.0] * 50 + [9.0] * num_large, num_targets, varies)
    assert bool(run_rule("LossDivergence", steps)) == fires


@pytest.mark.parametrize(("num_targets", "fires"), [(1, False), (8, True)])
def test_a_few_easy_samples_are_no_beginning(run_rule, num_targets, fires):
    """The first three of single samples may all be easy."""
    assert bool(run_rule("LossDivergence", steps_of_few([0.1] * 3 + [0.32] * 60, num_targets))) == fires


@pytest.mark.parametrize("losses", [[0.7, 1, 3, 9, 30, *[50] * 60], [1.5**step for step in range(25)]])
def test_single_samples_that_diverge_at_once_fire(run_rule, losses):
    """The mean of many first ones would hold what has diverged already."""
    assert run_rule("LossDivergence", steps_of_few(losses, 4))


def test_losses_of_models_in_turn_are_told_apart_by_their_gradients(run_rule):
    """Numbers on which a script calls ``backward`` all have the same name, as those of a generator."""
    first = [{"loss_output_0": 1.0, "gradient/D": np.ones(1)}] * 4
    later = [{"loss_output_0": 1.0, "gradient/D": np.ones(1)}, {"loss_output_0": 20.0, "gradient/G": np.ones(1)}] * 12
    assert run_rule("LossDivergence", steps_of(first + later)) == []
    assert run_rule("LossDivergence", steps_of(first + [{**later[1], **first[0], "loss_output_0": 20.0}] * 12)) == []
    assert run_rule("LossDivergence", steps_of(first + [{**first[0], "loss_output_0": 20.0}] * 12))


@pytest.mark.parametrize(("is_sorted", "cause"), [(True, "sampling"), (False, "learning rate too high")])
def test_a_loss_that_rises_with_sorted_targets_is_due_to_their_order(run_rule, is_sorted, cause):
    """Each batch is then of another kind than those before."""
    targets = np.random.default_rng(0).normal(size=160)
    targets = (np.sort(targets) if is_sorted else targets).reshape(16, 10)
    steps = steps_of(
        loss_tensors(np.zeros(10), batch, 1.0 + (number > 7) * 9, name="MSELoss")
        for number, batch in enumerate(targets)
    )
    issues = run_rule("LossDivergence", steps)
    assert first_cause(issues) == cause
