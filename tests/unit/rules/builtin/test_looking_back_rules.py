"""Rules that compare steps or remember them: which steps, and what is measured."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sagemaker_debug_ext.errors import InsufficientInformationForRuleInvocation
from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.rules.inference.updates import update_ratio
from sagemaker_debug_ext.rules.sagemaker.overtraining import Optimum
from sagemaker_debug_ext.rules.sagemaker.poor_weight_initialization import spread
from sagemaker_debug_ext.rules.sagemaker.similar_across_runs import times_tolerance
from sagemaker_debug_ext.rules.sagemaker.unchanged_tensor import is_close
from sagemaker_debug_ext.rules.sagemaker.weight_update_ratio import earlier_step
from sagemaker_debug_ext.store.backends.local import LocalBackend
from sagemaker_debug_ext.store.format.keys import index_key
from sagemaker_debug_ext.testing.trials import SmallTrial, write_trial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN, EVAL, GLOBAL = ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.GLOBAL


def course(name, values, mode=TRAIN):
    return {(mode, step): {name: value} for step, value in enumerate(values)}


def fired(issues):
    return [issue.step for issue in issues]


class TestWeightUpdateRatio:
    @pytest.mark.parametrize(
        ("num_steps", "step", "found"),
        [(None, 30, 20), (None, 0, None), (25, 30, 10), (10, 30, 20), (9, 30, None), (100, 30, 0), (30, 30, 0)],
    )
    def test_the_reference_is_the_previous_or_the_earliest_within_reach(self, num_steps, step, found):
        """Inclusive on the far side."""
        assert earlier_step([0, 10, 20, 30], step, num_steps) == found

    def test_the_ratio_is_of_norms_over_all_elements(self):
        """Relative to the earlier weight."""
        assert update_ratio(np.array([[3.0, 8.0]]), np.array([[3.0, 4.0]]), 1e-9) == pytest.approx(0.8)
        assert update_ratio(np.ones(4), np.zeros(4), 0.5) == 4

    @pytest.mark.parametrize(("factor", "fires"), [(1.0, True), (1.0001, False), (10.5, False), (11.5, True)])
    def test_both_limits_are_strict(self, run_rule, factor, fires):
        """An unchanged weight has the ratio 0."""
        issues = run_rule("WeightUpdateRatio", course("w_weight", [np.ones(3), np.ones(3) * factor]))
        assert fired(issues) == ([1] if fires else [])

    def test_a_change_of_shape_gives_no_verdict(self, run_rule):
        """Nor does the first saved step."""
        assert run_rule("WeightUpdateRatio", course("w_weight", [np.ones(3), np.ones(4)])) == []

    def test_distances_count_within_training(self, run_rule):
        """EVAL steps in between do not matter."""
        steps = {}
        for step in range(4):
            steps[TRAIN, step] = {"w_weight": np.full(2, 10.0**step)}
            steps[EVAL, step] = {"w_weight": np.zeros(2)}
        issues = run_rule("WeightUpdateRatio", steps, num_steps=2, large_threshold=98)
        assert [(issue.mode, issue.mode_step, round(issue.value)) for issue in issues] == [
            (TRAIN, 2, 99),
            (TRAIN, 3, 99),
        ]

    def test_a_frozen_weight_speaks_louder_than_a_slow_one(self, run_rule):
        """The worst is named first."""
        steps = {(TRAIN, step): {"a_weight": 1 + 1e-9 * np.full(1, step), "b_weight": np.ones(1)} for step in range(2)}
        (issue,) = run_rule("WeightUpdateRatio", steps)
        assert issue.tensors == ("b_weight", "a_weight")

    def test_evaluation_may_begin_in_the_middle(self, make_trial):
        """Steps before the first evaluated one are looked at."""
        trial = make_trial(course("w_weight", [np.ones(3)] * 4))
        issues = evaluate([create_rule("WeightUpdateRatio", trial)], trial, start_step=2).run()
        assert fired(issues) == [2, 3]


class TestUnchangedTensor:
    def test_the_latest_saved_values_must_agree(self, run_rule):
        """Three of them by default; a change begins the count anew."""
        issues = run_rule("UnchangedTensor", course("x", [1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0]), tensor_regex="x")
        assert fired(issues) == [2, 3, 6]

    def test_gaps_between_saved_values_do_not_matter(self, run_rule):
        """Saved steps count, not their distance."""
        steps = {(TRAIN, step): {"y": 1.0} if step % 2 else {"x": 1.0} for step in range(7)}
        assert fired(run_rule("UnchangedTensor", steps, tensor_regex="x")) == [4, 6]

    def test_values_of_other_modes_do_not_count(self, run_rule):
        """Same mode as the step."""
        steps = {}
        for step in range(3):
            steps[TRAIN, step] = {"x": 1.0}
            steps[EVAL, step] = {"x": float(step)}
        assert fired(run_rule("UnchangedTensor", steps, tensor_regex="x")) == [4]

    @pytest.mark.parametrize(
        ("options", "fires"), [({}, False), ({"rtol": 0.1}, True), ({"atol": "0.2"}, True), ({"rtol": 0.04}, False)]
    )
    def test_tolerances_decide_what_a_change_is(self, run_rule, options, fires):
        """Relative to the current value."""
        issues = run_rule("UnchangedTensor", course("x", [1.9, 2.0]), tensor_regex="x", num_steps=2, **options)
        assert bool(issues) == fires

    @pytest.mark.parametrize(("equal_nan", "fires"), [("False", False), ("True", True)])
    def test_nan_agrees_with_nan_only_if_asked(self, run_rule, equal_nan, fires):
        """By default it is a change."""
        issues = run_rule("UnchangedTensor", course("x", [math.nan] * 3), tensor_regex="x", equal_nan=equal_nan)
        assert bool(issues) == fires

    def test_a_difference_of_shape_is_a_change(self):
        """Although the numbers could be broadcast."""
        assert not is_close(np.ones(1), np.ones(3), 0, 0, False)


class TestPoorWeightInitialization:
    @pytest.mark.parametrize(("scale", "fires"), [(3, False), (4, True), (0, True)])
    def test_variances_of_layers_may_differ_by_a_factor(self, run_rule, scale, fires):
        """9 is tolerated, 16 is not, and no variance at all is an infinite ratio."""
        layers = {"a_relu_input": np.arange(5.0), "b_relu_input": np.arange(5.0) * scale}
        issues = run_rule("PoorWeightInitialization", {(TRAIN, 0): layers})
        assert bool(issues) == fires

    def test_the_smaller_variance_is_named_first(self, run_rule):
        """With the ratio as the measured value."""
        layers = {"a_relu_input": np.arange(5.0) * 10, "b_relu_input": np.arange(5.0)}
        (issue,) = run_rule("PoorWeightInitialization", {(TRAIN, 0): layers})
        assert (issue.tensors, round(issue.value)) == (("b_relu_input", "a_relu_input"), 100)

    @pytest.mark.parametrize(("width", "fires"), [(0.0011, False), (0.0009, True)])
    def test_gradients_must_differ_within_a_tensor(self, run_rule, width, fires):
        """The 5th and the 95th percentile, of tensors of at least two elements."""
        gradients = {"gradient/w": np.linspace(0, width / 0.9, 21), "gradient/b": np.ones(1)}
        assert bool(run_rule("PoorWeightInitialization", {(TRAIN, 0): gradients})) == fires

    @given(hnp.arrays(np.float32, st.integers(2, 40), elements=st.floats(-100, 100, width=32)))
    def test_the_spread_equals_that_of_numpy(self, gradient):
        """Percentiles interpolate linearly; NaN spreads."""
        low, high = np.percentile(gradient.astype(np.float64), [5, 95])
        assert spread(gradient) == pytest.approx(high - low, rel=1e-9, abs=1e-9)
        assert math.isnan(spread(np.append(gradient, np.float32(math.nan))))

    def test_a_loss_must_fall_within_the_patience(self, run_rule):
        """Equal is no improvement; within the first steps only."""
        issues = run_rule("PoorWeightInitialization", course("loss", [5.0, 5, 5, 4, 4, 4, 4]), patience=2)
        assert fired(issues) == [2, 5, 6]

    def test_only_the_first_saved_steps_are_looked_at(self, run_rule):
        """Ten by default."""
        steps = course("gradient/w", [np.zeros(3)] * 12)
        assert fired(run_rule("PoorWeightInitialization", steps)) == list(range(10))
        assert fired(run_rule("PoorWeightInitialization", steps, steps="2")) == [0, 1]

    def test_nan_and_a_single_layer_never_fire(self, run_rule):
        """There is nothing to compare."""
        layers = {"a_relu_input": np.array([1, math.nan]), "b_relu_input": np.ones(2)}
        assert run_rule("PoorWeightInitialization", {(TRAIN, 0): layers}) == []
        assert run_rule("PoorWeightInitialization", {(TRAIN, 0): {"a_relu_input": np.zeros(2)}}) == []


class TestOvertraining:
    @staticmethod
    def steps(training, validation):
        found = {}
        for step, (train, valid) in enumerate(zip(training, validation, strict=True)):
            found[TRAIN, step] = {"loss": train}
            found[EVAL, step] = {"loss": valid}
        return found

    def test_both_losses_must_stand_still(self, run_rule):
        """The first observation is an optimum."""
        still = self.steps([1.0] * 4, [1.0] * 4)
        issues = run_rule("Overtraining", still, patience_train=2, patience_validation=2)
        assert fired(issues) == [5, 6, 7]
        falling = self.steps([4.0, 3.0, 2.0, 1.0], [1.0] * 4)
        assert run_rule("Overtraining", falling, patience_train=2, patience_validation=2) == []

    def test_an_improvement_must_exceed_delta(self, run_rule):
        """It is absolute, and exactly delta is none."""
        steps = self.steps([1.0, 0.75, 0.5], [1.0, 1.0, 1.0])
        given = {"patience_train": 2, "patience_validation": 2}
        assert fired(run_rule("Overtraining", steps, delta=0.5, **given)) == [5]
        assert run_rule("Overtraining", steps, delta=0.2, **given) == []

    def test_without_validation_it_never_fires(self, run_rule):
        """And gives no verdict."""
        assert run_rule("Overtraining", course("loss", [1.0] * 30)) == []

    def test_trials_without_modes_are_paired_by_name(self, run_rule):
        """As XGBoost writes them; a name without prefix is training."""
        steps = {
            (GLOBAL, step): {"train-loss": 1.0, "validation-loss": 1.0, "loss2": 3.0, "val_loss2": 3.0 - step}
            for step in range(4)
        }
        issues = run_rule("Overtraining", steps, patience_train=2, patience_validation=2)
        assert [(issue.step, issue.tensors) for issue in issues] == [
            (2, ("validation-loss",)),
            (3, ("validation-loss",)),
        ]

    @given(st.lists(st.floats(0, 10), min_size=1, max_size=12), st.floats(0, 2))
    def test_optimum_equals_that_of_a_naive_loop(self, values, delta):
        """Counting by hand."""
        optimum = Optimum()
        for value in values:
            optimum.observe(value, delta)
        best, age = values[0], 0
        for value in values[1:]:
            best, age = (value, 0) if value < best - delta else (best, age + 1)
        assert (optimum.best, optimum.age) == (best, age)


class TestSimilarAcrossRuns:
    @pytest.mark.parametrize(
        ("mine", "other", "fires"),
        [
            (1.0, 1.0, False), (1.0, 1.000009, False), (1.0, 1.0001, True), (math.nan, math.nan, False),
            (math.inf, math.inf, False), (math.inf, 1.0, True), (math.nan, 1.0, True), ([1.0], [[1.0]], True),
            ([1.0, 2.0], [1.0, 3.0], True),
        ],
    )  # fmt: skip
    def test_elements_must_agree_within_the_tolerance(self, mine, other, fires):
        """As closeness in numpy has it, NaN being equal to NaN; another shape is a difference."""
        mine, other = np.array(mine), np.array(other)
        assert (times_tolerance(mine, other) > 1) == fires
        same_shape = mine.shape == other.shape
        assert fires != (same_shape and np.allclose(mine, other, rtol=1e-5, atol=1e-8, equal_nan=True))

    def test_steps_and_tensors_of_one_trial_only_give_no_verdict(self, run_rule, tmp_path):
        """The first common difference is found."""
        write_trial(tmp_path / "other", {(TRAIN, 0): {"x": 1.0, "z": 1.0}, (TRAIN, 1): {"x": 2.0}})
        steps = {(TRAIN, 0): {"x": 1.0, "y": 5.0}, (TRAIN, 1): {"x": 2.5, "y": 5.0}, (TRAIN, 2): {"x": 9.0}}
        issues = run_rule("SimilarAcrossRuns", steps, other_trial_0=str(tmp_path / "other"))
        assert [(issue.step, issue.tensors) for issue in issues] == [(1, ("x",))]

    def test_a_run_equals_itself(self, make_trial, run_rule):
        """Whatever it holds."""
        trial = make_trial({(TRAIN, 0): {"x": np.array([1, math.nan, math.inf]), "text": np.array(["a"])}})
        assert run_rule("SimilarAcrossRuns", trial, other_trials=trial.path) == []

    def test_only_selected_tensors_are_compared(self, run_rule, tmp_path):
        """By collection or pattern."""
        write_trial(tmp_path / "other", {(TRAIN, 0): {"gradient/a": 1.0, "b": 1.0}})
        steps = {(TRAIN, 0): {"gradient/a": 2.0, "b": 2.0}}
        (issue,) = run_rule(
            "SimilarAcrossRuns", steps, other_trials=str(tmp_path / "other"), collection_names="gradients"
        )
        assert issue.tensors == ("gradient/a",)


class TestStalledTraining:
    """Time is what the clock and the files say."""

    @staticmethod
    def write(folder, gaps, ended=True):
        """Write steps whose index files are that many seconds apart, and return the time of the last."""
        job = SmallTrial(folder)
        now = 1_000_000.0
        for gap in gaps:
            now += gap
            step = job.write(TRAIN, len(list(folder.glob("index/*/*"))), {"x": 1.0})
            os.utime(folder / index_key(step, "worker_0"), (now, now))
        if ended:
            job.end()
        return now

    def test_a_replay_fires_at_the_step_before_a_long_gap(self, tmp_path):
        """At least the threshold."""
        self.write(tmp_path, [0, 10, 60, 59, 61])
        trial = create_trial(str(tmp_path))
        evaluation = evaluate([create_rule("StalledTrainingRule", trial, {"threshold": 60})], trial)
        assert [(issue.step, issue.value) for issue in evaluation] == [(1, 60), (3, 61)]

    def test_time_after_the_last_step_counts_unless_the_job_has_ended(self, tmp_path):
        """A job that died marks no end."""
        for ended, steps in ((True, []), (False, [0])):
            folder = tmp_path / str(ended)
            last = self.write(folder, [0], ended)
            trial = create_trial(str(folder))
            rule = create_rule("StalledTrainingRule", trial, {"threshold": 60}, clock=lambda last=last: last + 60)
            assert fired(evaluate([rule], trial, follow=False)) == steps

    def test_a_replay_from_a_storage_where_looks_cost_asks_it_for_nothing(self, tmp_path, monkeypatch):
        """The times came with the names of the index files."""
        self.write(tmp_path, [0, 10, 70, 10, 60])
        monkeypatch.setattr(LocalBackend, "is_remote", True)
        listed = []
        list_objects = LocalBackend.list
        monkeypatch.setattr(LocalBackend, "list", lambda *given: listed.append(given[1:]) or list_objects(*given))
        trial = create_trial(str(tmp_path))
        listed.clear()
        rule = create_rule("StalledTrainingRule", trial, {"threshold": 60})
        assert fired(evaluate([rule], trial)) == [1, 3]
        assert listed == []

    def test_a_running_trial_without_news_fires_once_for_each_silence(self, tmp_path):
        """By the clock, at the last step seen; 0 before there is one."""
        job = SmallTrial(tmp_path)
        time = [2_000_000.0]
        plan = [30, 30, 30, "step", 59, 2, 60, "end"]

        def sleep(_):
            what = plan.pop(0)
            if what == "step":
                step = job.write(TRAIN, 0, {"x": 1.0}, global_step=7)
                os.utime(tmp_path / index_key(step, "worker_0"), (time[0], time[0]))
            elif what == "end":
                job.end()
            else:
                time[0] += what

        trial = create_trial(str(tmp_path))
        rule = create_rule("StalledTrainingRule", trial, {"threshold": 60}, clock=lambda: time[0])
        issues = evaluate([rule], trial, sleep=sleep).run()
        assert [(issue.step, issue.value) for issue in issues] == [(0, 60), (7, 61)]

    def test_the_job_is_stopped_if_asked(self, tmp_path):
        """By the action of the same name, once."""
        self.write(tmp_path, [0, 99, 99])
        trial = create_trial(str(tmp_path))
        calls = []
        given = {"threshold": "60", "stop_training_on_fire": "True", "training_job_name_prefix": "Job-A"}
        rule = create_rule(
            "StalledTrainingRule", trial, given, action_handlers={"stoptraining": lambda *each: calls.append(each)}
        )
        assert len(evaluate([rule], trial).run()) == 2
        assert [call[0]["training_job_prefix"] for call in calls] == ["Job-A"]

    def test_stopping_needs_the_name_of_the_job(self, make_trial):
        """Or else nothing could be stopped."""
        with pytest.raises(InsufficientInformationForRuleInvocation, match="training_job_name_prefix"):
            create_rule("StalledTrainingRule", make_trial({}), {"stop_training_on_fire": True})
