"""Trials that are sound but out of the ordinary: rules neither fail on them nor find anything."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.rules.extra.data import leaking_feature
from sagemaker_debug_ext.rules.extra.data.leaking_feature import explained
from sagemaker_debug_ext.rules.extra.updates import gradients_not_reset
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN, EVAL = ModeKeys.TRAIN, ModeKeys.EVAL
RNG = np.random.default_rng(0)


def course(values, mode=TRAIN):
    return {(mode, step): value for step, value in enumerate(values)}


class TestGradientDecay:
    @pytest.mark.parametrize("odd", [np.inf, np.nan])
    def test_a_gradient_that_is_not_finite_says_nothing_of_the_others(self, run_rule, odd):
        """As of a loss that is scaled up, for half precision, by more than it can bear."""
        names = [f"{letter}_weight" for letter in "abcde"]
        sound = {name: np.ones((2, 3)) for name in names} | {f"gradient/{name}": np.ones((2, 3)) for name in names}
        beyond = {**sound, "gradient/a_weight": np.full((2, 3), odd)}
        vanishing = {"gradient/b_weight": np.full((2, 3), 1e-7)}
        assert run_rule("GradientDecay", course([beyond, *[sound] * 3])) == []
        issues = run_rule("GradientDecay", course([{**beyond, **vanishing}, *[{**sound, **vanishing}] * 3]))
        assert [issue.step for issue in issues] == [2, 3]


class TestMessages:
    @staticmethod
    def messages(run_rule, num_weights):
        """Return what is said of gradients that add up, of a momentum that is too large, and of vanishing gradients."""
        names = [f"{letter}_weight" for letter in "abcdefgh"[: num_weights + 4]]
        found = []
        for momentum in (1.0, 0.999):
            rng, steps, velocity = np.random.default_rng(0), {}, 0.0
            weight = rng.normal(size=60)
            for step in range(40):
                gradient = rng.normal(size=60)
                steps[TRAIN, step] = dict.fromkeys(names[:num_weights], weight)
                steps[TRAIN, step] |= {f"gradient/{name}": gradient for name in names[:num_weights]}
                velocity = momentum * velocity + gradient
                weight = weight - 0.01 * velocity
            found.append(run_rule("GradientsNotReset", steps)[0].message)
        sizes = {name: 1e-12 if number < num_weights else 1.0 for number, name in enumerate(names)}
        step = {name: np.ones((2, 3)) for name in names}
        step |= {f"gradient/{name}": np.full((2, 3), size) for name, size in sizes.items()}
        return [*found, run_rule("GradientDecay", course([step]))[0].message]

    def test_a_message_reads_well_for_one_tensor_and_for_several(self, run_rule):
        """No verb stands beside the names, whose number it would have to follow."""
        for num_weights, names in ((1, "'a_weight': "), (3, "'a_weight' and 2 other tensors: ")):
            reset, runs_on, vanish = self.messages(run_rule, num_weights)
            assert reset.startswith(f"Gradients are not reset in {names}the change of the first is what")
            assert runs_on.startswith(f"Updates run on in {names}the change of the first is that of a momentum")
            assert f"the layers in 'gradient/{names[1:]}the mean absolute value of the first is" in vanish


class TestGradientsNotReset:
    def test_of_many_weights_a_part_of_each_tells_enough(self, make_trial, monkeypatch):
        """What is remembered does not grow with their number, and may be of weights that are not always saved."""
        monkeypatch.setattr(gradients_not_reset, "MAX_FOLLOWED", 200)
        monkeypatch.setattr(gradients_not_reset, "FEWEST_FOLLOWED", 10)
        names = [f"{letter}_weight" for letter in "abcdefgh"]
        weight, total, steps = RNG.normal(size=60), 0.0, {}
        for step in range(12):
            gradient = RNG.normal(size=60)
            saved = names if step % 5 == 0 else names[:4]
            steps[TRAIN, step] = dict.fromkeys(saved, weight) | {f"gradient/{name}": gradient for name in saved}
            total = total + gradient
            weight = weight - 0.01 * total
        trial = make_trial(steps)
        rule = create_rule("GradientsNotReset", trial)
        assert [issue.tensors for issue in evaluate([rule], trial)][-1] == tuple(names[:4])
        assert {watch.weight.size for watch in rule._watches.values()} == {25}


class TestLeakingFeature:
    @staticmethod
    def step(inputs, targets, loss="CrossEntropyLoss"):
        scores = RNG.normal(size=(len(targets), 3)) if loss == "CrossEntropyLoss" else RNG.normal(size=len(targets))
        return {"Net_input_0": inputs, f"{loss}_input_0": scores, f"{loss}_input_1": targets, f"{loss}_output_0": 1.0}

    def test_inputs_of_different_lengths_are_no_table(self, run_rule):
        """Such as sounds, padded to the longest of a batch."""
        batches = [self.step(RNG.normal(size=(50, width)), RNG.integers(0, 3, 50)) for width in (5, 7, 6, 5, 4, 8)]
        assert run_rule("LeakingFeature", course(batches)) == []

    @pytest.mark.parametrize("odd", [np.nan, np.inf, 1j])
    def test_targets_that_are_no_numbers_to_come_near_to_give_no_verdict(self, run_rule, odd):
        """Others of the batch would not tell either."""
        targets = RNG.normal(size=256) + np.where(np.arange(256) == 3, odd, 0)
        batch = self.step(np.stack([targets.real, targets.real], axis=1), targets, "MSELoss")
        assert run_rule("LeakingFeature", course([batch] * 3)) == []

    @pytest.mark.parametrize(("times", "fires"), [(1, False), (9, False), (10, True)])
    def test_a_rare_class_must_come_up_often_enough_to_be_told(self, run_rule, times, fires):
        """Words that a single text has are no leak because nothing else is of its class."""
        targets = np.arange(256) % 2
        targets[:times] = 2
        words = RNG.integers(0, 2, (256, 30)).astype(float)
        words[:, 4] = targets == 2
        assert bool(run_rule("LeakingFeature", course([self.step(words, targets)] * 3))) == fires

    def test_a_row_that_is_far_off_is_no_line(self):
        """Of heavy-tailed numbers one is larger than all others together."""
        targets, features = RNG.normal(size=(200,)), RNG.normal(size=(200, 2))
        features[:, 1] = 2 * targets
        targets[7] = features[7, 0] = 1e4
        found = explained(features, targets)
        assert found[0] < 0.2
        assert found[1] == pytest.approx(1)

    def test_a_large_batch_is_not_kept_as_a_whole(self, run_rule, monkeypatch):
        """As many rows as are wanted still come together over batches."""
        monkeypatch.setattr(leaking_feature, "MAX_ELEMENTS", 300)
        kept = []
        monkeypatch.setattr(leaking_feature, "explained", lambda rows, _: kept.append(rows.shape) or np.zeros(3))
        batches = [self.step(RNG.normal(size=(999, 3)), RNG.normal(size=999), "MSELoss") for _ in range(3)]
        assert run_rule("LeakingFeature", course(batches)) == []
        assert kept == [(200, 3)]


class TestTreeGrowth:
    @staticmethod
    def rounds(split, gain, shape=(5,)):
        """Return rounds of one tree, whose first two nodes split."""
        table = {
            "trees/Node": np.arange(5).reshape(shape),
            "trees/Split": np.array([split, split, np.nan, np.nan, np.nan]),
            "trees/Gain": np.array([gain, gain, 0.5, 0.5, 0.5]),
            "trees/Cover": np.array([100.0, 60.0, 40.0, 30.0, 30.0]),
        }
        return course([{**table, "train-logloss": 0.6}] * 6, ModeKeys.GLOBAL)

    @pytest.mark.parametrize(("split", "gain", "fires"), [(1.5, 0.0, True), (1.5, 9.0, False), (np.nan, 9.0, False)])
    def test_splits_by_categories_are_no_leaves(self, run_rule, split, gain, fires):
        """They have no number to split at, as leaves have none."""
        assert bool(run_rule("TreeGrowth", self.rounds(split, gain))) == fires

    def test_tables_of_another_shape_give_no_verdict(self, run_rule):
        """Whoever has written them."""
        assert run_rule("TreeGrowth", self.rounds(1.5, 0.0, (5, 1))) == []


def test_evaluation_that_has_been_better_is_not_one_that_takes_no_notice(run_rule):
    """A loss that falls, and then rises for what is learnt by heart, comes by its first value again."""
    steps = {}
    for number, evaluated in enumerate([1.0, 0.7, 0.5, 0.7, 0.9, 1.003, 1.2]):
        steps |= {(TRAIN, 12 * number + each): {"loss": 0.3 if number > 1 else 1.0} for each in range(12)}
        steps[EVAL, number] = {"loss": evaluated}
    steps |= {(TRAIN, 84 + each): {"loss": 0.2} for each in range(12)}
    assert run_rule("EvaluationMismatch", steps) == []


def test_updates_that_lead_nowhere_are_told_of_in_training_only(run_rule):
    """Weights that are saved in evaluation as well tell nothing new."""
    steps = {}
    for step in range(52):
        weight = np.full(4, 1 + 4e-4 * step)
        steps[TRAIN, step] = {"w_weight": weight, "gradient/w_weight": np.ones(4), "loss": 1.0}
        if step == 50:
            steps |= {(EVAL, each): {"w_weight": weight, "loss": 1.0} for each in range(5)}
    assert [issue.mode for issue in run_rule("LearningRateTooLow", steps)] == [TRAIN]
