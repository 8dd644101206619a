"""What tells one cause from another: what fires each way of telling, and what just does not."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules.causes import likely_causes
from sagemaker_debug_ext.rules.extra.data.input_scale import STANDS_FOR_MISSING, placeholder
from sagemaker_debug_ext.rules.extra.data.leaking_feature import explained
from sagemaker_debug_ext.rules.extra.layers import train_eval_mixup
from sagemaker_debug_ext.rules.extra.layers.train_eval_mixup import drops_by_chance
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN, EVAL, GLOBAL = ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.GLOBAL
RNG = np.random.default_rng(0)


def course(values, mode=TRAIN):
    return {(mode, step): value for step, value in enumerate(values)}


def first_cause(issues):
    return likely_causes(issues)[0].name if issues else None


class TestLearningRateTooLow:
    @staticmethod
    def steps(change, losses, count=60, gradient=1.0):
        return course(
            {
                "w_weight": np.full(4, 1 + sum(change(each) for each in range(step))),
                "gradient/w_weight": np.full(4, gradient),
                "loss": losses(step),
            }
            for step in range(count)
        )

    @pytest.mark.parametrize(
        ("size", "loss_falls", "fires"), [(4e-4, False, True), (8e-4, False, False), (4e-4, True, False)]
    )
    def test_many_updates_that_lead_nowhere_fire_if_the_loss_stays(self, run_rule, size, loss_falls, fires):
        """Slow learning is learning as well."""
        issues = run_rule(
            "LearningRateTooLow", self.steps(lambda _: size, lambda step: 1 - 0.01 * step if loss_falls else 1.0)
        )
        assert [issue.step for issue in issues] == ([50] if fires else [])

    @pytest.mark.parametrize(
        ("moves", "gradient", "fires"),
        [
            (lambda step: step < 3, 1.0, True),
            (lambda step: step < 3, 0.0, False),
            (lambda step: step % 8 == 7, 1.0, False),  # gradients are gathered over eight steps
            (lambda _: False, 1.0, False),  # what never moves is another rule's business
        ],
    )
    def test_weights_that_have_stopped_fire(self, run_rule, moves, gradient, fires):
        """Unless nothing tells them where to go, or updates are rare anyway."""
        steps = self.steps(lambda step: 0.1 * moves(step), lambda _: 1.0, count=40, gradient=gradient)
        assert bool(run_rule("LearningRateTooLow", steps)) == fires


class TestActivationCollapse:
    @staticmethod
    def steps(changes):
        varied = RNG.normal(size=(8, 6))
        same = np.tile(varied[:1], (8, 1))
        usual = {"Net_input_0": varied, "fc_input_0": varied, "fc_output_0": varied, "Net_fc.weight": np.ones((6, 6))}
        return course([{**usual, **changes(step, varied, same)} for step in range(6)])

    @pytest.mark.parametrize(
        ("since", "cause"),
        [(0, "dead units"), (2, "dead units")],
    )
    def test_a_layer_without_weights_that_makes_all_the_same_is_dead(self, run_rule, since, cause):
        """Its message tells whether it was so from the first step on."""
        issues = run_rule(
            "ActivationCollapse",
            self.steps(lambda step, x, same: {"gelu_input_0": x, "gelu_output_0": same * 0 if step >= since else x}),
        )
        assert first_cause(issues) == cause
        assert ("since the first step" in issues[0].message) == (since == 0)

    def test_a_layer_that_lets_hardly_anything_through_is_dead(self, run_rule):
        """What is left of it may still differ, but counts for nothing beside the offsets of the next layer."""
        for share, cause in ((1e-9, "dead units"), (1e-5, "initialisation")):
            issues = run_rule(
                "ActivationCollapse",
                self.steps(
                    lambda _, x, same, share=share: {
                        "silu_input_0": x,
                        "silu_output_0": share * x,
                        "fc2_input_0": share * x,
                        "fc2_output_0": same,
                        "Net_fc2.weight": np.ones((6, 6)),
                    }
                ),
            )
            assert first_cause(issues) == cause

    def test_what_becomes_the_same_between_layers_is_a_matter_of_how_they_are_put_together(self, run_rule):
        """As a mean over the batch; a layer that hands on what is the same anyway does not count."""

        def pooled(_, __, same):
            return {"head_input_0": same + 1, "head_output_0": same, "Net_head.weight": np.ones((6, 6))}

        def handed_on(_, __, same):
            return {"head_input_0": same, "head_output_0": same, "Net_head.weight": np.ones((6, 6))}

        assert first_cause(run_rule("ActivationCollapse", self.steps(pooled))) == "architecture"
        assert first_cause(run_rule("ActivationCollapse", self.steps(handed_on))) == "initialisation"

    def test_attention_that_sees_nothing_of_its_samples_is_named(self, run_rule):
        """Its weights are not to blame."""
        issues = run_rule(
            "ActivationCollapse",
            self.steps(lambda _, x, same: {"self_attn_input_0": x, "self_attn_output_0": same}),
        )
        assert first_cause(issues) == "architecture"

    def test_a_layer_that_is_made_of_others_is_not_dead_itself(self, run_rule):
        """What is in it tells where the fault lies."""
        issues = run_rule(
            "ActivationCollapse",
            self.steps(lambda _, x, same: {"Net_output_0": same, "fc_output_0": same}),
        )
        assert first_cause(issues) == "initialisation"


class TestLossOrOutput:
    @pytest.mark.parametrize(("loss", "cause"), [(1.0, "loss or output"), (0.0, "parameters not trained")])
    def test_gradients_that_are_all_zero_come_from_the_loss(self, run_rule, loss, cause):
        """Unless it is 0, and there is nothing to learn any more."""
        weights = {"a_weight": np.ones((2, 2)), "b_weight": np.ones((2, 2))}
        gradients = {f"gradient/{name}": np.zeros((2, 2)) for name in weights}
        issues = run_rule("FrozenParameters", course([{**weights, **gradients, "loss": loss}] * 8))
        assert first_cause(issues) == cause

    @pytest.mark.parametrize(
        ("gradient", "fires"),
        [(0.0049, True), (0.0051, False), (1e-5, False)],  # two weights of norm 2, loss of 0.66
    )
    def test_a_loss_that_depends_on_the_weights_too_little_fires(self, run_rule, gradient, fires):
        """Where there is hardly any gradient at all, it has vanished."""
        weight = np.ones((2, 2))
        step = {"w_weight": weight, "gradient/w_weight": gradient * weight, "loss": 0.66}
        assert [issue.step for issue in run_rule("FlatLoss", course([step] * 8))] == ([4] if fires else [])

    def test_only_the_beginning_tells_whether_a_loss_is_flat(self, run_rule):
        """Later it may be learnt."""
        weight = np.ones((2, 2))
        flat = {"w_weight": weight, "gradient/w_weight": 0.001 * weight, "loss": 0.66}
        assert run_rule("FlatLoss", course([{**flat, "gradient/w_weight": weight}, *[flat] * 8])) == []

    @pytest.mark.parametrize(("spread", "loss", "fires"), [(0.3, 0.05, True), (0.7, 0.05, False), (0.3, 0.2, False)])
    def test_a_loss_that_any_answer_pleases_fires(self, run_rule, spread, loss, fires):
        """If hardly anything is left of it, and of what tells samples apart."""
        noise, targets = RNG.normal(size=(20, 2, 3)), RNG.integers(0, 2, 20).astype(float)

        def step(number):
            share = 0.0 if number < 10 else 1.0
            return {
                "FunctionLoss_input_0": 1 + noise * (1 + share * (spread - 1)) * 0.2,
                "FunctionLoss_input_1": targets,
                "FunctionLoss_output_0": 1 + share * (loss - 1),
            }

        assert bool(run_rule("LossDirection", course(map(step, range(30))))) == fires

    @pytest.mark.parametrize(("labels", "fires"), [([[1, 1, 0], [0, 1, 1]], True), ([[0.5, 0.5, 0], [0, 0, 1]], False)])
    def test_several_labels_of_a_sample_are_no_shares(self, run_rule, labels, fires):
        """Cross entropy over classes wants those."""
        step = {
            "CrossEntropyLoss_input_0": RNG.normal(size=(2, 3)),
            "CrossEntropyLoss_input_1": np.array(labels, dtype=float),
            "CrossEntropyLoss_output_0": 1.0,
        }
        assert bool(run_rule("LossInputMismatch", course([step] * 25))) == fires

    @pytest.mark.parametrize(("axes", "fires"), [((0, 1), False), ((0, 2, 1), False), (None, True)])
    def test_a_divergence_wants_logarithms(self, run_rule, axes, fires):
        """Of shares that add up to 1 along the last axis, or the second."""
        shares = RNG.dirichlet(np.ones(3), size=(8, 5) if axes == (0, 2, 1) else 8)
        given = shares if axes is None else np.log(shares)
        step = {"KLDivLoss_input_0": given, "KLDivLoss_input_1": shares, "KLDivLoss_output_0": 1.0}
        assert bool(run_rule("LossInputMismatch", course([step] * 25))) == fires

    @pytest.mark.parametrize(
        ("factor", "last", "fires"), [(32, 1.0, True), (32, 0.8, False), (1, 1.0, False), (16, 1.0, False)]
    )
    def test_a_loss_that_is_a_sum_fires_if_it_gets_nowhere(self, run_rule, factor, last, fires):
        """Means are usual, and sums are no fault as long as they fall."""
        targets = RNG.normal(size=(32, 1)) * 3

        def step(number):
            share = 1.0 if number < 5 else np.sqrt(last)
            return {
                "MSELoss_input_0": targets * (1 + share),
                "MSELoss_input_1": targets,
                "MSELoss_output_0": factor * np.mean((targets * share) ** 2),
            }

        assert bool(run_rule("LossInputMismatch", course(map(step, range(25))))) == fires


class TestInitialisation:
    @pytest.mark.parametrize(("value", "fires"), [(0.05, True), (0.0, False), (1.0, False)])
    def test_weights_of_one_value_fire(self, run_rule, value, fires):
        """Some layers begin with 0 or 1 everywhere on purpose, and offsets with anything."""
        assert bool(run_rule("InitialWeights", course([{"conv_weight": np.full((4, 1, 3, 3), value)}]))) == fires
        assert run_rule("InitialWeights", course([{"norm_weight": np.full((4, 1, 1), 0.5)}])) == []

    @pytest.mark.parametrize(
        ("name", "size", "fires"), [("hh_l0", 4.1, True), ("hh_l0", 3.9, False), ("ih_l0", 4.1, False)]
    )
    def test_recurrent_weights_have_to_be_smaller(self, run_rule, name, size, fires):
        """As they are applied again and again."""
        weight = np.where(RNG.random((8, 16)) < 0.5, size / 4, -size / 4)
        assert bool(run_rule("InitialWeights", course([{f"rnn.weight_{name}": weight}]))) == fires

    def test_units_that_become_alike_later_were_not_initialised_so(self, run_rule):
        """Something else has made them alike."""
        equal, apart = np.ones((3, 4)), RNG.normal(size=(3, 4))
        values = [{"fc_weight": value} for value in [apart, *[equal] * 6]]
        assert run_rule("UnbrokenSymmetry", course(values)) == []

    @pytest.mark.parametrize(
        ("share", "steps"), [(0.9e-6, [2, 3]), (1.1e-6, []), (0.0, []), (0.9e-10, [0, 1, 2, 3]), (1.1e-10, [2, 3])]
    )
    def test_gradients_that_vanish_on_their_way_fire(self, run_rule, share, steps):
        """Offsets may have none, and a gradient of exactly 0 has another cause."""
        sizes = {"a_weight": 1.0, "b_weight": 0.1, "c_weight": 1e-3, "d_weight": share}
        weights = {name: np.ones((2, 3)) for name in sizes}
        gradients = {f"gradient/{name}": np.full((2, 3), size) for name, size in sizes.items()}
        offset = {"e_weight": np.ones(3), "gradient/e_weight": np.full(3, 1e-12)}
        issues = run_rule("GradientDecay", course([{**weights, **gradients, **offset}] * 4))
        assert [issue.step for issue in issues] == steps


class TestGradientsThatVanishLater:
    def test_is_another_matter(self, run_rule):
        """As where weights shrink until nothing is left of them."""
        names = [f"{letter}_weight" for letter in "abcd"]
        sound = {name: np.ones((2, 3)) for name in names} | {f"gradient/{name}": np.ones((2, 3)) for name in names}
        later = {**sound, "gradient/a_weight": np.full((2, 3), 1e-12)}
        assert run_rule("GradientDecay", course([sound, *[later] * 5])) == []


class TestData:
    def test_a_placeholder_is_a_whole_number_far_from_scaled_ones(self):
        """Others are targets that are not scaled."""
        usual = RNG.normal(size=30)
        assert placeholder(np.append(usual, [-999.0, -999.0]), 20) == -999
        assert placeholder(np.append(usual, -999.5), 20) is None
        assert placeholder(np.append(100 * usual, -999.0), 20) is None
        assert placeholder(np.full(3, -999.0), 20) is None

    @pytest.mark.parametrize(("numbers", "cause"), [([-999] * 5, "labels"), ([-999, 999, -888, 777, 666], "inputs")])
    def test_targets_that_are_missing_are_a_matter_of_labels(self, run_rule, numbers, cause):
        """If the same number stands for them again and again."""
        steps = [{"MSELoss_input_1": np.append(RNG.normal(size=30), number)} for number in numbers]
        issues = run_rule("InputScale", course(steps))
        assert first_cause(issues) == cause
        assert (STANDS_FOR_MISSING in issues[0].message) == (cause == "labels")

    @pytest.mark.parametrize(("noise", "fires"), [(0.0, True), (0.02, True), (0.1, False)])
    def test_a_feature_that_tells_the_target_leaks(self, run_rule, noise, fires):
        """Whatever its scale; one that goes with it is a good feature."""

        def step(_):
            x, y = RNG.normal(size=(40, 5)), RNG.integers(0, 3, 40)
            x[:, 3] = 2 * y + noise * RNG.normal(size=40)
            return {
                "Net_input_0": x,
                "CrossEntropyLoss_input_0": RNG.normal(size=(40, 3)),
                "CrossEntropyLoss_input_1": y,
                "CrossEntropyLoss_output_0": 1.0,
            }

        assert [issue.step for issue in run_rule("LeakingFeature", course(map(step, range(8))))] == (
            [4] if fires else []
        )

    def test_a_few_rows_over_and_over_are_no_leak(self, run_rule):
        """Each of them tells its own number by what it is."""
        x, y = RNG.normal(size=(20, 5)), RNG.normal(size=20)
        step = {"Net_input_0": x, "MSELoss_input_0": y * 0, "MSELoss_input_1": y, "MSELoss_output_0": 1.0}
        assert run_rule("LeakingFeature", course([step] * 20)) == []

    def test_words_that_are_their_own_targets_leak(self, run_rule):
        """The next ones do not."""
        words = RNG.integers(0, 9, (50, 7))
        for targets, fires in ((words[:, :-1], True), (words[:, 1:], False)):
            step = {
                "Net_input_0": words[:, :-1],
                "CrossEntropyLoss_input_0": RNG.normal(size=(50, 9, 6)),
                "CrossEntropyLoss_input_1": targets,
                "CrossEntropyLoss_output_0": 1.0,
            }
            assert bool(run_rule("LeakingFeature", course([step] * 6))) == fires

    def test_numbers_explain_by_a_straight_line(self):
        """A feature without variance tells nothing."""
        y = RNG.normal(size=100)
        found = explained(np.stack([3 - y, np.ones(100), RNG.normal(size=100)], axis=1), y)
        assert found[0] == pytest.approx(1)
        assert found[1] == 0
        assert found[2] < 0.2


class TestEvaluation:
    @pytest.mark.parametrize(
        ("evaluated", "training", "fires"), [(1.009, 0.4, True), (1.011, 0.4, False), (1.009, 0.6, False)]
    )
    def test_evaluation_has_to_follow_training(self, run_rule, evaluated, training, fires):
        """If that has got anywhere."""
        steps = {}
        for number in range(6):
            steps |= {(TRAIN, 12 * number + each): {"loss": 1.0 if number < 2 else training} for each in range(12)}
            steps[EVAL, number] = {"loss": 1.0 if not number else evaluated}
        issues = run_rule("EvaluationMismatch", steps)
        assert first_cause(issues) == ("wrong mode" if fires else None)

    @pytest.mark.parametrize("activation", [lambda x: x, np.tanh, lambda x: np.maximum(x, 0) + 0.01 * x])
    def test_zeros_by_chance_are_told_from_those_of_an_activation(self, activation):
        """Whatever the activation before."""
        given = RNG.normal(size=(64, 24))
        output = activation(given)
        kept = RNG.random(given.shape) < 0.5
        assert drops_by_chance(given, output * kept * 2)
        assert not drops_by_chance(given, output)

    def test_zeros_of_other_kinds_are_no_dropout(self):
        """Of ReLU, thresholds, masks over samples or units, targets, and of what has nothing to do with the other."""
        given = RNG.normal(size=(64, 24))
        masks = RNG.random((64, 1)) < 0.5, RNG.random((1, 24)) < 0.5
        others = [np.maximum(given, 0), np.where(np.abs(given) < 0.5, 0, given), *(given * mask for mask in masks)]
        others.append((RNG.random(given.shape) < 0.5).astype(float))
        others.append(np.maximum(RNG.normal(size=given.shape), 0))
        assert not any(drops_by_chance(given, other) for other in others)

    @pytest.mark.parametrize("is_dropped", [True, False])
    def test_dropout_that_knows_of_no_modes_fires_in_evaluation(self, run_rule, is_dropped):
        """Between any two layers."""
        steps = {}
        for number in range(4):
            given = RNG.normal(size=(64, 24)).astype(np.float32)
            kept = RNG.random(given.shape) < 0.5
            evaluated = given * kept * 2 if is_dropped else given
            steps[TRAIN, number] = {"a_output_0": given, "b_input_0": given * kept * 2}
            steps[EVAL, number] = {"a_output_0": given, "b_input_0": evaluated}
        issues = run_rule("TrainEvalMixup", steps)
        assert first_cause(issues) == ("wrong mode" if is_dropped else None)

    def test_in_a_large_model_dropout_is_looked_for_in_some_tensors(self, run_rule, monkeypatch):
        """Comparing each with each would take longer than the training; dropout is seldom called once."""
        compared = []
        monkeypatch.setattr(train_eval_mixup, "drops_by_chance", lambda *_: bool(compared.append(1)))
        output = np.maximum(RNG.normal(size=(8, 8)), 0).astype(np.float32)
        assert (
            run_rule("TrainEvalMixup", {(EVAL, 0): {f"layer{number}_output_0": output for number in range(200)}}) == []
        )
        assert 0 < len(compared) <= train_eval_mixup.MAX_LOOKED_AT * train_eval_mixup.MAX_OTHERS


class TestRegularisation:
    @pytest.mark.parametrize(("share", "fires"), [(0.6, True), (0.4, False)])
    def test_labels_that_are_smoothed_too_much_fire(self, run_rule, share, fires):
        """As the value of the loss tells."""

        def step(_):
            scores, labels = RNG.normal(size=(32, 4)), RNG.integers(0, 4, 32)
            logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
            plain, equal = -logs[np.arange(32), labels].mean(), -logs.mean()
            return {
                "CrossEntropyLoss_input_0": scores,
                "CrossEntropyLoss_input_1": labels,
                "CrossEntropyLoss_output_0": (1 - share) * plain + share * equal,
            }

        assert bool(run_rule("OverRegularisation", course(map(step, range(30))))) == fires


class TestTrees:
    @staticmethod
    def rounds(*, leaves=8, cover=100.0, gain=50.0, training=(), validation=(), metric="logloss", count=6):
        """Return rounds of one tree each, the first node of which has all the cover, and the gain."""
        nodes = 2 * leaves - 1
        split = np.where(np.arange(nodes) < leaves - 1, 0.5, np.nan)
        table = {
            "trees/Node": np.arange(nodes),
            "trees/Split": split,
            "trees/Gain": np.where(np.arange(nodes) == 0, gain, 0.0),
            "trees/Cover": np.where(np.arange(nodes) == 0, cover, 1.0),
        }
        training, validation = training or [0.6] * count, validation or [0.6] * count
        return course(
            [
                {**table, f"train-{metric}": training[number], f"validation-{metric}": validation[number]}
                for number in range(count)
            ],
            GLOBAL,
        )

    @pytest.mark.parametrize(
        ("settings", "cause"),
        [
            ({}, None),
            ({"leaves": 1}, "regularisation"),
            ({"gain": 0.009}, "regularisation"),
            ({"gain": 0.011}, None),
            ({"gain": 0.009, "metric": "rmse"}, None),  # that depends on the scale of targets
            ({"cover": 3.9, "gain": 1.0}, "sampling"),
            ({"cover": 4.1, "gain": 1.0}, None),
            ({"cover": 0.05, "gain": 1.0}, None),  # predictions are too sure to tell
        ],
    )
    def test_trees_have_to_be_able_to_learn(self, run_rule, settings, cause):
        """By the first rounds."""
        issues = run_rule("TreeGrowth", self.rounds(**settings))
        assert first_cause(issues) == cause
        assert [issue.step for issue in issues] == ([4] if cause else [])

    @pytest.mark.parametrize(
        ("leaves", "validation", "training", "fires"),
        [
            (8, [0.70, 0.71, 0.72, 0.73, 0.74, 0.75], [0.6, 0.58, 0.56, 0.54, 0.52, 0.5], True),
            (8, [0.70, 0.71, 0.70, 0.73, 0.74, 0.75], [0.6, 0.58, 0.56, 0.54, 0.52, 0.5], False),
            (8, [0.70, 0.71, 0.72, 0.73, 0.74, 0.75], [0.6, 0.59, 0.58, 0.57, 0.56, 0.55], False),
            (21, [0.70, 0.71, 0.72, 0.73, 0.74, 0.75], [0.6, 0.58, 0.56, 0.54, 0.52, 0.5], False),
        ],
    )
    def test_what_is_learnt_has_to_hold_for_validation_data(self, run_rule, leaves, validation, training, fires):
        """With fewer than 20 rows to a leaf it may be learnt by heart."""
        issues = run_rule("TreeGrowth", self.rounds(leaves=leaves, validation=validation, training=training))
        assert first_cause(issues) == ("evaluation data" if fires else None)

    @pytest.mark.parametrize(
        ("training", "validation", "fires"), [(9.5, 9.4, True), (8.5, 8.4, False), (9.5, 2.0, False)]
    )
    def test_the_first_loss_of_trees_tells_of_their_beginning(self, run_rule, training, validation, fires):
        """If it is as far off in validation, else it is the data that differ."""
        labels = np.tile([-1.0, 1.0], 10)
        steps = {(GLOBAL, 0): {"labels": labels, "train-rmse": training, "validation-rmse": validation}}
        assert first_cause(run_rule("InitialLoss", steps)) == ("initialisation" if fires else None)


class TestGradientsNotReset:
    @pytest.mark.parametrize(
        ("momentum", "cause"), [(0.999, "learning rate too high"), (0.99, None), (1.0, "gradients not reset")]
    )
    def test_a_momentum_that_is_far_too_large_is_no_sum(self, run_rule, momentum, cause):
        """Nor is it one that is usual."""
        steps, weight, velocity = {}, RNG.normal(size=60), 0.0
        for step in range(40):
            gradient = RNG.normal(size=60)
            steps[TRAIN, step] = {"w_weight": weight.copy(), "gradient/w_weight": gradient}
            velocity = momentum * velocity + gradient
            weight = weight - 0.01 * velocity
        assert first_cause(run_rule("GradientsNotReset", steps)) == cause

    @pytest.mark.parametrize("adds_up", [True, False])
    def test_signs_of_gradients_tell_as_well(self, run_rule, adds_up):
        """As they do for Lion."""
        steps, weight, average, total = {}, RNG.normal(size=60), 0.0, 0.0
        for step in range(12):
            gradient = RNG.normal(size=60) + 0.1
            steps[TRAIN, step] = {"w_weight": weight.copy(), "gradient/w_weight": gradient}
            total = total + gradient if adds_up else gradient
            weight = weight - 0.01 * np.sign(0.9 * average + 0.1 * total)
            average = 0.99 * average + 0.01 * total
        assert bool(run_rule("GradientsNotReset", steps)) == adds_up
