"""What holds for every built-in rule, whatever it looks for: one table of scenes, one row for each rule."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from sagemaker_debug_ext.catalog import list_rule_specs
from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.store.format.keys import reduction_tensor_name
from sagemaker_debug_ext.testing.trials import SmallTrial, write_trial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN, EVAL, GLOBAL = ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.GLOBAL


class Scene(NamedTuple):
    """Steps at which a rule fires, and the names of the tensors it looks at."""

    steps: list[tuple[ModeKeys, dict[str, Any]]]
    fires_at: list[int]
    parameters: dict[str, Any]
    tensors: tuple[str, ...]
    other: dict[str, Any] | None = None


def train(*tensors):
    return [(TRAIN, each) for each in tensors]


ONES, ZEROS = np.ones((4, 3)), np.zeros((4, 3))
SCENES = {
    "VanishingGradient": Scene(train({"gradient/w": ZEROS}), [0], {}, ("gradient/w",)),
    "ExplodingTensor": Scene(train({"x": ONES * np.inf}), [0], {}, ("x",)),
    "DeadRelu": Scene(train({"a_relu_output": ZEROS}), [0], {}, ("a_relu_output",)),
    "SaturatedActivation": Scene(train({"tanh_input": ONES * 50}), [0], {}, ("tanh_input",)),
    "WeightUpdateRatio": Scene(train({"w_weight": ONES}, {"w_weight": ONES * 50}), [1], {}, ("w_weight",)),
    "PoorWeightInitialization": Scene(
        train({"a_relu_input": np.arange(4.0), "b_relu_input": np.arange(4.0) * 50}), [0], {},
        ("a_relu_input", "b_relu_input"),
    ),
    "AllZero": Scene(train({"x": ZEROS}), [0], {"tensor_regex": "x"}, ("x",)),
    "ClassImbalance": Scene(train({"labels": np.repeat([0, 1], [95, 5])}), [0], {"samples": 100}, ("labels",)),
    "LossNotDecreasing": Scene(train({"loss": 1.0}, {"loss": 2.0}), [1], {"num_steps": 1}, ("loss",)),
    "Overfit": Scene([(TRAIN, {"loss": 1.0}), (EVAL, {"loss": 2.0})], [1], {}, ("loss",)),
    "Overtraining": Scene(
        [(mode, {"loss": 1.0}) for mode in (TRAIN, EVAL) * 2], [2, 3],
        {"patience_train": 1, "patience_validation": 0 + 1}, ("loss",),
    ),
    "SimilarAcrossRuns": Scene(train({"x": ONES}), [0], {}, ("x",), other={"x": ONES * 2}),
    "TensorVariance": Scene(
        train({"x": np.arange(9.0)}), [0], {"tensor_regex": "x", "max_threshold": 1}, ("x",)
    ),
    "UnchangedTensor": Scene(train({"x": ONES}, {"x": ONES}), [1], {"tensor_regex": "x", "num_steps": 2}, ("x",)),
    "CheckInputImages": Scene(
        train({"input": np.ones((2, 3, 4, 4))}), [0], {"regex": "input", "threshold_samples": 2}, ("input",)
    ),
    "NLPSequenceRatio": Scene(train({"tokens": np.zeros((2, 8), int)}), [0], {"tensor_regex": "tokens"}, ("tokens",)),
    "Confusion": Scene(
        train({"labels": np.array([0, 1, 1]), "predictions": np.array([1, 0, 1])}), [0], {},
        ("labels", "predictions"),
    ),
    "FeatureImportanceOverweight": Scene(
        train({"feature_importance/weight/f0": 0.95, "feature_importance/weight/f1": 0.05}), [0], {"nfeatures": 1},
        ("feature_importance/weight/f0", "feature_importance/weight/f1"),
    ),
    "TreeDepth": Scene(train({"trees/Node": np.arange(63)}), [0], {}, ("trees/Node",)),
}  # fmt: skip
SCENES["Overtraining"] = Scene(
    [(mode, {"loss": 1.0}) for mode in (TRAIN, EVAL) * 2],
    [3],
    {"patience_train": 1, "patience_validation": 1},
    ("loss",),
)
WITHOUT_ISSUES = {"CreateXgboostReport", "StalledTrainingRule"}
STATEFUL_OR_LOOKING_BACK = {
    "WeightUpdateRatio", "LossNotDecreasing", "Overfit", "Overtraining", "UnchangedTensor", "PoorWeightInitialization",
}  # fmt: skip
NON_FINITE_FIRES = {"ExplodingTensor", "DeadRelu", "LossNotDecreasing", "SaturatedActivation", "SimilarAcrossRuns"}
READS_REDUCTIONS = {"VanishingGradient", "ExplodingTensor", "TensorVariance"}


@pytest.fixture
def run(tmp_path):
    """Return a function that writes the steps of a scene, evaluates its rule and returns issues and status."""
    count = 0

    def evaluate_scene(name, steps, workers=("worker_0",), trial=None):
        nonlocal count
        count += 1
        scene = SCENES[name]
        parameters = dict(scene.parameters)
        if scene.other is not None:
            write_trial(tmp_path / f"other{count}", {(TRAIN, step): scene.other for step in range(3)})
            parameters["other_trials"] = str(tmp_path / f"other{count}")
        if trial is None:
            job = SmallTrial(tmp_path / f"trial{count}", workers)
            mode_steps = dict.fromkeys(ModeKeys, 0)
            for global_step, (mode, tensors) in enumerate(steps):
                mode_step = global_step if mode is GLOBAL else mode_steps[mode]
                mode_steps[mode] += 1
                job.write(mode, mode_step, tensors)
            job.end()
            trial = create_trial(str(tmp_path / f"trial{count}"))
        evaluation = evaluate([create_rule(name, trial, parameters)], trial)
        issues = evaluation.run()
        (status,) = evaluation.statuses
        assert status.status != "Error", status.details
        return issues, status

    return evaluate_scene


def test_every_rule_that_can_fire_has_a_scene():
    """Nobody is forgotten."""
    assert {spec.name for spec in list_rule_specs("debugger")} >= set(SCENES)
    missing = {spec.name for spec in list_rule_specs("debugger") if spec.function} - set(SCENES)
    assert missing == WITHOUT_ISSUES


@pytest.mark.parametrize("name", SCENES)
def test_a_rule_fires_where_its_condition_holds_and_describes_the_issue(run, name):
    """Step, mode, tensors, worker, measured value, limit, sentence and advice are all there."""
    scene = SCENES[name]
    issues, status = run(name, scene.steps)
    assert [issue.step for issue in issues] == scene.fires_at
    assert (status.status, status.num_issues) == ("IssuesFound", len(issues))
    for issue in issues:
        assert set(issue.tensors) <= set(scene.tensors)
        assert issue.tensors
        assert (issue.rule, issue.worker, issue.mode) == (name, "worker_0", scene.steps[issue.step][0])
        assert issue.threshold is not None
        assert repr(issue.tensors[0]) in issue.message or "class" in issue.message or issue.tensors[0] in issue.message
        assert issue.message.endswith(".")
        assert issue.advice.endswith(".")


@pytest.mark.parametrize("name", SCENES)
def test_steps_without_the_rules_tensors_are_skipped_not_evaluated(run, name):
    """A rule that looked at nothing has not found that all is well."""
    if name in {"ExplodingTensor", "SimilarAcrossRuns"}:
        pytest.skip("looks at all tensors")
    issues, status = run(name, train({"unrelated": ONES}, {"unrelated": ONES}))
    assert issues == []
    assert (status.status, status.num_steps, status.num_skipped) == ("NoIssuesFound", 0, 2)


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize(
    "value", [np.zeros((0, 3)), np.zeros((4, 0)), np.array(["a", "b"])], ids=["no samples", "no units", "text"]
)
def test_empty_tensors_and_texts_give_no_verdict(run, name, value):
    """They hold nothing to evaluate."""
    issues, status = run(name, [(mode, dict.fromkeys(tensors, value)) for mode, tensors in SCENES[name].steps])
    assert (issues, status.num_steps) == ([], 0)


@pytest.mark.parametrize("name", SCENES)
def test_nan_fires_only_rules_that_say_so(run, name):
    """A statistic that is NaN is neither above nor below a limit."""
    if name in {"ClassImbalance", "Confusion"}:
        pytest.skip("NaN is no class, which is an error")
    steps = [
        (mode, {key: np.full_like(np.asarray(value, float), np.nan) for key, value in tensors.items()})
        for mode, tensors in SCENES[name].steps
    ]
    issues, _ = run(name, steps)
    patience = {"Overtraining"}  # NaN is no new optimum
    assert bool(issues) == (name in NON_FINITE_FIRES | patience)


@pytest.mark.parametrize("name", SCENES)
def test_reductions_without_values_are_evaluated_only_by_rules_that_can(run, name):
    """The others give no verdict."""
    steps = [
        (
            mode,
            {
                reduction_tensor_name(operation, absolute, key): np.array(1.0)
                for key in tensors
                for operation, absolute in (("mean", True), ("variance", False), ("max", False))
            },
        )
        for mode, tensors in SCENES[name].steps
    ]
    issues, status = run(name, steps)
    assert issues == []
    assert bool(status.num_steps) == (name in READS_REDUCTIONS)


@pytest.mark.parametrize("name", SCENES)
def test_with_several_workers_the_first_is_read(tmp_path, run, name):
    """What another worker saved neither fires the rule nor keeps it from firing."""
    scene = SCENES[name]
    job = SmallTrial(tmp_path / "workers", ("worker_0", "worker_1"))
    mode_steps = dict.fromkeys(ModeKeys, 0)
    for step, (mode, tensors) in enumerate(scene.steps):
        for worker in ("worker_0", "worker_1"):
            other = {key: np.full((2, 2), 0.25) for key in tensors}
            job.write(
                mode, mode_steps[mode], tensors if worker == "worker_0" else other, global_step=step, worker=worker
            )
        mode_steps[mode] += 1
    job.end()
    issues, _ = run(name, [], trial=create_trial(str(tmp_path / "workers")))
    assert [issue.step for issue in issues] == scene.fires_at
    assert {issue.worker for issue in issues} == {"worker_0"}


@pytest.mark.parametrize("name", sorted(set(SCENES) - STATEFUL_OR_LOOKING_BACK))
@pytest.mark.parametrize("mode", [EVAL, ModeKeys.PREDICT, GLOBAL], ids=lambda mode: mode.name)
def test_rules_that_judge_a_step_by_itself_evaluate_every_mode(run, name, mode):
    """Only rules that say which mode they mean leave steps out."""
    steps = [(mode, tensors) for _, tensors in SCENES[name].steps]
    issues, _ = run(name, steps)
    assert [(issue.step, issue.mode) for issue in issues] == [(step, mode) for step in SCENES[name].fires_at]


@pytest.mark.parametrize("name", ["WeightUpdateRatio", "PoorWeightInitialization"])
def test_rules_of_training_leave_evaluation_out_once_there_is_training(run, name):
    """Without any TRAIN step they run_rule all steps."""
    scene = SCENES[name]
    quiet = {"unrelated": ONES}
    issues, _ = run(name, [(TRAIN, quiet), *((EVAL, tensors) for _, tensors in scene.steps)])
    assert issues == []
    issues, _ = run(name, [(GLOBAL, tensors) for _, tensors in scene.steps])
    assert [issue.step for issue in issues] == scene.fires_at
