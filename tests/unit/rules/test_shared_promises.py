"""What holds for every built-in rule, whatever it looks for: one table of scenes, one row for each rule."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest

from sagemaker_debug_ext.catalog import get_rule_spec, list_rule_specs
from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.rules.factory.loading import load_rule_class
from sagemaker_debug_ext.store.format.keys import reduction_tensor_name
from sagemaker_debug_ext.testing.trials import write_trial
from sagemaker_debug_ext.trials import Trial
from sagemaker_debug_ext.vocabulary import ModeKeys
from support.rule_scenes import EXTRA_SCENES, ONES, SAGEMAKER_SCENES, train
from support.rule_trials import EVAL, GLOBAL, PREDICT, TRAIN, MemoryJob, fired_at, steps_of

SCENES = {**SAGEMAKER_SCENES, **EXTRA_SCENES}
WITHOUT_ISSUES = {"CreateXgboostReport", "StalledTrainingRule"}
STATEFUL_OR_LOOKING_BACK = {
    "WeightUpdateRatio", "LossNotDecreasing", "Overfit", "Overtraining", "UnchangedTensor", "PoorWeightInitialization",
}  # fmt: skip
NON_FINITE_FIRES = {
    "ExplodingTensor", "DeadRelu", "LossNotDecreasing", "SaturatedActivation", "SimilarAcrossRuns", "NonFiniteOrigin",
    "LossSpike",
}  # fmt: skip
FIRES_ON_NAN_BY_CHANCE = {
    "Overtraining",  # NaN is no new optimum
    "DuplicateBatches",  # batches of NaN are equal, byte by byte
    "LossInputMismatch",  # the shapes do not match
}
LOOK_AT_ALL = {"ExplodingTensor", "SimilarAcrossRuns", "NonFiniteOrigin"}
READ_CLASSES = {"ClassImbalance", "Confusion"}  # NaN is no class, which is an error
READS_REDUCTIONS = {"VanishingGradient", "ExplodingTensor", "TensorVariance"}
COMPARES_WORKERS = {"ReplicaDivergence", "DuplicateBatches"}


@pytest.fixture
def run(tmp_path_factory, monkeypatch):
    """Return a function that writes the steps of a scene, evaluates its rule and returns issues and status."""

    def evaluate_scene(name, steps, trial=None, second_worker=None):
        scene = SCENES[name]
        parameters = dict(scene.parameters)
        if scene.program is not None:
            monkeypatch.setattr(Trial, "program", scene.program)
        if scene.other is not None:
            other = tmp_path_factory.mktemp("other")
            write_trial(other, {(TRAIN, step): scene.other for step in range(3)})
            parameters["other_trials"] = str(other)
        if trial is None:
            trial = trial_of(steps, [second_worker] * len(steps) if second_worker else None)
        evaluation = evaluate([create_rule(name, trial, parameters)], trial)
        issues = evaluation.run()
        (status,) = evaluation.statuses
        assert status.status != "Error", status.details
        return issues, status

    return evaluate_scene


def trial_of(steps, of_second_worker=None):
    """Return the trial of some steps, with other tensors for a second worker if there is one."""
    job = MemoryJob(("worker_0",) if of_second_worker is None else ("worker_0", "worker_1"))
    mode_steps = dict.fromkeys(ModeKeys, 0)
    for global_step, (mode, tensors) in enumerate(steps):
        mode_step = global_step if mode is GLOBAL else mode_steps[mode]
        mode_steps[mode] += 1
        job.write(mode, mode_step, tensors, global_step=global_step, worker="worker_0")
        if of_second_worker is not None:
            job.write(mode, mode_step, of_second_worker[global_step], global_step=global_step, worker="worker_1")
    job.end()
    return job.open()


def second_worker_of(scene, change=lambda value: value):
    """Return the tensors of the second worker of a scene, changed; None without one."""
    return scene.second_worker and {name: change(value) for name, value in scene.second_worker.items()}


def test_every_rule_that_can_fire_has_a_scene():
    """Each rule of the catalog has a scene, but for those that never fire or fire by the clock."""
    assert {spec.name for spec in list_rule_specs("debugger")} == set(SCENES) | WITHOUT_ISSUES
    missing = {spec.name for spec in list_rule_specs("debugger") if spec.function} - set(SAGEMAKER_SCENES)
    assert missing == WITHOUT_ISSUES


@pytest.mark.parametrize("name", [spec.name for spec in list_rule_specs("debugger") if not spec.function])
def test_a_rule_of_ours_has_its_source_and_is_not_offered_to_sagemaker(name):
    """A rule that SageMaker does not have names its source, and no framework whose evaluator would have it."""
    spec = get_rule_spec(name)
    assert "\nSource:\n" in inspect.getdoc(load_rule_class(spec.rule_class))
    assert spec.frameworks == ()


@pytest.mark.parametrize("name", SCENES)
def test_a_rule_fires_where_its_condition_holds_and_describes_the_issue(run, name):
    """An issue has step, mode, tensors, worker, limit, a sentence and an advice."""
    scene = SCENES[name]
    issues, status = run(name, scene.steps, second_worker=scene.second_worker)
    assert fired_at(issues) == scene.fires_at
    assert (status.status, status.num_issues) == ("IssuesFound", len(issues))
    for issue in issues:
        assert set(issue.tensors) <= set(scene.tensors)
        assert issue.tensors
        worker = "worker_1" if scene.second_worker else "worker_0"  # of two that differ, the other
        assert (issue.rule, issue.worker, issue.mode) == (name, worker, scene.steps[issue.step][0])
        assert issue.threshold is not None
        subject = "rounds" if name == "TreeGrowth" else issue.tensors[0]
        assert subject in issue.message or "class" in issue.message
        assert issue.message.endswith(".")
        assert issue.advice.endswith(".")


@pytest.mark.parametrize("name", sorted(set(SCENES) - LOOK_AT_ALL))
def test_steps_without_the_rules_tensors_are_skipped_not_evaluated(run, name):
    """A step at which none of the rule's tensors was saved is skipped, and does not count as sound."""
    issues, status = run(name, train({"unrelated": ONES}, {"unrelated": ONES}))
    assert issues == []
    assert (status.status, status.num_steps, status.num_skipped) == ("NoIssuesFound", 0, 2)


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize(
    "value", [np.zeros((0, 3)), np.zeros((4, 0)), np.array(["a", "b"])], ids=["no samples", "no units", "text"]
)
def test_empty_tensors_and_texts_give_no_verdict(run, name, value):
    """Tensors without numbers are not evaluated."""
    scene = SCENES[name]
    steps = [(mode, dict.fromkeys(tensors, value)) for mode, tensors in scene.steps]
    issues, status = run(name, steps, second_worker=second_worker_of(scene, lambda _: value))
    assert (issues, status.num_steps) == ([], 0)


@pytest.mark.parametrize("name", sorted(set(SCENES) - READ_CLASSES))
def test_nan_fires_only_rules_that_say_so(run, name):
    """A statistic that is NaN is neither above nor below a limit."""
    scene = SCENES[name]

    def nan(value):
        return np.full_like(np.asarray(value, float), np.nan)

    steps = [(mode, {key: nan(value) for key, value in tensors.items()}) for mode, tensors in scene.steps]
    issues, _ = run(name, steps, second_worker=second_worker_of(scene, nan))
    assert bool(issues) == (name in NON_FINITE_FIRES | FIRES_ON_NAN_BY_CHANCE)


@pytest.mark.parametrize("name", SCENES)
def test_reductions_without_values_are_evaluated_only_by_rules_that_can(run, name):
    """Reductions give no verdict, unless the rule reads them."""
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


@pytest.mark.parametrize("name", sorted(set(SCENES) - COMPARES_WORKERS))
def test_with_several_workers_the_first_is_read(run, name):
    """Values of the second worker neither fire a rule nor keep it from firing."""
    scene = SCENES[name]
    others = [{key: np.full((2, 2), 0.25) for key in tensors} for _, tensors in scene.steps]
    issues, _ = run(name, [], trial=trial_of(scene.steps, others))
    assert fired_at(issues) == scene.fires_at
    assert {issue.worker for issue in issues} == {"worker_0"}


@pytest.mark.parametrize("name", sorted(set(SAGEMAKER_SCENES) - STATEFUL_OR_LOOKING_BACK))
@pytest.mark.parametrize("mode", [EVAL, PREDICT, GLOBAL], ids=lambda mode: mode.name)
def test_rules_that_judge_a_step_by_itself_judge_every_mode(run, name, mode):
    """Only rules that declare a mode leave steps of other modes out."""
    steps = [(mode, tensors) for _, tensors in SCENES[name].steps]
    issues, _ = run(name, steps)
    assert [(issue.step, issue.mode) for issue in issues] == [(step, mode) for step in SCENES[name].fires_at]


@pytest.mark.parametrize("name", ["WeightUpdateRatio", "PoorWeightInitialization"])
def test_rules_of_training_leave_evaluation_out_once_there_is_training(run, name):
    """Rules of training run_rule TRAIN steps, and all steps in a trial without any."""
    scene = SCENES[name]
    quiet = {"unrelated": ONES}
    issues, _ = run(name, [(TRAIN, quiet), *((EVAL, tensors) for _, tensors in scene.steps)])
    assert issues == []
    issues, _ = run(name, [(GLOBAL, tensors) for _, tensors in scene.steps])
    assert fired_at(issues) == scene.fires_at


def names_of_failed(trial, *names):
    """Return the names of the rules that end with an error."""
    evaluation = evaluate([create_rule(name, trial, {"patience": 2}) for name in names], trial)
    list(evaluation)
    return {status.details.partition(":")[0] for status in evaluation.statuses if status.status == "Error"}


@pytest.mark.parametrize("least", [-math.inf, 1.7e308])
def test_losses_that_are_infinite_both_ways_or_too_large_do_not_end_a_rule(make_trial, least):
    """Losses without a finite mean, as after an overflow in half precision, do not end a rule with an error."""
    losses = [math.inf if math.isinf(least) else 1.7e308, least] * 12
    steps = steps_of({"Net_input_0": np.ones((40, 2)) * step, "loss": loss} for step, loss in enumerate(losses))
    steps |= {(EVAL, step): {**tensors, "Net_input_0": -tensors["Net_input_0"]} for (_, step), tensors in steps.items()}
    steps[TRAIN, len(losses)] = {"Net_input_0": np.ones((40, 2)), "loss": 1.0}
    assert not names_of_failed(make_trial(steps), "LossPlateau", "EvaluationMismatch")


def test_complex_predictions_and_targets_do_not_end_a_rule(make_trial):
    """Complex predictions and targets are not evaluated by their real parts, and do not end a rule with an error."""
    rng = np.random.default_rng(0)
    steps = {}
    for step in range(30):
        numbers = rng.normal(size=(2, 20, 1)) @ [1 + 1j]
        names = {"MSELoss_input_0": numbers[0], "BCEWithLogitsLoss_input_0": numbers[0].real}
        names |= {"MSELoss_input_1": rng.integers(0, 3, 20), "BCEWithLogitsLoss_input_1": numbers[1]}
        steps[TRAIN, step] = {**names, "MSELoss_output_0": 1.0, "BCEWithLogitsLoss_output_0": 1.0}
        steps[TRAIN, step] |= {"labels": rng.integers(0, 3, 20), "predictions": numbers[0]}
    assert not names_of_failed(make_trial(steps), "NoSkill", "PredictionCollapse")
