"""The rules that SageMaker does not have: what fires them, and what just does not."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from sagemaker_debug_ext.catalog import get_rule_spec, list_rule_specs
from sagemaker_debug_ext.rules import evaluate
from sagemaker_debug_ext.rules.extra.layers.train_eval_mixup import drops, is_centred_on
from sagemaker_debug_ext.rules.extra.updates.frozen_parameters import has_directions, have_learnt
from sagemaker_debug_ext.rules.factory.loading import load_rule_class
from sagemaker_debug_ext.rules.inference.statistics import variation
from sagemaker_debug_ext.rules.recommended import RECOMMENDED, recommended_rules
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN, EVAL = ModeKeys.TRAIN, ModeKeys.EVAL
RNG = np.random.default_rng(0)


def course(name, values, mode=TRAIN):
    return {(mode, step): {name: value} for step, value in enumerate(values)}


def fired(issues):
    return [issue.step for issue in issues]


@pytest.mark.parametrize("name", [spec.name for spec in list_rule_specs("debugger") if not spec.function])
def test_a_rule_of_ours_tells_its_source_and_is_not_offered_to_sagemaker(name):
    """Its evaluator does not have it."""
    spec = get_rule_spec(name)
    assert "\nSource:\n" in inspect.getdoc(load_rule_class(spec.rule_class))
    assert spec.frameworks == ()


def test_recommended_rules_are_made_over_any_trial_and_evaluate_it(make_trial):
    """Without an error, whatever was saved."""
    steps = {(TRAIN, step): {"x": RNG.normal(size=(4, 3)), "labels": np.array(["a"])} for step in range(3)}
    trial = make_trial(steps)
    evaluation = evaluate(recommended_rules(trial), trial)
    assert evaluation.run() == []
    assert {status.status for status in evaluation.statuses} == {"NoIssuesFound"}
    assert set(recommended_rules(trial)) == set(RECOMMENDED)


class TestNonFiniteOrigin:
    def test_the_first_tensor_in_the_order_of_saving_is_named(self, run_rule):
        """With the last one before it that is finite; the order of names does not matter."""
        bad = np.array([1, np.nan])
        tensors = {"w_weight": np.ones(2), "z_output": np.ones(2), "m_output": bad, "a_output": bad, "b": np.ones(2)}
        (issue,) = run_rule("NonFiniteOrigin", {(TRAIN, 0): tensors})
        assert issue.tensors == ("m_output", "a_output")
        assert "'z_output' before it is finite" in issue.message

    def test_finite_values_and_reductions_do_not_fire(self, run_rule):
        """However large."""
        assert run_rule("NonFiniteOrigin", course("x", [np.array([1e300, -1e300])])) == []


class TestLossPlateau:
    @pytest.mark.parametrize(("last", "fires"), [(0.96, True), (0.94, False), (2.0, True)])
    def test_the_latest_mean_must_be_below_the_first(self, run_rule, last, fires):
        """By five percent by default, when the job has ended."""
        assert fired(run_rule("LossPlateau", course("loss", [1.0] * 10 + [last] * 45))) == ([54] if fires else [])

    def test_a_loss_that_falls_late_does_not_fire(self, run_rule):
        """Unless it stood still for longer than a job may take to begin."""
        steps = course("loss", [1.0] * 50 + [0.5] * 10)
        assert run_rule("LossPlateau", steps) == []
        assert fired(run_rule("LossPlateau", steps, patience=30, patience_running=40))[:1] == [39]

    def test_few_values_and_those_of_evaluation_give_no_verdict(self, run_rule):
        """Patience comes first."""
        assert run_rule("LossPlateau", course("loss", [1.0] * 49)) == []
        assert run_rule("LossPlateau", course("loss", [1.0] * 99, EVAL)) == []


class TestLossSpike:
    @pytest.mark.parametrize(("peak", "fires"), [(5.1, True), (4.9, False), (np.inf, True), (np.nan, True)])
    def test_a_value_far_above_the_usual_fires(self, run_rule, peak, fires):
        """At the step where it is."""
        issues = run_rule("LossSpike", course("loss", [1.0, 1.1, 0.9, 1.0] * 6 + [peak, 1.0]))
        assert fired(issues) == ([24] if fires else [])

    def test_noise_does_not_fire(self, run_rule):
        """The spread counts too."""
        values = [0.1, 0.1, 0.1, 4.0] * 8
        assert run_rule("LossSpike", course("loss", values)) == []


class TestLearningRate:
    @pytest.mark.parametrize(
        ("factor", "high", "low"),
        [(1.3, True, False), (1.1, False, False), (1 + 1e-6, False, True), (1.0, False, False)],
    )
    def test_the_usual_update_is_evaluated(self, run_rule, factor, high, low):
        """A weight that never changes is another rule's business."""
        steps = course("w_weight", [np.full(3, factor**step) for step in range(15)])
        assert bool(run_rule("LearningRateTooHigh", steps)) == high
        assert bool(run_rule("LearningRateTooLow", steps)) == low

    @pytest.mark.parametrize(("first", "fires"), [(0.0, False), (0.01, True)])
    def test_a_weight_that_begins_at_zero_has_no_size_yet(self, run_rule, first, fires):
        """One that begins near it has."""
        steps = course("w_weight", [np.full(3, first if step == 0 else 0.1 * 1.5**step) for step in range(8)])
        assert bool(run_rule("LearningRateTooHigh", steps)) == fires

    def test_updates_count_for_each_step_between_saved_ones(self, run_rule):
        """Ten steps may change ten times as much."""
        steps = {(TRAIN, 10 * step): {"w_weight": np.full(3, 1.5**step)} for step in range(8)}
        assert run_rule("LearningRateTooHigh", steps) == []

    def test_one_fast_weight_is_enough_not_to_be_too_slow(self, run_rule):
        """All have to be slow."""
        steps = {
            (TRAIN, step): {"a_weight": np.full(3, 1 + 1e-6 * step), "b_weight": np.full(3, 1.01**step)}
            for step in range(15)
        }
        assert run_rule("LearningRateTooLow", steps) == []


class TestFrozenParameters:
    @pytest.mark.parametrize(
        ("gradient", "reason"),
        [(np.ones(2), "no optimizer changes it"), (np.zeros(2), "its gradient is 0"), (None, "no gradient reaches it")],
    )
    def test_the_message_tells_why(self, run_rule, gradient, reason):
        """From the gradients that were saved."""
        steps = {}
        for step in range(7):
            steps[TRAIN, step] = {
                "a_weight": np.ones(2),
                "b_weight": np.full(2, 1.0 + step),
                "gradient/b_weight": np.ones(2),
            }
            if gradient is not None:
                steps[TRAIN, step]["gradient/a_weight"] = gradient
        issues = run_rule("FrozenParameters", steps)
        assert fired(issues) == [5, 6]
        assert issues[0].tensors == ("a_weight",)
        assert reason in issues[0].message

    def test_a_change_begins_the_count_anew(self, run_rule):
        """Even a small one."""
        values = [np.ones(2)] * 5 + [np.ones(2) + 1e-7] * 5
        assert run_rule("FrozenParameters", course("a_weight", values)) == []

    @pytest.mark.parametrize(("size", "fires"), [(9, False), (11, True)])
    def test_a_sliver_of_the_model_may_stand_still(self, run_rule, size, fires):
        """Below a hundredth of all parameters, as long as no weight is among it."""
        steps = {
            (TRAIN, step): {"a_bias": np.zeros(size), "b_weight": np.full((20, 50), 1.0 + step)} for step in range(7)
        }
        assert bool(run_rule("FrozenParameters", steps, tensor_regex="weight,bias")) is fires

    def test_no_weight_is_a_sliver(self, run_rule):
        """However small it is."""
        steps = {
            (TRAIN, step): {"a_weight": np.ones((1, 2)), "b_weight": np.full((20, 50), 1.0 + step)} for step in range(7)
        }
        assert fired(run_rule("FrozenParameters", steps)) == [5, 6]

    @pytest.mark.parametrize(
        ("scale", "offset", "gradient", "fires"),
        [
            (0.5, 0.5, False, False),  # trained before, and left out of training
            (0.5, 0.5, True, False),  # left out of the optimizer only
            (0.5, 0.3, False, True),  # drawn from a normal distribution, offsets as they are by default
            (0.1, 0.5, False, True),  # too small to have been trained
        ],
    )
    def test_layers_that_were_trained_before_may_be_frozen(self, run_rule, scale, offset, gradient, fires):
        """As far as their values tell that they are not new."""
        rng = np.random.default_rng(2)
        layer = {"a.weight": np.clip(rng.normal(size=(12, 9)), -2.5, 2.5) * scale / 3, "a.bias": np.full(12, offset)}
        if gradient:
            layer |= {"gradient/a.weight": np.ones((12, 9)), "gradient/a.bias": np.ones(12)}
        steps = {
            (TRAIN, step): {**layer, "b.weight": np.full((2, 12), 1.0 + step), "gradient/b.weight": np.ones((2, 12))}
            for step in range(7)
        }
        assert bool(run_rule("FrozenParameters", steps)) is fires

    def test_weights_that_are_uniform_are_new(self):
        """Whatever their limit."""
        rng = np.random.default_rng(3)
        uniform, other = rng.uniform(-1, 1, size=(30, 16)), rng.normal(size=(30, 16))
        assert not have_learnt([(uniform, np.ones(30), 0)])
        assert have_learnt([(other, np.ones(30), 0)])
        assert not have_learnt([(other, None, 0)])

    @pytest.mark.parametrize(("scale", "learnt"), [(1.0, False), (np.linspace(0.9, 1.1, 8), True)])
    def test_new_normalisations_have_one_scale(self, scale, learnt):
        """Whatever the weights beside them are."""
        assert have_learnt([(np.ones((3, 3)), None, 0)], [np.full(8, scale)]) == learnt

    @pytest.mark.parametrize(("strength", "learnt"), [(1.0, False), (2.5, True)])
    def test_random_weights_have_no_direction_of_their_own(self, strength, learnt):
        """As vectors of words have that were learnt before."""
        rng = np.random.default_rng(5)
        table = rng.normal(size=(200, 16))
        table[:, 0] *= strength
        assert has_directions(table, 0) == have_learnt([(table, None, 0)]) == learnt

    @pytest.mark.parametrize(("moves_at", "fires"), [(30, False), (99, True)])
    def test_layers_may_be_trained_later(self, run_rule, moves_at, fires):
        """Within the patience for a job that runs on."""
        head = [np.full((3, 3), float(step)) for step in range(40)]
        body = [np.eye(3) + (step >= moves_at) * step for step in range(40)]
        steps = {(TRAIN, step): {"a_weight": body[step], "b_weight": head[step]} for step in range(40)}
        issues = run_rule("FrozenParameters", steps, patience=10, patience_running=50)
        assert fired(issues) == ([39] if fires else [])


class TestGradientOutlier:
    def test_a_gradient_far_above_its_usual_norm_fires(self, run_rule):
        """Or above what is ever sound."""
        usual = [np.ones(4)] * 20
        assert fired(run_rule("GradientOutlier", course("gradient/w", [*usual, np.ones(4) * 51]))) == [20]
        assert run_rule("GradientOutlier", course("gradient/w", [*usual, np.ones(4) * 49])) == []
        assert fired(run_rule("GradientOutlier", course("gradient/w", [np.ones(4) * 501]))) == [0]


class TestGradientsNotReset:
    @staticmethod
    def steps(optimizer, adds_up, first=0):
        """Return what a job saves whose optimizer gets the gradients of the steps, or their sums."""
        rng = np.random.default_rng(1)
        found, total, weight = {}, 0.0, rng.normal(size=40)
        momentum = mean = square = 0.0
        for step in range(first, first + 12):
            gradient = rng.normal(size=40) + 0.2
            found[TRAIN, step] = {"w_weight": weight.copy(), "gradient/w_weight": gradient}
            total = total + gradient
            used = total if adds_up else gradient
            momentum = 0.9 * momentum + used
            mean, square = 0.9 * mean + 0.1 * used, 0.999 * square + 0.001 * used**2
            count = step - first + 1
            adam = mean / (1 - 0.9**count) / (np.sqrt(square / (1 - 0.999**count)) + 1e-8)
            weight = weight - 0.01 * {"sgd": used, "momentum": momentum, "adam": adam}[optimizer]
        return found

    @pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adam"])
    def test_the_change_of_weights_tells(self, run_rule, optimizer):
        """Whichever of the usual optimizers is used."""
        issues = run_rule("GradientsNotReset", self.steps(optimizer, adds_up=True))
        assert issues
        assert issues[0].tensors == ("w_weight",)
        assert run_rule("GradientsNotReset", self.steps(optimizer, adds_up=False)) == []

    def test_without_the_first_steps_nothing_is_said(self, run_rule):
        """What added up before is not known; nor after a gap."""
        assert run_rule("GradientsNotReset", self.steps("sgd", adds_up=True, first=5)) == []
        steps = {key: value for key, value in self.steps("sgd", adds_up=True).items() if key[1] % 3}
        assert run_rule("GradientsNotReset", steps) == []


class TestActivationCollapse:
    def test_outputs_that_do_not_depend_on_the_sample_fire(self, run_rule):
        """After enough steps in a row."""
        same, varied = np.tile(RNG.normal(size=6), (8, 1)), RNG.normal(size=(8, 6))
        issues = run_rule("ActivationCollapse", course("fc_output_0", [same, same, varied, same, same, same]))
        assert fired(issues) == [5]

    @pytest.mark.parametrize(
        ("output", "expected"), [(np.zeros((4, 2)), 0.0), (np.ones((3, 2)), None), (np.arange(8).reshape(4, 2), None)]
    )
    def test_variation_needs_samples_and_real_numbers(self, output, expected):
        """Whole numbers are indices."""
        assert variation(output) == expected


class TestTrainEvalMixup:
    @staticmethod
    def layers(in_training):
        inputs = RNG.normal(size=(16, 8)) + 3
        kept = RNG.random((16, 8)) > 0.5 if in_training else np.ones((16, 8), bool)
        norm = RNG.normal(size=(16, 4)) + (0.0 if in_training else 0.3)
        if in_training:
            norm = norm - norm.mean(axis=0)
        return {
            "drop_input_0": inputs, "drop_output_0": inputs * kept, "bn_output_0": norm, "Net_bn.bias": np.zeros(4),
        }  # fmt: skip

    @pytest.mark.parametrize(("mode", "in_training", "fires"), [
        (TRAIN, True, False), (TRAIN, False, True), (EVAL, False, False), (EVAL, True, True),
    ])  # fmt: skip
    def test_layers_tell_their_mode(self, run_rule, mode, in_training, fires):
        """Both kinds of layers, after two steps in a row, dropout if it has been seen to drop."""
        steps = {(TRAIN, 0): self.layers(in_training=True)}
        steps |= {(mode, step + 1): self.layers(in_training) for step in range(2)}
        issues = run_rule("TrainEvalMixup", steps)
        assert [issue.tensors for issue in issues] == ([("bn_output_0", "drop_output_0")] if fires else [])

    def test_what_is_unclear_gives_no_verdict(self):
        """Few elements, few samples, or a bias of another shape."""
        assert drops(np.zeros((4, 4)), np.zeros((4, 4))) is None
        assert is_centred_on(np.ones((16, 4)), np.ones(3)) is None
        assert is_centred_on(np.ones((16, 4)), np.ones(4)) is None


class TestDuplicateBatches:
    def test_few_different_batches_fire(self, run_rule):
        """Three of ten are too few, four are not; gaps between steps begin anew."""
        batches = [RNG.normal(size=(4, 3)) for _ in range(4)]
        for number, fires in ((3, True), (4, False)):
            values = [batches[step % number] for step in range(10)]
            assert bool(run_rule("DuplicateBatches", course("Net_input_0", values))) == fires
        gaps = {(TRAIN, 2 * step): {"Net_input_0": batches[0]} for step in range(20)}
        assert run_rule("DuplicateBatches", gaps) == []


class TestReplicaDivergence:
    @pytest.mark.parametrize(("factor", "fires"), [(1.0, False), (1.0005, False), (1.01, True), (np.nan, False)])
    def test_weights_of_workers_must_agree(self, tmp_path, run_rule, factor, fires):
        """Within the threshold; one worker alone gives no verdict."""
        job = SmallTrial(tmp_path / "job", ("worker_0", "worker_1"))
        for worker, weight in (("worker_0", np.ones(3)), ("worker_1", np.ones(3) * factor)):
            job.write(TRAIN, 0, {"w_weight": weight}, global_step=0, worker=worker)
        job.end()
        issues = run_rule("ReplicaDivergence", create_trial(str(tmp_path / "job")))
        assert bool(issues) == fires
        assert run_rule("ReplicaDivergence", course("w_weight", [np.ones(3)])) == []


class TestPredictionCollapse:
    @staticmethod
    def steps(predicted, labels):
        scores = np.eye(3)[predicted]
        tensors = {"CrossEntropyLoss_input_0": scores, "CrossEntropyLoss_input_1": np.asarray(labels)}
        return {(TRAIN, step): tensors for step in range(40)}

    def test_one_class_for_everything_fires(self, run_rule):
        """Unless the labels are nearly all of one class too, which is imbalance."""
        mixed = [0, 1, 2, 0, 1] * 4
        (issue, *_) = run_rule("PredictionCollapse", self.steps([1] * 20, mixed))
        assert (issue.step, issue.value) == (39, 1.0)
        assert run_rule("PredictionCollapse", self.steps(mixed, mixed)) == []
        assert run_rule("PredictionCollapse", self.steps([0] * 20, [0] * 18 + [1, 2])) == []

    def test_answers_that_are_not_saved_at_every_step_do_no_harm(self, run_rule):
        """Then the issue names the labels."""
        steps = self.steps([1] * 20, [0, 1, 2, 0, 1] * 4)
        steps[TRAIN, 39] = {"CrossEntropyLoss_input_1": steps[TRAIN, 0]["CrossEntropyLoss_input_1"]}
        (issue,) = run_rule("PredictionCollapse", steps)
        assert (issue.step, issue.tensors) == (39, ("CrossEntropyLoss_input_1",))

    def test_labels_of_one_class_fire(self, run_rule):
        """There is nothing to learn; targets of a regression are no labels."""
        assert fired(run_rule("PredictionCollapse", self.steps([0, 1] * 10, [2] * 20))) == [39]
        assert run_rule("PredictionCollapse", self.steps([0, 1] * 10, [0.5] * 20)) == []

    @pytest.mark.parametrize(
        ("others", "text"), [(0, "so far are of class 2"), (1, "hardly ever come up"), (400, "Labels come sorted")]
    )
    def test_labels_of_one_class_are_told_apart_from_rare_and_sorted_ones(self, run_rule, others, text):
        """By how many of all before were of others."""
        steps = self.steps([0, 1] * 10, [2] * 20)
        steps[TRAIN, 0] = {"CrossEntropyLoss_input_1": np.array([0] * others + [2])}
        (issue,) = run_rule("PredictionCollapse", steps)
        assert text in issue.message

    def test_a_rare_event_may_be_missing_for_a_while(self, run_rule):
        """One in a hundred, say."""
        steps = self.steps([0, 1] * 10, [2] * 20)
        steps[TRAIN, 0] = {"CrossEntropyLoss_input_1": np.array([0] * 10 + [2])}
        assert run_rule("PredictionCollapse", steps) == []

    @pytest.mark.parametrize(("units", "fires"), [(4, True), (6, False)])
    def test_the_right_candidate_may_always_be_the_first(self, run_rule, units, fires):
        """Where no layer has a unit for each of four."""
        labels, scores = np.zeros(20, np.int64), RNG.normal(size=(20, 4))
        tensors = {"CrossEntropyLoss_input_0": scores, "CrossEntropyLoss_input_1": labels}
        tensors |= {"CrossEntropyLoss_output_0": np.array(1.0), "head.weight": np.ones((units, 3))}
        steps = {(TRAIN, step): tensors for step in range(45)}
        assert bool(run_rule("PredictionCollapse", steps)) == bool(run_rule("LabelMix", steps)) == fires


class TestLossInputMismatch:
    @pytest.mark.parametrize(
        ("name", "scores", "targets", "fires"),
        [
            ("CrossEntropyLoss", np.array([[0.2, 0.8], [0.5, 0.5]]), np.array([0, 1]), True),
            ("CrossEntropyLoss", np.array([[0.2, 0.7], [0.9, 0.5]]), np.array([0, 1]), True),
            ("CrossEntropyLoss", np.array([[0.0, 7.0], [0.0, 5.0]]), np.array([0, 1]), True),
            ("CrossEntropyLoss", np.array([[0.2, -0.8], [1.5, 0.5]]), np.array([0, 1]), False),
            ("NLLLoss", np.log([[0.2, 0.8], [0.5, 0.5]]), np.array([0, 1]), False),
            ("NLLLoss", np.array([[0.2, 0.8], [0.5, 0.5]]), np.array([0, 1]), True),
            ("BCEWithLogitsLoss", np.array([0.2, 0.8]), np.array([0.0, 1.0]), True),
            ("BCEWithLogitsLoss", np.array([-0.2, 0.8]), np.array([0.0, 1.0]), False),
            ("MSELoss", np.array([0.2, 0.98]), np.array([5.0, 1.0]), True),
            ("MSELoss", np.array([0.2, 0.5]), np.array([5.0, 1.0]), False),
            ("MSELoss", np.array([0.2, 0.8]), np.array([0.5, 1.0]), False),
            ("MSELoss", np.array([0.0, 3.0]), np.array([-5.0, 1.0]), True),
            ("MSELoss", np.array([-4.0, 3.0]), np.array([-5.0, 9.0]), False),
            ("OtherLoss", np.array([0.2, 0.8]), np.array([5.0, 1.0]), False),
        ],
    )
    def test_what_a_loss_expects_is_known_by_its_name(self, run_rule, name, scores, targets, fires):
        """After twenty steps."""
        tensors = {f"{name}_input_0": scores, f"{name}_input_1": targets}
        issues = run_rule("LossInputMismatch", {(TRAIN, step): tensors for step in range(20)})
        assert fired(issues) == ([19] if fires else [])

    def test_shapes_that_are_broadcast_fire_at_once(self, run_rule):
        """A column against a row is the classic."""
        tensors = {"MSELoss_input_0": np.ones((4, 1)), "MSELoss_input_1": np.ones(4)}
        (issue,) = run_rule("LossInputMismatch", {(TRAIN, 0): tensors})
        assert "(4, 1) and targets of shape (4,)" in issue.message


class TestInputScale:
    @pytest.mark.parametrize(("scale", "fires"), [(19.0, False), (21.0, True), (0.0011, False), (0.0009, True)])
    def test_inputs_must_be_of_a_usual_size(self, run_rule, scale, fires):
        """For three steps in a row; whole numbers are indices."""
        assert fired(run_rule("InputScale", course("Net_input_0", [np.full((4, 2), scale)] * 3))) == (
            [2] if fires else []
        )
        assert run_rule("InputScale", course("Net_input_0", [np.full((4, 2), 999)] * 3)) == []


class TestGeneralizationGap:
    @staticmethod
    def rounds(training, validation):
        steps = {}
        for number, (train, valid) in enumerate(zip(training, validation, strict=True)):
            steps[TRAIN, number] = {"loss": train}
            steps[EVAL, number] = {"loss": valid}
        steps[TRAIN, len(training)] = {"loss": 0.0}
        return steps

    def test_a_rising_validation_loss_fires_while_training_goes_on_well(self, run_rule):
        """After two rounds in a row, at the step that ends the second."""
        issues = run_rule("GeneralizationGap", self.rounds([4.0, 3, 2, 1, 0.5], [4.0, 3, 2, 2.5, 2.6]))
        assert [(issue.step, round(issue.value, 2)) for issue in issues] == [(10, 0.3)]

    @pytest.mark.parametrize(
        ("training", "validation"),
        [
            ([4.0, 3, 2, 1, 1], [9.0, 8, 7, 6, 5]),
            ([4.0, 3, 2, 2, 3], [4.0, 3, 2, 5, 6]),
            ([3.0, 2, 1], [2.0, 2.3, 2.39]),
        ],
        ids=["a gap alone", "both rise", "a small rise"],
    )
    def test_other_courses_do_not_fire(self, run_rule, training, validation):
        """Overfit is the rule for a mere gap."""
        assert run_rule("GeneralizationGap", self.rounds(training, validation)) == []

    def test_pairs_of_names_do_as_well(self, run_rule):
        """As XGBoost writes them."""
        steps = {
            (ModeKeys.GLOBAL, step): {"train-loss": 1 / (step + 1), "validation-loss": 1 + abs(step - 3)}
            for step in range(7)
        }
        trial_issues = run_rule("GeneralizationGap", steps)
        assert fired(trial_issues) == [5, 6]
