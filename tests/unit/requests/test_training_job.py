"""The Debugger members together, and a whole request."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext import rule_configs
from sagemaker_debug_ext.config import (
    CollectionConfig,
    DebuggerHookConfig,
    ProfilerConfig,
    ProfilerRule,
    Rule,
    StopTraining,
    TensorBoardOutputConfig,
)
from sagemaker_debug_ext.errors import DebugExtWarning, RequestValidationError, SMDebugTypeError
from sagemaker_debug_ext.requests import debugger_request, training_job_request
from sagemaker_debug_ext.requests.checks import check_debugger_members, check_training_job_request

JOB = {"job_name": "job-1", "region": "us-east-1", "output_path": "s3://bucket/out"}
WHOLE = {
    **JOB,
    "role_arn": "arn:aws:iam::123456789012:role/R",
    "image_uri": "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.5-cpu-py311",
}


def a_rule(**arguments):
    return Rule.sagemaker(rule_configs.vanishing_gradient(), **arguments)


@pytest.mark.parametrize("setting", [None, True, {}])
def test_debugger_request_of_nothing_is_a_default_hook(setting):
    """And nothing else."""
    members = debugger_request(**JOB, debugger_hook_config=setting)
    assert members == {"DebugHookConfig": {"S3OutputPath": "s3://bucket/out"}}


def test_debugger_request_with_the_hook_off_is_empty():
    """No member says anything."""
    assert debugger_request(**JOB, debugger_hook_config=False, rules=None) == {}


def test_debugger_request_of_rules_without_a_hook_is_refused_unless_forced():
    """Such rules never see data."""
    with pytest.raises(RequestValidationError, match="rules must come with a hook"):
        debugger_request(**JOB, debugger_hook_config=False, rules=[a_rule()])
    members = debugger_request(**JOB, debugger_hook_config=False, rules=[a_rule()], allow_rules_without_hook=True)
    assert list(members) == ["DebugRuleConfigurations"]


def test_debugger_request_splits_rules_by_kind_and_keeps_their_order():
    """Rules on tensors and on metrics go to different members; the latter switch the profiler on."""
    rules = [ProfilerRule.sagemaker(rule_configs.ProfilerReport()), a_rule(name="B"), a_rule(name="A")]
    members = debugger_request(**JOB, rules=iter(rules))
    assert [rule["RuleConfigurationName"] for rule in members["DebugRuleConfigurations"]] == ["B", "A"]
    assert [rule["RuleConfigurationName"] for rule in members["ProfilerRuleConfigurations"]] == ["ProfilerReport"]
    assert members["ProfilerConfig"] == {"S3OutputPath": "s3://bucket/out"}


@pytest.mark.parametrize("rules", [a_rule(), "VanishingGradient", [rule_configs.vanishing_gradient()], 5])
def test_debugger_request_of_other_rules_is_refused(rules):
    """A base configuration is not yet a rule."""
    with pytest.raises(SMDebugTypeError, match="list of Rule and ProfilerRule"):
        debugger_request(**JOB, rules=rules)


def test_debugger_request_tells_all_problems_at_once():
    """Of all members, each with its path."""
    with pytest.raises(RequestValidationError) as caught:
        debugger_request(
            job_name=None,
            region="nowhere",
            rules=[a_rule(actions=StopTraining()), a_rule(), ProfilerRule.sagemaker(rule_configs.BatchSize())],
            tensorboard_output_config=TensorBoardOutputConfig(),
            disable_profiler=True,
        )
    assert [problem.partition(":")[0] for problem in caught.value.problems] == [
        "DebugHookConfig",
        "ProfilerConfig",
        "DebugHookConfig.S3OutputPath",
        "DebugRuleConfigurations[0].RuleEvaluatorImage",
        "DebugRuleConfigurations[0].RuleParameters",
        "DebugRuleConfigurations[1].RuleEvaluatorImage",
        "DebugRuleConfigurations[1].RuleConfigurationName",
        "TensorBoardOutputConfig.S3OutputPath",
        "ProfilerConfig",
        "ProfilerRuleConfigurations[0].RuleEvaluatorImage",
    ]
    assert str(caught.value).startswith("10 problems in the request:\n- DebugHookConfig: Current region does not")


settings = st.fixed_dictionaries(
    {
        "hook": st.dictionaries(st.sampled_from(["save_interval", "eval.start_step"]), st.integers(1, 9)),
        "collections": st.lists(st.sampled_from(["losses", "weights", "biases"]), unique=True),
        "threshold": st.floats(0, 1),
        "interval": st.sampled_from([None, 100, 500]),
        "stop": st.booleans(),
    }
)


def build(values, spell):
    return debugger_request(
        **JOB,
        debugger_hook_config=DebuggerHookConfig(
            hook_parameters={name: spell(value) for name, value in values["hook"].items()},
            collection_configs=[CollectionConfig(name, {"save_interval": spell(7)}) for name in values["collections"]],
        ),
        rules=[
            a_rule(
                rule_parameters={"threshold": spell(values["threshold"])},
                actions=StopTraining() if values["stop"] else None,
            )
        ],
        profiler_config=ProfilerConfig(system_monitor_interval_millis=values["interval"]),
    )


@given(settings)
def test_debugger_request_of_equal_settings_is_equal_however_they_are_spelt(values):
    """Numbers and their texts mean the same."""
    assert build(values, lambda value: value) == build(values, str)


@given(settings)
def test_debugger_request_of_valid_settings_passes_the_checks(values):
    """What the configurations accept, the service's model accepts."""
    members = build(values, str)
    rest = training_job_request(**WHOLE, debugger_hook_config=False)
    check_training_job_request({**rest, **members}, region="us-east-1")


def test_debugger_request_twice_is_equal_and_changes_nothing():
    """The same objects serve many jobs, and no answer shares parts with another."""
    hook = DebuggerHookConfig(collection_configs=[CollectionConfig("losses", {"save_interval": 5})])
    rules = [a_rule(actions=StopTraining())]
    before = copy.deepcopy((hook, rules))
    first = debugger_request(**JOB, debugger_hook_config=hook, rules=rules)
    kept = copy.deepcopy(first)
    second = debugger_request(**JOB, debugger_hook_config=hook, rules=rules)
    second["DebugHookConfig"]["CollectionConfigurations"].clear()
    second["DebugRuleConfigurations"][0]["RuleParameters"].clear()
    assert (hook, rules) == before
    assert first == kept == debugger_request(**JOB, debugger_hook_config=hook, rules=rules)


def test_training_job_request_has_all_that_a_job_needs():
    """Values are rendered, unset members left out."""
    request = training_job_request(
        **WHOLE,
        instance_type="ml.m5.large",
        entry_point=["python", "train.py"],
        arguments=["--quick"],
        inputs={"train": "s3://bucket/train"},
        hyperparameters={"lr": 0.1, "shuffle": True},
        environment={"WORKERS": 2},
        other_members={"EnableNetworkIsolation": True},
        rules=[a_rule()],
    )
    check_training_job_request(request, region="us-east-1")
    assert request["AlgorithmSpecification"] == {
        "TrainingImage": WHOLE["image_uri"],
        "TrainingInputMode": "File",
        "ContainerEntrypoint": ["python", "train.py"],
        "ContainerArguments": ["--quick"],
    }
    assert request["ResourceConfig"] == {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 30}
    assert request["InputDataConfig"][0]["DataSource"]["S3DataSource"]["S3Uri"] == "s3://bucket/train"
    assert request["HyperParameters"] == {"lr": "0.1", "shuffle": "True"}
    assert request["Environment"] == {"WORKERS": "2"}
    assert request["EnableNetworkIsolation"] is True
    assert [rule["RuleConfigurationName"] for rule in request["DebugRuleConfigurations"]] == ["VanishingGradient"]


def test_training_job_request_of_little_has_no_empty_members():
    """A member without content is left out."""
    request = training_job_request(**WHOLE, debugger_hook_config=False)
    assert set(request) == {
        "TrainingJobName",
        "RoleArn",
        "AlgorithmSpecification",
        "ResourceConfig",
        "OutputDataConfig",
        "StoppingCondition",
    }
    check_training_job_request(request)


def test_request_with_unknown_names_when_made_and_checked_then_sends_them_without_a_second_warning():
    """Their owner was warned when the settings were made; warnings are errors here."""
    with pytest.warns(DebugExtWarning, match="unknown and passed on"):
        rule = a_rule(rule_parameters={"treshold": 1})
    with pytest.warns(DebugExtWarning, match="unknown and passed on"):
        weights = CollectionConfig("weights", {"save_intervl": 2})
    with pytest.warns(DebugExtWarning, match="unknown and passed on"):
        hook = DebuggerHookConfig(hook_parameters={"save_intervl": 1}, collection_configs=[weights])
    members = debugger_request(**JOB, debugger_hook_config=hook, rules=[rule])
    check_debugger_members(members, JOB["region"])
    assert members["DebugRuleConfigurations"][0]["RuleParameters"]["treshold"] == "1"
    assert members["DebugHookConfig"]["HookParameters"] == {"save_intervl": "1"}
    collections = {
        collection["CollectionName"]: collection["CollectionParameters"]
        for collection in members["DebugHookConfig"]["CollectionConfigurations"]
    }
    assert collections["weights"] == {"save_intervl": "2"}
