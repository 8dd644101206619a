"""The rules over losses, data and weights that SageMaker does not have: what fires them, and what just does not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.rules.extra.data.label_mix import mixing
from sagemaker_debug_ext.rules.extra.initialization.initial_weights import gain
from sagemaker_debug_ext.rules.extra.initialization.unbroken_symmetry import has_equal_units
from sagemaker_debug_ext.rules.extra.layers.over_regularisation import dropped_share
from sagemaker_debug_ext.rules.inference.losses import LossObservation, label_entropy
from sagemaker_debug_ext.rules.inference.samples import sample_hashes
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN, EVAL, GLOBAL = ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.GLOBAL


def course(name, values, mode=TRAIN):
    return {(mode, step): {name: value} for step, value in enumerate(values)}


def fired(issues):
    return [issue.step for issue in issues]


def answers(scores, targets, loss=1.0, name="CrossEntropyLoss"):
    return {f"{name}_input_0": scores, f"{name}_input_1": targets, f"{name}_output_0": loss}


class TestLossView:
    def test_cross_entropy_is_that_of_softmax(self):
        """Whatever axes follow that of the classes; targets out of range are left out."""
        scores = np.log([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]])
        view = LossObservation("loss", 1.0, scores, np.array([0, 2]))
        assert view.cross_entropy() == pytest.approx(-np.log([0.5, 0.8]).mean())
        of_sequences = LossObservation("loss", 1.0, scores.T[None], np.array([[0, -100]]))
        assert of_sequences.cross_entropy() == pytest.approx(-np.log(0.5))

    def test_numbers_are_no_classes(self):
        """Nor are targets of another shape."""
        assert LossObservation("loss", 1.0, np.ones((4, 2)), np.ones((4, 2))).num_classes is None
        assert LossObservation("loss", 1.0, np.ones((4, 1)), np.ones(4, int)).num_classes is None

    @pytest.mark.parametrize(
        ("kind", "value", "expected"), [("MSE", 9.0, True), (None, 4.0, True), (None, -2.0, True), (None, 9.0, False)]
    )
    def test_what_a_loss_wants_is_told_by_name_or_value(self, kind, value, expected):
        """The squared error here is 4, and half of it 2."""
        view = LossObservation("loss", value, np.ones((9, 1)) * 3.0, np.ones((9, 1)), kind=kind)
        assert view.is_regression_loss is expected
        assert not view.expects_logits

    def test_what_is_not_explained_takes_no_notice_of_place_and_size(self):
        """Of too few pairs nothing is said."""
        targets = np.random.default_rng(0).normal(size=40)
        view = LossObservation("loss", 1.0, 5 - 3 * targets, targets)
        assert view.residual_variance() == pytest.approx(0, abs=1e-12)
        assert LossObservation("loss", 1.0, np.ones(40), targets).residual_variance() == pytest.approx(
            np.var(targets) * 40 / 38
        )
        assert LossObservation("loss", 1.0, np.ones(7), np.ones(7)).residual_variance() is None

    @given(hnp.arrays(np.int64, st.integers(1, 50), elements=st.integers(0, 5)))
    def test_no_constant_answer_beats_the_entropy_of_the_labels(self, labels):
        """Not even the shares of another sample."""
        shares = np.random.default_rng(0).dirichlet(np.ones(6))
        assert label_entropy(labels) <= -np.log(shares[labels]).mean() + 1e-9


class TestGames:
    @staticmethod
    def steps(*targets):
        """Return steps at which one loss is computed on some targets, one after the other, and nothing is learnt."""
        stem = "BCEWithLogitsLoss"
        found = {f"{stem}_output_{number}": 0.7 for number in range(len(targets))}
        for number, each in enumerate(targets):
            values = np.array(each * 20, dtype=float)[:, None]
            found |= {
                f"{stem}_input_{2 * number}": np.full(values.shape, -0.1),
                f"{stem}_input_{2 * number + 1}": values,
            }
        return {(TRAIN, step): found for step in range(60)}

    @pytest.mark.parametrize("rule", ["NoSkill", "LossPlateau", "PredictionCollapse"])
    @pytest.mark.parametrize(
        ("targets", "fires"),
        [
            ([[0, 1], [1]], False),  # a discriminator, then its generator
            ([[0, 1], [0]], True),
            ([[0, 1], [0, 1]], True),
            ([[0, 1]], True),
        ],
    )
    def test_losses_of_a_game_need_not_fall(self, run_rule, rule, targets, fires):
        """Where all shall be taken for real after both classes were told apart."""
        options = {"tensor_regex": "Loss_output_"} if rule == "LossPlateau" else {}
        assert bool(run_rule(rule, self.steps(*targets), **options)) == fires

    def test_real_and_made_points_may_be_evaluated_one_after_the_other(self, run_rule):
        """Positive and negative samples, which nobody plays against, may be too."""
        for targets, fires in (([[1], [0], [1]], False), ([[1], [0]], True), ([[1], [0], [0]], True)):
            issues = run_rule("LossPlateau", self.steps(*targets), tensor_regex="Loss_output_")
            assert bool(issues) == fires


class TestNoSkill:
    @staticmethod
    def steps(confidence, num=60):
        rng = np.random.default_rng(0)
        found = {}
        for step in range(num):
            labels = rng.integers(0, 3, 30)
            scores = rng.normal(size=(30, 3)) * 0.1
            scores[np.arange(30), labels] += confidence
            found[TRAIN, step] = answers(scores, labels)
        return found

    @pytest.mark.parametrize(("confidence", "fires"), [(0.0, True), (0.02, True), (0.3, False)])
    def test_a_model_must_beat_the_best_constant(self, run_rule, confidence, fires):
        """When the job has ended."""
        assert fired(run_rule("NoSkill", self.steps(confidence))) == ([59] if fires else [])

    @pytest.mark.parametrize(("num", "fires"), [(40, True), (20, False)])
    def test_a_model_may_begin_to_learn_late(self, run_rule, num, fires):
        """But not for ever: what counts is the best so far."""
        steps = {**self.steps(3.0, num=60), **self.steps(0.0, num=num)}
        assert run_rule("NoSkill", steps) == []
        assert bool(run_rule("NoSkill", steps, patience_running=35, patience=20)) == fires

    @pytest.mark.parametrize("rule", ["NoSkill", "LossPlateau"])
    def test_a_job_that_was_followed_is_evaluated_at_its_end(self, tmp_path, rule):
        """Once, as one that has ended before is."""
        job = SmallTrial(tmp_path)
        for (mode, step), tensors in self.steps(0.0).items():
            job.write(mode, step, tensors)
        trial = create_trial(str(tmp_path))
        parameters = {"tensor_regex": "Loss_output_0"} if rule == "LossPlateau" else {}
        issues = evaluate([create_rule(rule, trial, parameters)], trial, sleep=lambda _: job.end())
        assert fired(issues) == [59]

    @pytest.mark.parametrize("rule", ["NoSkill", "LossPlateau", "PredictionCollapse"])
    def test_steps_that_come_together_with_the_end_are_evaluated_before_it(self, tmp_path, rule):
        """What the follower has not looked at yet may tell another story, as it does to one who comes later."""
        job = SmallTrial(tmp_path)
        for (mode, step), tensors in self.steps(0.0).items():
            labels = {"CrossEntropyLoss_input_1": np.zeros(30, int)} if rule == "PredictionCollapse" else {}
            job.write(mode, step, {**tensors, **labels, "Loss_output_0": 1.0})

        def end(_):
            for (mode, step), tensors in self.steps(9.0, num=30).items():
                job.write(mode, 60 + step, {**tensors, "Loss_output_0": 0.1})
            job.end()
            trial.steps()  # as somebody else may who looks at the same trial

        def judge_now(**options):
            given = {"tensor_regex": "Loss_output_0"} if rule == "LossPlateau" else {}
            made = create_rule(rule, trial, {**given, "patience_running": 1000})
            return fired(evaluate([made], trial, **options))

        trial = create_trial(str(tmp_path))
        assert judge_now(sleep=end) == []
        trial = create_trial(str(tmp_path))
        assert judge_now() == []

    def test_losses_that_end_at_different_steps_are_evaluated_each_at_its_own(self, tmp_path):
        """By who follows the job, too."""
        job = SmallTrial(tmp_path)
        steps = list(self.steps(0.0, num=80).values())
        for step, tensors in enumerate(steps):
            others = {f"Other{name}": each for name, each in self.steps(0.0, num=1)[TRAIN, 0].items()}
            job.write(TRAIN, step, {**others, **(tensors if step < 60 else {})})

        def judge_now(**options):
            trial = create_trial(str(tmp_path))
            return sorted(fired(evaluate([create_rule("NoSkill", trial)], trial, **options)))

        live = judge_now(sleep=lambda _: job.end())
        assert live == judge_now() == [59, 79]

    def test_a_few_samples_tell_nothing(self, run_rule):
        """Fewer than two hundred."""
        steps = self.steps(0.0)
        few = {key: {name: each[:3] if np.ndim(each) else each for name, each in steps[key].items()} for key in steps}
        assert run_rule("NoSkill", few) == []

    def test_few_steps_and_other_modes_give_no_verdict(self, run_rule):
        """Patience comes first."""
        assert run_rule("NoSkill", self.steps(0.0, num=49)) == []

    @pytest.mark.parametrize(("noise", "fires"), [(1.2, True), (0.5, False)])
    def test_numbers_are_compared_with_their_mean(self, run_rule, noise, fires):
        """By the mean squared error, whatever the loss is."""
        rng = np.random.default_rng(1)
        steps = {}
        for step in range(50):
            targets = rng.normal(size=(20, 1))
            steps[TRAIN, step] = answers(targets + noise * rng.normal(size=(20, 1)), targets, name="L1Loss")
        assert bool(run_rule("NoSkill", steps)) == fires

    @pytest.mark.parametrize(("noise", "fires"), [(9.0, True), (1.0, False)])
    def test_other_losses_want_answers_that_go_with_targets(self, run_rule, noise, fires):
        """Of whatever place and size they are."""
        rng = np.random.default_rng(1)
        steps = {}
        for step in range(50):
            targets = rng.normal(size=(20, 1))
            scores = 40 - 7 * (targets + noise * rng.normal(size=(20, 1)))
            steps[TRAIN, step] = answers(scores, targets, name="QuantileLoss")
        assert bool(run_rule("NoSkill", steps)) == fires

    @pytest.mark.parametrize(("confidence", "fires"), [(0.05, True), (2.0, False)])
    def test_soft_labels_are_shares(self, run_rule, confidence, fires):
        """Of class 1."""
        rng = np.random.default_rng(1)
        steps = {}
        for step in range(50):
            targets = rng.choice([0.1, 0.9], size=(20, 1))
            steps[TRAIN, step] = answers((targets * 2 - 1) * confidence, targets, name="BCEWithLogitsLoss")
        assert bool(run_rule("NoSkill", steps)) == fires

    @pytest.mark.parametrize(("best", "fires"), [(0.7, True), (0.6, False)])
    def test_boosted_trees_are_evaluated_by_their_validation_loss(self, run_rule, best, fires):
        """The best of fifteen rounds counts."""
        labels = np.array([0.0, 1.0] * 10)
        steps = {(GLOBAL, n): {"validation-logloss": 0.8, "labels": labels} for n in range(15)}
        steps[GLOBAL, 7] = {"validation-logloss": best, "labels": labels}
        issues = run_rule("NoSkill", steps)
        assert fired(issues) == ([14] if fires else [])
        assert all("new data" in issue.message for issue in issues)


class TestInitialLoss:
    @pytest.mark.parametrize(("size", "fires"), [(0.1, False), (1.0, False), (30.0, True)])
    def test_first_answers_must_not_be_far_worse_than_guessing(self, run_rule, size, fires):
        """Only at the first step."""
        scores, labels = np.random.default_rng(0).normal(size=(64, 4)) * size, np.arange(64) % 4
        steps = {(TRAIN, step): answers(scores, labels) for step in range(2)}
        assert fired(run_rule("InitialLoss", steps)) == ([0] if fires else [])

    @pytest.mark.parametrize(("size", "fires"), [(8.0, False), (10.0, True)])
    def test_first_numbers_must_be_about_as_large_as_targets(self, run_rule, size, fires):
        """Up to the square of the factor."""
        rng = np.random.default_rng(0)
        targets = rng.normal(size=(64, 1))
        assert bool(run_rule("InitialLoss", {(TRAIN, 0): answers(targets[::-1] * size, targets)})) == fires

    @pytest.mark.parametrize(("size", "fires"), [(2.0, False), (12.0, True)])
    def test_margins_are_evaluated_by_their_own_cross_entropy(self, run_rule, size, fires):
        """Bounded outputs are another rule's business."""
        scores, labels = np.linspace(-1, 1, 40)[:, None] * size, np.tile([0.0, 1.0], 20)[:, None]
        assert bool(run_rule("InitialLoss", {(TRAIN, 0): answers(scores, labels)})) == fires
        assert run_rule("InitialLoss", {(TRAIN, 0): answers(np.ones((4, 1)), np.zeros((4, 1)))}) == []


class TestInitialWeights:
    @pytest.mark.parametrize(
        ("size", "fires"), [(0.57, False), (7.9, False), (8.1, True), (0.021, False), (0.019, True)]
    )
    def test_the_gain_of_a_layer_must_be_usual(self, run_rule, size, fires):
        """At the first step only."""
        weight = np.where(np.arange(80).reshape(5, 16) % 2, size / 4, -size / 4)
        issues = run_rule("InitialWeights", {(TRAIN, step): {"fc_weight": weight} for step in range(3)})
        assert fired(issues) == ([0] if fires else [])

    def test_some_weights_have_no_gain(self, run_rule):
        """Those of one axis, those of 0, and embeddings."""
        assert gain(np.ones(5)) is None
        assert gain(np.zeros((5, 5))) is None
        assert run_rule("InitialWeights", {(TRAIN, 0): {"embedding.weight": np.ones((5, 900))}}) == []


class TestUnbrokenSymmetry:
    def test_equal_units_fire_when_they_stay_equal(self, run_rule):
        """A layer may start at 0 and leave it."""
        equal, apart = np.ones((3, 4)), np.arange(12.0).reshape(3, 4)
        assert fired(run_rule("UnbrokenSymmetry", course("fc_weight", [equal] * 5))) == [3, 4]
        assert run_rule("UnbrokenSymmetry", course("fc_weight", [equal * 0, equal, equal, apart, equal])) == []

    def test_single_units_and_scales_have_no_symmetry(self):
        """Of normalisations, and of outputs of one unit."""
        assert has_equal_units(np.ones(4)) is None
        assert has_equal_units(np.ones((1, 4))) is None

    @pytest.mark.parametrize(("alike", "expected"), [(3, True), (2, False)])
    def test_sets_of_like_units_count_too(self, alike, expected):
        """As the gates of recurrent layers; units of 0 may have been pruned."""
        kinds = np.random.default_rng(0).normal(size=(4, 5))
        weight = np.repeat(kinds, alike, axis=0) * (1 + 1e-9 * np.arange(4 * alike)[:, None])
        assert has_equal_units(weight) == expected
        assert has_equal_units(np.concatenate([kinds, np.zeros((50, 5))])) is False


class TestLossDivergence:
    @pytest.mark.parametrize(("last", "fires"), [(3.1, True), (2.9, False), (-5.0, False)])
    def test_a_loss_far_above_the_first_fires(self, run_rule, last, fires):
        """Once the latest five are."""
        assert fired(run_rule("LossDivergence", course("loss", [1.0] * 3 + [last] * 5))) == ([7] if fires else [])

    @pytest.mark.parametrize(("first", "fires"), [([0.5, 1.0, 1.2], False), ([0.5, 9.0, 99.0], True)])
    def test_a_lucky_first_value_is_not_where_the_loss_began(self, run_rule, first, fires):
        """One of few samples may be far too small; later ones may have diverged already."""
        last = 1.7 if not fires else 50.0
        assert bool(run_rule("LossDivergence", course("loss", first + [last] * 5))) == fires

    def test_one_outlier_does_not_fire(self, run_rule):
        """The median counts too."""
        assert run_rule("LossDivergence", course("loss", [1.0, 1, 1, 1, 99, 1, 1, 1])) == []

    def test_validation_does_not_count(self, run_rule):
        """It is no training loss."""
        steps = course("validation-loss", [1.0] + [9.0] * 9, GLOBAL)
        assert run_rule("LossDivergence", steps) == []


class TestLossDirection:
    @pytest.mark.parametrize(("sign", "fires"), [(1, False), (-1, True)])
    def test_a_loss_that_falls_while_answers_get_worse_fires(self, run_rule, sign, fires):
        """As one of the wrong sign does."""
        labels = np.array([0, 1, 0, 1])
        right = np.eye(2)[labels]
        steps = {}
        for step in range(10):
            scores = right * sign * step
            steps[TRAIN, step] = answers(scores, labels, loss=5.0 - step, name="OwnLoss")
        assert bool(run_rule("LossDirection", steps)) == fires

    @pytest.mark.parametrize(("sign", "factor", "fires"), [(1, 1, False), (-1, 1, True), (-1, 3, False)])
    def test_numbers_are_evaluated_where_the_value_tells_what_the_loss_wants(self, run_rule, sign, factor, fires):
        """A squared error, but for its sign; others may want something else than the targets."""
        targets = np.linspace(-1, 1, 10)[:, None]
        steps = {}
        for step in range(10):
            scores = targets * (1 + 0.1 * (step if sign < 0 else 10 - step))
            loss = sign * factor * np.mean((scores - targets) ** 2)
            steps[TRAIN, step] = answers(scores + 1e-3, targets, loss=loss, name="OwnLoss")
        assert bool(run_rule("LossDirection", steps)) == fires


class TestSlowLearning:
    @pytest.mark.parametrize(("rate", "fires"), [(0.9999, True), (0.99, False)])
    def test_a_loss_that_creeps_fires(self, run_rule, rate, fires):
        """Only over the first values."""
        values = [rate**step for step in range(40)]
        assert fired(run_rule("SlowLearning", course("train-loss", values, GLOBAL))) == ([19] if fires else [])

    def test_noise_does_not_creep(self, run_rule):
        """One rise is enough."""
        values = [1 - 1e-4 * step for step in range(20)]
        values[10] = 1.0
        assert run_rule("SlowLearning", course("loss", values)) == []


class TestOverRegularisation:
    @pytest.mark.parametrize(("kept", "fires"), [(0.1, True), (0.5, False)])
    def test_dropping_nearly_everything_fires(self, run_rule, kept, fires):
        """In the median of ten steps."""
        rng = np.random.default_rng(0)
        inputs = np.ones((16, 16))
        steps = {
            (TRAIN, step): {"drop_input_0": inputs, "drop_output_0": inputs * (rng.random((16, 16)) < kept)}
            for step in range(10)
        }
        assert fired(run_rule("OverRegularisation", steps)) == ([9] if fires else [])

    @pytest.mark.parametrize(("rate", "fires"), [(0.9, True), (0.99, False), (1.1, False)])
    def test_weights_that_shrink_fire(self, run_rule, rate, fires):
        """Biases and scales of normalisations may."""
        steps = {
            (TRAIN, step): {"a_weight": np.ones((2, 2)) * rate**step, "n_weight": np.ones(2) * 0.1**step}
            for step in range(10)
        }
        assert bool(run_rule("OverRegularisation", steps)) == fires

    def test_few_elements_give_no_share(self):
        """They may be dropped by chance."""
        assert dropped_share(np.ones(63), np.zeros(63)) is None
        assert dropped_share(np.ones((8, 8)), np.zeros((8, 8))) == 1


class TestLabelMix:
    @staticmethod
    def steps(batches, num_classes=3):
        return {
            (TRAIN, step): answers(np.zeros((len(labels), num_classes)), np.array(labels))
            for step, labels in enumerate(batches)
        }

    def test_a_class_that_never_comes_fires(self, run_rule):
        """After enough samples."""
        issues = run_rule("LabelMix", self.steps([[0, 1] * 5] * 31))
        assert fired(issues)[:1] == [29]
        assert "Class 2 never comes up" in issues[0].message
        assert run_rule("LabelMix", self.steps([[0, 1] * 4 + [2]] * 40)) == []
        assert run_rule("LabelMix", self.steps([[0, 1] * 5] * 40, num_classes=25)) == []

    def test_sorted_labels_fire(self, run_rule):
        """After a window of batches; mixed ones do not."""
        issues = run_rule("LabelMix", self.steps([[step % 3] * 9 for step in range(25)]))
        assert fired(issues)[:1] == [19]
        assert "come sorted" in issues[0].message

    def test_rare_classes_among_all_labels_fire(self, run_rule):
        """As boosted trees save them; targets of a regression are no labels."""
        for rare, fires in ((1, True), (2, False)):
            labels = np.array([0.0] * 11 + [1.0] * rare)
            assert bool(run_rule("LabelMix", course("labels", [labels], GLOBAL))) == fires
        assert run_rule("LabelMix", course("labels", [np.linspace(0, 1, 30)], GLOBAL)) == []

    def test_counts_are_no_classes(self, run_rule):
        """Which the metrics of boosted trees tell."""
        labels = np.array([0.0] * 11 + [1.0])
        for metric, fires in (("validation-logloss", True), ("train-poisson-nloglik", False), ("train-rmse", False)):
            assert bool(run_rule("LabelMix", {(GLOBAL, 0): {"labels": labels, metric: 1.0}})) == fires

    def test_only_labels_of_samples_count(self, run_rule):
        """Those of words are one axis more, or more of them than samples."""
        flat = self.steps([[0, 1] * 5] * 40)
        for rows, fires in ((10, True), (5, False)):
            steps = {key: {**step, "Net_input_0": np.zeros((rows, 2))} for key, step in flat.items()}
            assert bool(run_rule("LabelMix", steps)) == fires
        words = {(TRAIN, step): answers(np.zeros((10, 3, 4)), np.zeros((10, 4), int)) for step in range(40)}
        assert run_rule("LabelMix", words) == []

    def test_small_batches_drawn_at_random_are_mixed(self):
        """Their entropy is corrected for their size."""
        rng = np.random.default_rng(0)
        found = mixing([rng.integers(0, 8, 8) for _ in range(200)])
        assert found is not None
        assert 0.85 < found < 1.1
        assert mixing([np.zeros(8, int)] * 20) is None


class TestEvaluationOverlap:
    @pytest.mark.parametrize(("shared", "fires"), [(8, True), (6, False)])
    def test_samples_seen_in_training_fire(self, run_rule, shared, fires):
        """Above a fifth of those of evaluation."""
        rng = np.random.default_rng(0)
        seen, new = rng.normal(size=(32, 6)), rng.normal(size=(32 - shared, 6))
        steps = {(TRAIN, 0): {"Net_input_0": seen}}
        steps[EVAL, 0] = {"Net_input_0": np.concatenate([seen[:shared], new])}
        assert fired(run_rule("EvaluationOverlap", steps)) == ([1] if fires else [])

    @pytest.mark.parametrize(("num_words", "shared", "fires"), [(5, 0, False), (5, 64, True), (40, 24, True)])
    def test_short_sentences_may_be_equal_by_chance(self, run_rule, num_words, shared, fires):
        """As often as within training."""
        rng = np.random.default_rng(0)
        batches = [rng.integers(0, num_words, size=(32, 4)) for _ in range(10)]
        new = rng.integers(0, num_words, size=(64 - shared, 4))
        steps = {(TRAIN, step): {"Net_input_0": batch} for step, batch in enumerate(batches)}
        steps[EVAL, 0] = {"Net_input_0": np.concatenate([np.concatenate(batches)[:shared], new])}
        assert bool(run_rule("EvaluationOverlap", steps)) == fires
        if num_words == 5:
            known = set(map(bytes, np.concatenate(batches)))
            assert sum(bytes(row) in known for row in rng.integers(0, 5, size=(1000, 4))) > 200

    def test_small_samples_cannot_be_told_apart(self):
        """Nor can batches of one axis."""
        assert sample_hashes(np.ones((4, 3))) is None
        assert sample_hashes(np.ones(9)) is None
        assert len(set(sample_hashes(np.arange(16.0).reshape(4, 4)))) == 4


class TestEvaluationMismatch:
    @staticmethod
    def steps(change, *, evaluation_loss=1.0, visits=1):
        rng = np.random.default_rng(0)
        batches = [rng.normal(size=(16, 6)) for _ in range(12 // visits)]
        found = {(TRAIN, step): {"Net_input_0": batches[step % len(batches)], "loss": 1.0} for step in range(12)}
        for step in range(4):
            found[EVAL, step] = {"Net_input_0": change(rng.normal(size=(16, 6))), "loss": evaluation_loss}
        return found

    @pytest.mark.parametrize(
        ("change", "fires"),
        [
            (lambda x: x, False),
            (lambda x: x + 0.5, False),
            (lambda x: x + 2, True),
            (lambda x: x * 2, False),
            (lambda x: x * 5, True),
            (lambda x: (x * 9).astype(int), False),
        ],
    )
    def test_inputs_of_another_place_or_spread_fire(self, run_rule, change, fires):
        """After enough samples; indices have neither."""
        assert bool(run_rule("EvaluationMismatch", self.steps(change))) == fires

    @pytest.mark.parametrize(
        ("loss", "visits", "fires"), [(3.0, 1, True), (3.0, 2, True), (3.0, 4, False), (2.0, 1, False)]
    )
    def test_a_loss_far_above_that_of_training_fires_while_samples_are_new(self, run_rule, loss, visits, fires):
        """Later the model may know them by heart, which is overfitting."""
        issues = run_rule("EvaluationMismatch", self.steps(lambda x: x, evaluation_loss=loss, visits=visits))
        assert bool(issues) == fires

    @pytest.mark.parametrize(("place", "fires"), [(slice(0, 2), False), (slice(0, 12), True)])
    def test_a_few_samples_far_off_are_no_mismatch(self, run_rule, place, fires):
        """Where answers and targets tell."""
        steps = self.steps(lambda x: x)
        for number, ((mode, _), tensors) in enumerate(steps.items()):
            targets = np.random.default_rng(number).normal(size=(16, 1))
            scores = targets + 1
            if mode is EVAL:
                scores[place] += 30
            del tensors["loss"]
            tensors.update(answers(scores, targets, float(np.mean(np.abs(scores - targets))), "L1Loss"))
        assert bool(run_rule("EvaluationMismatch", steps)) == fires


class TestMissingActivation:
    @staticmethod
    def steps(between, num=4):
        rng = np.random.default_rng(0)
        found = {}
        for step in range(num):
            x, hidden = rng.normal(size=(8, 5)), rng.normal(size=(8, 6))
            found[TRAIN, step] = {
                "Net_a.weight": np.ones((6, 5)), "Net_b.weight": np.ones((2, 6)),
                "a_input_0": x, "a_output_0": hidden, "b_input_0": between(hidden), "b_output_0": hidden[:, :2],
            }  # fmt: skip
        return found

    def test_layers_that_follow_each_other_unchanged_fire(self, run_rule):
        """After three steps in a row."""
        (issue, *_) = run_rule("MissingActivation", self.steps(lambda hidden: hidden))
        assert (issue.step, issue.tensors) == (2, ("a_output_0",))
        assert run_rule("MissingActivation", self.steps(lambda hidden: np.maximum(hidden, 0))) == []


class TestDuplicateBatches:
    def test_batches_of_one_sample_fire(self, run_rule):
        """However different the batches are."""
        rng = np.random.default_rng(0)
        values = [np.tile(rng.normal(size=6), (8, 1)) for _ in range(10)]
        (issue,) = run_rule("DuplicateBatches", course("Net_input_0", values))
        assert "samples in a batch" in issue.message

    def test_equal_samples_in_all_batches_are_told(self, run_rule):
        """They are no matter of the order."""
        (issue,) = run_rule("DuplicateBatches", course("Net_input_0", [np.ones((8, 6))] * 10))
        assert "all samples are equal" in issue.message

    @pytest.mark.parametrize("same", [True, False])
    def test_workers_must_not_see_the_same_batches(self, tmp_path, run_rule, same):
        """All of a window."""
        rng = np.random.default_rng(0)
        job = SmallTrial(tmp_path / "job", ("worker_0", "worker_1"))
        for step in range(10):
            batch, other = rng.normal(size=(2, 8, 6))
            job.write(TRAIN, step, {"Net_input_0": batch}, global_step=step, worker="worker_0")
            job.write(TRAIN, step, {"Net_input_0": batch if same else other}, global_step=step, worker="worker_1")
        job.end()
        issues = run_rule("DuplicateBatches", create_trial(str(tmp_path / "job")))
        assert bool(issues) == same


class TestFurtherChecks:
    def test_targets_of_a_regression_must_be_scaled(self, run_rule):
        """Small ones may be."""
        for scale, fires in ((90.0, True), (70.0, False), (1e-9, False)):
            values = [np.full((4, 1), scale)] * 3
            assert bool(run_rule("InputScale", course("MSELoss_input_1", values))) == fires

    @pytest.mark.parametrize(("begin", "fires"), [(0.0, True), (285.0, False)])
    def test_answers_may_begin_where_targets_lie(self, run_rule, begin, fires):
        """However far from zero that is."""
        targets = np.linspace(280, 300, 8)[:, None]
        steps = {(TRAIN, step): answers(np.full((8, 1), begin), targets, name="MSELoss") for step in range(3)}
        assert bool(run_rule("InputScale", steps)) == fires

    @pytest.mark.parametrize(
        ("layers", "fires"),
        [
            ({"0_input_0": 1.0, "Net_0.weight": np.ones((3, 4))}, True),
            ({"0_input_0": 1.0, "Net_0.weight": np.ones(4), "1_input_0": 0.01, "Net_1.weight": np.ones((3, 4))}, False),
            ({"0_input_0": 0.01, "Net_0.weight": np.ones((3, 4))}, False),
            ({"1_input_0": 0.01, "Net_1.weight": np.ones((3, 4)), "rnn_input_0": 1.0,
              "Net_rnn.weight_ih_l0": np.ones((3, 4))}, True),
        ],
    )  # fmt: skip
    def test_a_model_may_scale_its_inputs_itself(self, run_rule, layers, fires):
        """By a layer, or on the way to the first one."""
        inputs = np.random.default_rng(0).normal(size=(8, 4)) * 200
        tensors = {name: inputs * value if "input" in name else value for name, value in layers.items()}
        steps = {(TRAIN, step): {"Net_input_0": inputs, **tensors} for step in range(3)}
        assert bool(run_rule("InputScale", steps)) == fires

    @pytest.mark.parametrize(("factor", "fires"), [(1.0, True), (1.2, False), (0.5, False)])
    def test_scores_bounded_as_by_tanh_fire(self, run_rule, factor, fires):
        """If they lie near the bounds and never pass them."""
        scores = np.array([[0.95, -0.97], [-0.99, 0.2]]) * factor
        steps = {(TRAIN, step): answers(scores, np.array([0, 1])) for step in range(20)}
        assert bool(run_rule("LossInputMismatch", steps)) == fires

    @pytest.mark.parametrize(("period", "fires"), [(10, True), (4, True), (1, False)])
    def test_gradients_reset_now_and_then_fire(self, run_rule, period, fires):
        """With an update at each step."""
        rng = np.random.default_rng(3)
        weight, total, steps = rng.normal(size=30), 0.0, {}
        for step in range(24):
            gradient = rng.normal(size=30)
            steps[TRAIN, step] = {"w_weight": weight.copy(), "gradient/w_weight": gradient}
            total = gradient if step % period == 0 else total + gradient
            weight = weight - 0.01 * total
        assert bool(run_rule("GradientsNotReset", steps)) == fires

    def test_gradients_gathered_on_purpose_do_not_fire(self, run_rule):
        """The weight waits for the last of them."""
        rng = np.random.default_rng(3)
        weight, total, steps = rng.normal(size=30), 0.0, {}
        for step in range(24):
            gradient = rng.normal(size=30)
            steps[TRAIN, step] = {"w_weight": weight.copy(), "gradient/w_weight": gradient}
            total = total + gradient
            if step % 4 == 3:
                weight, total = weight - 0.01 * total, 0.0
        assert run_rule("GradientsNotReset", steps) == []

    def test_a_parameter_that_moved_and_has_a_gradient_is_not_frozen(self, run_rule):
        """Its learning rate has become too small."""
        steps = {
            (TRAIN, step): {"a_weight": np.ones(2) * min(step, 2), "gradient/a_weight": np.ones(2)}
            for step in range(12)
        }
        assert run_rule("FrozenParameters", steps) == []
