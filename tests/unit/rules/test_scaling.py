from __future__ import annotations

import sys

import numpy as np
import pytest

from sagemaker_debug_ext.catalog import list_rule_specs
from sagemaker_debug_ext.errors import MissingDependencyError, SMDebugValueError
from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.rules.evaluation.status import RuleStatus
from sagemaker_debug_ext.rules.factory.loading import load_rule_class
from sagemaker_debug_ext.rules.scaling import RayCluster, RuleChoice, evaluate_on, make_shards, merge
from sagemaker_debug_ext.testing.trials import write_trial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

SOURCE = """
from sagemaker_debug_ext.rules import Rule

class Counting(Rule):
    def __init__(self, base_trial, every="3"):
        super().__init__(base_trial)
        self.every, self.seen = int(every), 0

    def invoke_at_step(self, step):
        self.seen += 1
        return self.seen % self.every == 0
"""


class Here:
    """Calls the function in this process, last item first, and notes the items."""

    def __init__(self):
        self.items = []

    def map(self, function, items):
        self.items = list(items)
        return [function(item) for item in reversed(self.items)]


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(0)
    steps = {}
    for step in range(17):
        mode = ModeKeys.EVAL if step % 5 == 4 else ModeKeys.TRAIN
        steps[mode, step] = {
            "w_weight": np.full(4, float(step // 3)), "gradient/w": rng.normal(size=4) * (step % 4 != 0),
            "loss": rng.random(), "x": np.array([1.0, np.nan if step == 11 else 2.0]),
        }  # fmt: skip
    write_trial(tmp_path / "trial", steps)
    return str(tmp_path / "trial")


@pytest.fixture
def rules(tmp_path):
    (tmp_path / "mine.py").write_text(SOURCE)
    return {
        "vanishing": RuleChoice(rule="VanishingGradient"),
        "nan": RuleChoice(rule="ExplodingTensor", parameters={"only_nan": "True"}),
        "overfit": RuleChoice(rule="Overfit"),
        "update": RuleChoice(rule="WeightUpdateRatio", parameters={"num_steps": 4}),
        "same": RuleChoice(rule="UnchangedTensor", parameters={"tensor_regex": "w_weight"}),
        "mine": RuleChoice(rule="Counting", parameters={"every": "4"}, source=str(tmp_path / "mine.py")),
    }


def expected(path, rules):
    from sagemaker_debug_ext.rules import create_custom_rule

    trial = create_trial(path)
    made = {
        name: create_custom_rule(reference.source, reference.rule, trial, reference.parameters)
        if reference.source
        else create_rule(reference.rule, trial, reference.parameters)
        for name, reference in rules.items()
    }
    evaluation = evaluate(made, trial, clock=lambda: 0.0)
    return evaluation.run(), evaluation.statuses


@pytest.mark.parametrize("num_shards", [1, 2, 3, 17, 40])
def test_issues_and_statuses_are_those_of_one_pass(path, rules, num_shards):
    """However the steps are divided, in whatever order the shards are evaluated."""
    found = evaluate_on(Here(), rules, path, num_shards=num_shards)
    issues, statuses = expected(path, rules)
    assert [issue.to_json() for issue in found.issues] == [issue.to_json() for issue in issues]
    times = {status.name: status.modified_at for status in found.statuses}
    assert [{**status.to_json_dict(), "modified_at": 0.0} for status in found.statuses] == [
        status.to_json_dict() for status in statuses
    ]
    assert all(times.values())


def test_rules_with_a_memory_see_all_steps(path, rules):
    """Each in one shard; the others are divided."""
    shards = list(make_shards(rules, create_trial(path), 4))
    assert [list(shard.rules) for shard in shards if shard.end_step is None][:2] == [["overfit"], ["mine"]]
    assert [(shard.start_step, shard.end_step) for shard in shards[2:]] == [(0, 4), (4, 8), (8, 12), (12, None)]


@pytest.mark.parametrize(
    "spec", [spec for spec in list_rule_specs("debugger") if spec.rule_class], ids=lambda spec: spec.name
)
def test_only_rules_without_a_memory_may_be_divided(spec, make_trial):
    """Those that are keep nothing but their parameters, selection and options."""
    rule_class = load_rule_class(spec.rule_class)
    given = {"tensor_regex": ".*"} if spec.at_least_one_of else {}
    trial = make_trial({(ModeKeys.TRAIN, 0): {"x": 1.0}})
    if spec.name == "SimilarAcrossRuns":
        given = {"other_trials": trial.path}
    rule = create_rule(spec.name, trial, given)
    kept = {
        name
        for name, value in vars(rule).items()
        if name.startswith("_") and name not in ("_given", "_limits", "_recorded", "_collections", "_mode")
    }
    has_memory = bool(kept - {"_inputs", "_gradients", "_losses", "_labels", "_predictions"})
    assert not (rule_class.is_stateless and has_memory), kept


def divided_rules():
    """Return the rules that may be divided, with parameters by which they fire soon."""
    soon = {
        "LossPlateau": {"window": 2, "patience": 4}, "LossSpike": {"window": 3}, "LossDivergence": {"window": 2},
        "SlowLearning": {"window": 3}, "DuplicateBatches": {"window": 4}, "GradientOutlier": {"max_norm": 10},
        "LossInputMismatch": {"patience": 4}, "CheckInputImages": {"regex": "_input_0$", "threshold_samples": 4},
        "ActivationCollapse": {"patience": 2},
    }  # fmt: skip
    found = {}
    for spec in list_rule_specs("debugger"):
        rule_class = load_rule_class(spec.rule_class) if spec.rule_class else None
        if rule_class is None or spec.name == "SimilarAcrossRuns":
            continue
        if rule_class.has_per_tensor_state or rule_class.is_stateless:
            given = {"tensor_regex": "weight"} if spec.at_least_one_of else {}
            found[spec.name] = RuleChoice(rule=spec.name, parameters={**given, **soon.get(spec.name, {})})
    found["spike, unless learnt"] = RuleChoice(rule="LossSpike", parameters={"window": 3, "unless_learnt": 50})
    return found


@pytest.fixture
def faulty(tmp_path):
    """Return a trial in which nearly everything is wrong, in several tensors of each kind."""
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(2, 40, 6)).astype(np.float32) * 50
    steps = {}
    weights = {name: rng.normal(size=(4, 6)) for name in "pq"}
    totals = dict.fromkeys("pq", 0.0)
    for step in range(12):
        tensors = {}
        for number, name in enumerate("ab"):
            loss = {"slow": 5 - 1e-4 * step, "flat": 5.0, "wild": 1.0 + 40.0 * (step > 6 + number)}
            tensors |= {f"{name}_{kind}_loss": np.float32(value) for kind, value in loss.items()}
            tensors |= {
                f"{name}_weight": np.full((6, 6), 50.0 + number), f"gradient/{name}_weight": np.full((6, 6), 9.0),
                f"{name}_output_0": np.ones((8, 4)) * 0.5, f"{name.upper()}_input_0": samples[number],
                f"{name}MSELoss_input_0": np.ones((6, 1)), f"{name}MSELoss_input_1": np.full(6, 99.0),
                f"{name}MSELoss_output_0": np.float32(9.0), f"{name}_CrossEntropyLoss_output_0": np.float32(9.0),
                f"{name}_CrossEntropyLoss_input_0": rng.normal(size=(40, 3)) * 99,
                f"{name}_CrossEntropyLoss_input_1": np.arange(40) % 3,
            }  # fmt: skip
        for name, weight in weights.items():
            gradient = rng.normal(size=(4, 6))
            tensors |= {f"{name}_weight": weight, f"gradient/{name}_weight": gradient}
            totals[name] = totals[name] + gradient
            weights[name] = weight - 0.01 * totals[name]
        if step in range(6, 10):
            mixed = np.concatenate([samples[0][:20], samples[1][:20]])
            steps[ModeKeys.EVAL, step - 6] = {"A_input_0": mixed, "B_input_0": mixed}
        steps[ModeKeys.TRAIN, step] = tensors
    write_trial(tmp_path / "faulty", steps)
    return str(tmp_path / "faulty")


@pytest.mark.parametrize("num_shards", [2, 5])
def test_every_rule_that_may_be_divided_finds_the_same_in_shards(faulty, num_shards):
    """Whether it is divided by steps or by tensors: the very issues, and the numbers of steps."""
    rules = divided_rules()
    found = evaluate_on(Here(), rules, faulty, num_shards=num_shards)
    issues, statuses = expected(faulty, rules)
    for name in rules:
        assert [issue.to_json() for issue in found.issues if issue.rule == name] == [
            issue.to_json() for issue in issues if issue.rule == name
        ], name
    assert [{**status.to_json_dict(), "modified_at": 0.0} for status in found.statuses] == [
        status.to_json_dict() for status in statuses
    ]
    assert {
        "FrozenParameters", "DuplicateBatches", "InputScale", "EvaluationOverlap", "LossInputMismatch", "LossSpike",
        "UnbrokenSymmetry", "GradientsNotReset", "SlowLearning", "LossDivergence", "LossPlateau", "InitialWeights",
        "InitialLoss",
    } <= {issue.rule for issue in issues}  # fmt: skip


def test_rules_that_judge_tensors_alone_share_their_shards(faulty):
    """So that each tensor is read once for all of them."""
    shards = list(make_shards(divided_rules(), create_trial(faulty), 3))
    shared = [shard for shard in shards if shard.share is not None]
    assert [shard.share for shard in shared] == [(0, 3), (1, 3), (2, 3)]
    assert {"FrozenParameters", "InputScale"} <= set(shared[0].rules)


def test_rules_whose_issues_depend_on_what_the_model_learns_are_not_divided(faulty):
    """What it learns shows at all steps together."""
    shards = list(make_shards(divided_rules(), create_trial(faulty), 3))
    (shard,) = [shard for shard in shards if "spike, unless learnt" in shard.rules]
    assert (list(shard.rules), shard.start_step, shard.end_step, shard.share) == (
        ["spike, unless learnt"],
        0,
        None,
        None,
    )


def test_an_empty_trial_has_nothing_to_divide(tmp_path):
    """And rules nothing to find."""
    write_trial(tmp_path / "empty", {})
    found = evaluate_on(Here(), {"a": RuleChoice(rule="VanishingGradient")}, str(tmp_path / "empty"))
    assert (found.issues, found.statuses) == ((), ())


@pytest.mark.parametrize(
    ("choices", "options", "match"),
    [
        ({"a": RuleChoice(rule="Overfitt")}, {}, "did you mean 'Overfit'"),
        ({"a": RuleChoice(rule="Overfit", parameters={"patience": 0})}, {}, "patience"),
        ({}, {"num_shards": 0}, "num_shards"),
    ],
    ids=["an unknown rule", "a wrong parameter", "no shards"],
)
def test_what_cannot_be_run_is_refused_before_anything_is_sent(path, choices, options, match):
    """Rules and shards that cannot be run are refused, and nothing is sent to the cluster."""
    cluster = Here()
    with pytest.raises(SMDebugValueError, match=match):
        evaluate_on(cluster, choices, path, **options)
    assert cluster.items == []


def test_an_error_in_one_shard_is_that_of_the_rule(path):
    """It weighs more than what others found."""
    from sagemaker_debug_ext.rules.scaling import ShardResult

    parts = [
        ShardResult((), (RuleStatus(name="a", rule="A", status="IssuesFound", details="x", first_issue_step=3),)),
        ShardResult((), (RuleStatus(name="a", rule="A", status="Error", details="KeyError"),)),
    ]
    (status,) = merge({"a": RuleChoice(rule="A")}, parts, create_trial(path)).statuses
    assert (status.status, status.details, status.first_issue_step) == ("Error", "KeyError", 3)


def test_without_ray_its_cluster_says_what_to_install(monkeypatch):
    """The package is optional."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises((MissingDependencyError, ModuleNotFoundError), match="ray"):
        RayCluster().map(len, [[]])
