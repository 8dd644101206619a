"""What sound runs do that looks like a fault: what keeps a rule silent, and what just still fires."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.rules.extra.data import duplicate_batches
from sagemaker_debug_ext.rules.extra.layers.prediction_collapse import knowledge
from sagemaker_debug_ext.rules.reading.selection import Selection
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import Role
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN, EVAL = ModeKeys.TRAIN, ModeKeys.EVAL


def course(steps, mode=TRAIN):
    return {(mode, number): tensors for number, tensors in enumerate(steps)}


class TestInputsOfModels:
    @pytest.mark.parametrize(
        ("tensors", "names"),
        [
            (("Net_fc.weight", "Net_input_0", "Written_input_0"), ["Net_input_0"]),
            (("Net_fc.weight", "Critic_fc.weight", "Net_input_0", "Critic_input_0"), ["Critic_input_0", "Net_input_0"]),
            (("Net_input_0", "Written_input_0"), ["Net_input_0", "Written_input_0"]),
            (("Net_fc.weight", "Written_input_0"), ["Written_input_0"]),
        ],
    )
    def test_what_goes_into_a_loss_of_any_name_is_none(self, make_trial, tensors, names):
        """As far as parameters tell which of the modules are models."""
        trial = make_trial(course([dict.fromkeys(tensors, np.ones((2, 2)))]))
        assert Selection(roles=(Role.MODEL_INPUT,)).names(StepView(trial, 0)) == names


class TestFrozenParameters:
    @pytest.mark.parametrize(("slope_of_weight", "fires"), [(1.0, False), (0.0, True)])
    def test_an_offset_of_which_the_loss_takes_no_notice_does_no_harm(self, run_rule, slope_of_weight, fires):
        """As where answers for two samples are subtracted: the weight beside it learns."""
        steps = course(
            {
                "Net_a.weight": np.full((2, 2), 1.0 + step * slope_of_weight),
                "Net_a.bias": np.ones(2),
                "Net_b.weight": np.full((2, 2), 1.0 + step),
                "gradient/Net_a.weight": np.full((2, 2), slope_of_weight),
                "gradient/Net_a.bias": np.zeros(2),
                "gradient/Net_b.weight": np.ones((2, 2)),
            }
            for step in range(8)
        )
        assert bool(run_rule("FrozenParameters", steps)) == fires


class TestActivationCollapse:
    @pytest.mark.parametrize(("given_differs", "answers_differ", "fires"), [(0, 1, 0), (1, 1, 1), (0, 0, 1)])
    def test_what_is_computed_of_constants_on_purpose_is_silent(self, run_rule, given_differs, answers_differ, fires):
        """Such as the first state of a recurrent layer, as long as answers differ."""
        varied = np.random.default_rng(0).normal(size=(8, 4))
        same = np.tile(varied[:1], (8, 1))
        tensors = {
            "again_input_0": varied if given_differs else same,
            "again_output_0": same,
            "MSELoss_input_0": varied if answers_differ else same,
        }
        assert bool(run_rule("ActivationCollapse", course([tensors] * 4))) == bool(fires)


class TestPredictionCollapse:
    @pytest.mark.parametrize(("distance", "fires"), [(2.5, False), (0.8, True)])
    @pytest.mark.parametrize("of_two", [False, True])
    def test_scores_that_tell_classes_apart_only_miss_the_threshold(self, run_rule, distance, fires, of_two):
        """Whether there is one score or one for each class."""
        rng = np.random.default_rng(0)
        steps = []
        for _ in range(40):
            labels = rng.integers(0, 2, 20)
            margins = rng.normal(size=20) + distance * labels - 8
            scores = np.stack([0 * margins, margins], axis=1) if of_two else margins[:, None]
            loss = "CrossEntropyLoss" if of_two else "BCEWithLogitsLoss"
            targets = labels if of_two else labels[:, None].astype(float)
            steps.append({f"{loss}_input_0": scores, f"{loss}_input_1": targets})
        assert bool(run_rule("PredictionCollapse", course(steps))) == fires

    def test_what_is_the_same_for_all_samples_tells_nothing(self):
        """Nor do scores that are none of the labels'."""
        labels = np.array([0, 1, 0, 1])
        assert knowledge(np.ones((4, 1)), labels) is None
        assert knowledge(np.ones((4, 2, 3)), labels) is None
        assert knowledge(labels + 7.0, labels) == pytest.approx(1)


class TestClassImbalance:
    @pytest.mark.parametrize(
        ("shape", "inputs", "fires"),
        [((60,), 60, True), ((60,), 6, False), ((20, 3), 20, False), ((60, 1), 60, True)],
    )
    def test_labels_of_which_a_sample_has_several_may_be_left_out(self, run_rule, shape, inputs, fires):
        """Those of words are uneven by nature, whether they come in rows or one after the other."""
        labels = np.array([0] * 57 + [1] * 3).reshape(shape)
        steps = course([{"CrossEntropyLoss_input_1": labels, "Net_input_0": np.ones((inputs, 5))}] * 10)
        options = {"labels_regex": "Loss_input_1", "predictions_regex": "^$"}
        assert bool(run_rule("ClassImbalance", steps, **options, per_sample=True)) == fires
        assert run_rule("ClassImbalance", steps, **options)


class TestEvaluationMismatch:
    @pytest.mark.parametrize(("before", "fires"), [(0.5, False), (0.3, True)])
    def test_evaluation_may_lag_behind_a_loss_that_falls_fast(self, run_rule, before, fires):
        """By ten steps, as averages of batch normalisation do."""
        rng = np.random.default_rng(0)
        losses = [1.0, 1.0, *[before] * 10, *[0.1] * 10]
        steps = course({"Net_input_0": rng.normal(size=(16, 6)), "loss": loss} for loss in losses)
        steps |= course([{"Net_input_0": rng.normal(size=(16, 6)), "loss": 1.0}], EVAL)
        assert bool(run_rule("EvaluationMismatch", steps)) == fires


class TestLossPlateau:
    @pytest.mark.parametrize(("known", "fires"), [(0.8, False), (0.1, True)])
    def test_a_model_with_something_to_show_needs_no_fall(self, run_rule, known, fires):
        """A start from a trained model, or targets with much noise."""
        rng = np.random.default_rng(0)
        steps, targets = [], rng.normal(size=(32, 1))
        for _ in range(60):
            scores = known * targets
            loss = float(np.mean((scores - targets) ** 2))
            steps.append({"MSELoss_input_0": scores, "MSELoss_input_1": targets, "MSELoss_output_0": np.array(loss)})
            if fires:
                steps[-1]["MSELoss_input_0"] = known * rng.normal(size=(32, 1))
        assert bool(run_rule("LossPlateau", course(steps), tensor_regex="Loss_output_")) == fires


class TestNoSkill:
    @pytest.mark.parametrize(("known", "fires"), [(1.0, False), (0.0, True)])
    def test_places_that_the_loss_ignores_are_no_class(self, run_rule, known, fires):
        """Such as the words that were not hidden."""
        labels = np.tile(np.arange(5), 20)
        scores = known * np.eye(5)[labels]
        labels = np.where(np.arange(100) < 80, -100, labels)
        tensors = {"CrossEntropyLoss_input_0": scores, "CrossEntropyLoss_input_1": labels}
        tensors["CrossEntropyLoss_output_0"] = np.array(1.0)
        assert bool(run_rule("NoSkill", course([tensors] * 60))) == fires


class TestLearningRateTooLow:
    @pytest.mark.parametrize(("known", "fires"), [(0.8, False), (0.0, True)])
    def test_a_model_that_was_trained_before_may_be_tuned_slowly(self, run_rule, known, fires):
        """Its answers show it."""
        targets = np.random.default_rng(0).normal(size=(32, 1))
        tensors = {"MSELoss_input_0": known * targets, "MSELoss_input_1": targets, "loss": 1.0}
        tensors["MSELoss_output_0"] = np.array(1.0)
        steps = course({**tensors, "w_weight": np.full(3, 1 + 4e-4 * step)} for step in range(60))
        assert bool(run_rule("LearningRateTooLow", steps)) == fires


class TestLearningRateTooHigh:
    @pytest.mark.parametrize(("rate", "fires"), [(0.6, False), (2.0, False), (4.0, True)])
    def test_first_updates_that_shrink_are_waited_for(self, run_rule, rate, fires):
        """As those of Adagrad do by the root of the number of steps."""
        rng = np.random.default_rng(0)
        weight, steps = rng.normal(size=1000), []
        for step in range(12):
            steps.append({"w_weight": weight})
            weight = weight + rate / np.sqrt(step + 1) * rng.choice([-1, 1], size=1000)
        assert bool(run_rule("LearningRateTooHigh", course(steps))) == fires


class TestAnswersFarFromZero:
    @pytest.mark.parametrize(("spread", "fires"), [(1.0, False), (1e-4, True)])
    def test_answers_may_lie_far_from_zero(self, run_rule, spread, fires):
        """Where a bias puts them; also those of the whole model."""
        output = 5000 + spread * np.random.default_rng(0).normal(size=(16, 1))
        tensors = {"head_output_0": output, "Net_output_0": output}
        tensors |= {"Net_head.weight": np.ones((1, 4)), "Net_head.bias": np.array([5000.0 - 3])}
        assert bool(run_rule("ActivationCollapse", course([tensors] * 4))) == fires


class TestDuplicateBatches:
    @pytest.mark.parametrize(("kinds", "repeats", "fires"), [(5, 1, False), (400, 20, True), (1, 1, True)])
    def test_samples_may_be_of_few_kinds(self, run_rule, kinds, repeats, fires):
        """Which come again in each batch; others are repeated within one."""
        rng = np.random.default_rng(0)
        steps = []
        for _ in range(12):
            rows = np.repeat(rng.integers(0, kinds, 40 // repeats), repeats)
            steps.append({"Net_input_0": np.eye(kinds)[rng.permutation(rows)]})
        assert bool(run_rule("DuplicateBatches", course(steps))) == fires

    @pytest.mark.parametrize(("size", "fires"), [(199, True), (200, False)])
    def test_a_large_batch_may_be_all_data(self, run_rule, size, fires):
        """So it is the same at each step."""
        batch = np.random.default_rng(0).normal(size=(size, 3))
        assert bool(run_rule("DuplicateBatches", course([{"Net_input_0": batch}] * 12))) == fires


class TestLossSpike:
    @pytest.mark.parametrize(("jumps", "fires"), [(1, False), (2, True)])
    def test_one_hard_batch_is_no_fault(self, run_rule, jumps, fires):
        """With some patience."""
        losses = [1.0] * 25 + [9.0] * jumps + [1.0] * 5
        assert bool(run_rule("LossSpike", course([{"loss": loss} for loss in losses]), patience=2)) == fires


class TestLossesThatAreWeighed:
    @pytest.mark.parametrize(("weight", "fires"), [(1.0, True), (5.0, False)])
    def test_rare_classes_may_count_more(self, run_rule, weight, fires):
        """As the loss tells, which is not the plain mean then; batches without them tell nothing."""
        rng = np.random.default_rng(0)
        steps = []
        for step in range(12):
            labels = np.array([float(step == 3)] + [0.0] * 19)
            scores = rng.normal(size=20)
            errors = np.logaddexp(0, scores) - scores * labels
            tensors = {"BCEWithLogitsLoss_input_0": scores, "BCEWithLogitsLoss_input_1": labels}
            steps.append(
                {**tensors, "BCEWithLogitsLoss_output_0": float(np.mean(errors * (1 + (weight - 1) * labels)))}
            )
        parameters = {"labels_regex": "Loss_input_1", "predictions_regex": "^$", "samples": 100}
        assert run_rule("ClassImbalance", course(steps), **parameters) != []
        assert bool(run_rule("ClassImbalance", course(steps), unless_weighed=True, **parameters)) == fires


class TestFeatureImportanceOverweight:
    @pytest.mark.parametrize(("start", "fires"), [(0, True), (2, False)])
    def test_the_first_trees_may_use_one_feature(self, run_rule, start, fires):
        """Until others are used too."""
        steps = {
            (ModeKeys.GLOBAL, n): {f"feature_importance/weight/f{k}": float(k == 0 or n > 1) for k in range(4)}
            for n in range(4)
        }
        assert bool(run_rule("FeatureImportanceOverweight", steps, nfeatures=1, start_step=start)) == fires


class TestEvaluationMismatchOfRareFeatures:
    @pytest.mark.parametrize(("scale", "fires"), [(0.05, False), (1.0, True)])
    def test_features_that_hardly_ever_differ_may_do_so_in_one_set_only(self, run_rule, scale, fires):
        """As pixels at the edge of images."""
        rng = np.random.default_rng(0)
        steps, often = {}, np.r_[np.ones(8), np.full(4, scale)]
        for step in range(6):
            steps[TRAIN, step] = {"Net_input_0": rng.normal(size=(40, 12)) * often}
            steps[EVAL, step] = {"Net_input_0": rng.normal(size=(40, 12)) * np.r_[np.ones(8), np.full(4, 0.001)]}
        assert bool(run_rule("EvaluationMismatch", steps)) == fires


class TestLeakingFeature:
    @pytest.mark.parametrize("copies", [True, False])
    def test_a_task_may_be_to_copy(self, run_rule, copies):
        """Where that was said."""
        words = np.arange(60).reshape(20, 3) % 5
        tensors = {"Net_input_0": words, "CrossEntropyLoss_input_0": np.ones((20, 5, 3))}
        tensors |= {"CrossEntropyLoss_input_1": words, "CrossEntropyLoss_output_0": 1.0}
        assert bool(run_rule("LeakingFeature", course([tensors] * 11), copies=copies)) == copies


class TestGames:
    @pytest.mark.parametrize(("mixed", "fires"), [(False, False), (True, True)])
    def test_yes_and_no_by_turns_are_a_game(self, run_rule, mixed, fires):
        """As where what is real and what is made are steps of their own."""
        rng = np.random.default_rng(0)
        steps = []
        for step in range(60):
            targets = rng.integers(0, 2, (20, 1)).astype(float) if mixed else np.full((20, 1), float(step % 2))
            tensors = {
                "BCEWithLogitsLoss_input_0": 0.1 * rng.normal(size=(20, 1)),
                "BCEWithLogitsLoss_input_1": targets,
            }
            steps.append({**tensors, "BCEWithLogitsLoss_output_0": 0.7})
        assert bool(run_rule("NoSkill", course(steps))) == fires


class TestLabelMixOfOddLabels:
    def test_complex_labels_are_none(self, run_rule):
        """And no error."""
        assert run_rule("LabelMix", course([{"labels": np.array([1 + 2j, 1, 1])}] * 3)) == []


class TestEvaluationOfTheSameThing:
    @pytest.mark.parametrize(("kinds", "fires"), [(1, False), (2, True)])
    def test_one_graph_is_trained_on_and_evaluated(self, run_rule, kinds, fires):
        """Other parts of it, as far as anybody knows."""
        graphs = np.random.default_rng(0).normal(size=(kinds, 40, 5))
        steps = course({"Net_input_0": graphs[step % kinds]} for step in range(6))
        steps |= course([{"Net_input_0": graphs[0]}], EVAL)
        assert bool(run_rule("EvaluationOverlap", steps)) == fires

    @pytest.mark.parametrize(("size", "fires"), [(30, False), (60, True)])
    def test_few_batches_may_be_all_data(self, run_rule, size, fires):
        """Where evaluation has no more."""
        rng = np.random.default_rng(0)
        batch = rng.normal(size=(40, 5))
        steps = {(EVAL, 0): {"Net_input_0": rng.normal(size=(size, 5))}}
        steps |= course([{"Net_input_0": batch}] * 12)
        assert bool(run_rule("DuplicateBatches", steps, unless_all=True)) == fires

    def test_samples_of_evaluation_are_kept_up_to_a_limit(self, make_trial, monkeypatch):
        """A job that augments them has new ones in each round."""
        monkeypatch.setattr(duplicate_batches, "MAX_KEPT", 100)
        rng = np.random.default_rng(0)
        trial = make_trial({(EVAL, step): {"Net_input_0": rng.normal(size=(40, 5))} for step in range(9)})
        rule = create_rule("DuplicateBatches", trial, {"unless_all": True})
        list(evaluate([rule], trial))
        assert len(rule._of_evaluation["Net_input_0"]) == 120


class TestOddNumbers:
    """What cannot be evaluated is passed over, or counts as not finite; no rule ends with an error."""

    @staticmethod
    def statuses(trial, *names):
        evaluation = evaluate([create_rule(name, trial, {"patience": 2}) for name in names], trial)
        list(evaluation)
        return {status.details.partition(":")[0] for status in evaluation.statuses if status.status == "Error"}

    @pytest.mark.parametrize("least", [-math.inf, 1.7e308])
    def test_losses_that_are_infinite_both_ways_or_too_large_have_no_mean(self, make_trial, least):
        """As after an overflow in half precision."""
        losses = [math.inf if math.isinf(least) else 1.7e308, least] * 12
        steps = course({"Net_input_0": np.ones((40, 2)) * step, "loss": loss} for step, loss in enumerate(losses))
        steps |= {(EVAL, step): {**each, "Net_input_0": -each["Net_input_0"]} for (_, step), each in steps.items()}
        steps[TRAIN, len(losses)] = {"Net_input_0": np.ones((40, 2)), "loss": 1.0}
        assert not self.statuses(make_trial(steps), "LossPlateau", "EvaluationMismatch")

    def test_complex_answers_and_targets_are_not_evaluated(self, make_trial):
        """Their real parts are not they."""
        rng = np.random.default_rng(0)
        steps = {}
        for step in range(30):
            numbers = rng.normal(size=(2, 20, 1)) @ [1 + 1j]
            names = {"MSELoss_input_0": numbers[0], "BCEWithLogitsLoss_input_0": numbers[0].real}
            names |= {"MSELoss_input_1": rng.integers(0, 3, 20), "BCEWithLogitsLoss_input_1": numbers[1]}
            steps[TRAIN, step] = {**names, "MSELoss_output_0": 1.0, "BCEWithLogitsLoss_output_0": 1.0}
            steps[TRAIN, step] |= {"labels": rng.integers(0, 3, 20), "predictions": numbers[0]}
        assert not self.statuses(make_trial(steps), "NoSkill", "PredictionCollapse")


def rounds(training, validation):
    steps = {}
    for number, (one, other) in enumerate(zip(training, validation, strict=True)):
        steps[TRAIN, number] = {"loss": one}
        steps[EVAL, number] = {"loss": other}
    return {**steps, (TRAIN, len(training)): {"loss": training[-1]}}


class TestLossesOfEvaluation:
    @pytest.mark.parametrize(("last", "fires"), [(1.2, False), (2.0, True)])
    def test_a_gap_that_closes_is_no_overfitting(self, run_rule, last, fires):
        """When asked to, only where the validation loss has stopped falling."""
        steps = rounds([1.0, 0.5, 0.3, 0.2, 0.1], [4.0, 3.0, 2.0, 1.5, 1.4] if last < 2 else [4.0, 2.0, 2.0, 2.1, last])
        parameters = {"ratio_threshold": 2, "patience": 3}
        assert run_rule("Overfit", steps, **parameters) != []
        assert bool(run_rule("Overfit", steps, unless_falling=True, **parameters)) == fires

    @pytest.mark.parametrize(("scale", "fires"), [(0.01, False), (1.0, True)])
    def test_where_hardly_any_loss_is_left_it_goes_up_and_down(self, run_rule, scale, fires):
        """Next to what it was at first."""
        steps = rounds([1.0, *(scale * np.array([0.9, 0.8, 0.7, 0.6]))], [1.1, *(scale * np.array([1, 1.4, 1.5, 1.6]))])
        assert bool(run_rule("GeneralizationGap", steps)) == fires

    @pytest.mark.parametrize(("second", "fires"), [(5.0, False), (9.0, True)])
    def test_averages_may_lag_behind_at_first(self, run_rule, second, fires):
        """So evaluation that is off must be so again, and not by much less."""
        rng, steps, number = np.random.default_rng(0), {}, 0
        for value in (10.0, second):
            for _ in range(20):
                steps[TRAIN, number] = {"Net_input_0": rng.normal(size=(16, 6)), "loss": 1.0}
                number += 1
            steps[EVAL, number] = {"Net_input_0": rng.normal(size=(16, 6)), "loss": value}
        assert bool(run_rule("EvaluationMismatch", steps, patience=2)) == fires


class TestVerdictsThatWait:
    @pytest.mark.parametrize(("patience", "fires"), [(300, False), (40, True)])
    def test_one_class_may_be_predicted_at_first(self, run_rule, patience, fires):
        """While the job may still mend it."""
        labels, steps = np.arange(20) % 2, []
        for step in range(100):
            scores = np.eye(2)[labels if step > 60 else np.zeros(20, int)]
            steps.append({"CrossEntropyLoss_input_0": scores, "CrossEntropyLoss_input_1": labels})
        assert bool(run_rule("PredictionCollapse", course(steps), patience_running=patience)) == fires

    @pytest.mark.parametrize(("patience", "fires"), [(300, False), (20, True)])
    def test_a_sum_may_fall_late(self, run_rule, patience, fires):
        """As long as the job runs."""
        targets, steps = np.linspace(-1, 1, 16)[:, None], []
        for step in range(60):
            scores = targets * (0.99 if step > 40 else 0.01)
            tensors = {"MSELoss_input_0": scores, "MSELoss_input_1": targets}
            steps.append({**tensors, "MSELoss_output_0": float(np.square(scores - targets).sum()) + 1e-3})
        assert bool(run_rule("LossInputMismatch", course(steps), patience_running=patience)) == fires


class TestSkillOfLossesThatAreWeighed:
    @pytest.mark.parametrize(("known", "fires"), [(2.0, False), (0.0, True)])
    def test_answers_may_lean_towards_what_counts_more(self, run_rule, known, fires):
        """What counts is how they go with the targets."""
        rng, steps = np.random.default_rng(0), []
        for _ in range(60):
            targets = (rng.random((40, 1)) < 0.1).astype(float)
            scores = known * targets + rng.normal(size=(40, 1))
            errors = (np.logaddexp(0, scores) - scores * targets) * (1 + 9 * targets)
            tensors = {"BCEWithLogitsLoss_input_0": scores, "BCEWithLogitsLoss_input_1": targets}
            steps.append({**tensors, "BCEWithLogitsLoss_output_0": float(errors.mean())})
        assert bool(run_rule("NoSkill", course(steps))) == fires
