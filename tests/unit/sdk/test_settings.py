"""What a job can have: settings, what is known of it, and what cannot work."""

from __future__ import annotations

import pytest

from sagemaker_debug_ext import rule_configs
from sagemaker_debug_ext.config import DebuggerHookConfig, ProfilerConfig, Rule, TensorBoardOutputConfig
from sagemaker_debug_ext.errors import DebugExtWarning, SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.sdk import set_default_hook
from sagemaker_debug_ext.sdk._settings import (
    DebuggerSettings,
    JobDescription,
    build_members,
    facts_of_request,
    total_instances,
)
from support.pipelines import Variable

RULE = Rule.sagemaker(rule_configs.overfit())


def facts(**given):
    return JobDescription(**{"region": "us-east-1", "job_name": "job-1", "output_path": "s3://b", **given})


def settings(**given):
    return DebuggerSettings.adopt(**given)


def test_facts_of_a_request_are_what_it_says():
    """Images tell the framework, groups are added up."""
    request = {
        "TrainingJobName": "j",
        "AlgorithmSpecification": {"TrainingImage": "1.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.1.0-cpu"},
        "ResourceConfig": {
            "InstanceGroups": [
                {"InstanceType": "ml.trn1.2xlarge", "InstanceCount": 1},
                {"InstanceType": "ml.c5.xlarge", "InstanceCount": 2},
            ]
        },
        "OutputDataConfig": {"S3OutputPath": "s3://b/o"},
        "CheckpointConfig": {"S3Uri": "s3://b/c", "LocalPath": "/c"},
        "HyperParameters": {"sagemaker_parameter_server_enabled": "true"},
        "EnableNetworkIsolation": True,
    }
    found = facts_of_request(request, "us-east-1")
    assert (found.framework, found.framework_version) == ("pytorch", "2.1.0")
    assert found.num_instances == 3
    assert found.has_trainium
    assert found.has_checkpoints
    assert found.has_parameter_server
    assert found.is_isolated
    assert facts_of_request({}, "us-east-1") == JobDescription(region="us-east-1")


def test_total_instances_of_a_variable_is_the_variable():
    """It may become any number; what is not known is None."""
    variable = Variable()
    assert total_instances([1, variable]) is variable
    assert total_instances([None]) is None
    assert total_instances([]) == 0


def test_default_hook_follows_the_switch_unless_rules_need_one():
    """And explicit settings are never changed by it."""
    before = set_default_hook(False)
    try:
        assert settings().hook is False
        assert settings(rules=[RULE]).hook is True
        assert settings(debugger_hook_config=True).hook is True
    finally:
        set_default_hook(before)
    assert settings().hook is True
    assert settings(debugger_hook_config=False).hook is False
    with pytest.raises(SMDebugTypeError, match="must be True or False"):
        set_default_hook("off")


@pytest.mark.parametrize(
    ("given", "explicit"),
    [
        ({}, False),
        ({"debugger_hook_config": False}, False),
        ({"rules": []}, False),
        ({"profiler_config": ProfilerConfig(disable_profiler=True)}, False),
        ({"debugger_hook_config": True}, True),
        ({"debugger_hook_config": {}}, True),
        ({"rules": [RULE]}, True),
        ({"profiler_config": ProfilerConfig()}, True),
        ({"tensorboard_output_config": TensorBoardOutputConfig("s3://b")}, True),
    ],
)
def test_is_explicit_tells_whether_anything_was_asked_for(given, explicit):
    """Opting out asks for nothing."""
    assert settings(**given).is_explicit is explicit


def test_resolve_members_for_tuning_refuses_what_was_asked_for():
    """And warns of the default."""
    with pytest.raises(SMDebugValueError, match="tuning jobs cannot carry"):
        build_members(settings(rules=[RULE]), facts(is_tuning=True))
    with pytest.warns(DebugExtWarning, match="tuning jobs cannot carry"):
        assert build_members(settings(), facts(is_tuning=True)) == {}
    assert build_members(settings(debugger_hook_config=False), facts(is_tuning=True)) == {}


def test_resolve_members_for_local_mode_leaves_all_out_with_a_word():
    """Only if there is anything to leave out."""
    with pytest.warns(DebugExtWarning, match="local mode"):
        assert build_members(settings(rules=[RULE]), facts(is_local=True)) == {}
    assert build_members(settings(debugger_hook_config=False), facts(is_local=True)) == {}


@pytest.mark.parametrize(
    ("given", "has_hook"),
    [
        ({"has_checkpoints": True, "framework": "pytorch"}, True),
        ({"has_checkpoints": True, "framework": "pytorch", "num_instances": 1}, True),
        ({"has_checkpoints": True, "framework": "pytorch", "num_instances": 2}, False),
        ({"has_checkpoints": True, "framework": "pytorch", "num_instances": Variable()}, False),
        ({"has_checkpoints": True, "framework": "pytorch", "is_distributed": True}, False),
        ({"has_checkpoints": True, "framework": "xgboost", "num_instances": 2}, True),
        ({"num_instances": 2, "framework": "pytorch"}, True),
        ({"has_parameter_server": True}, False),
        ({"is_compiled": True}, False),
    ],
)
@pytest.mark.filterwarnings("ignore::sagemaker_debug_ext.errors.DebugExtWarning")
def test_resolve_members_leaves_the_hook_out_where_it_cannot_run(given, has_hook):
    """With a warning, which other tests look at."""
    assert ("DebugHookConfig" in build_members(settings(), facts(**given))) is has_hook


@pytest.mark.parametrize(
    "given", [{"has_parameter_server": True}, {"has_checkpoints": True, "num_instances": 2, "framework": "pytorch"}]
)
def test_rules_when_the_hook_cannot_run_then_are_left_out_with_a_warning(given):
    """They would never see data; the job is as without them."""
    with pytest.warns(DebugExtWarning, match="neither DebugHookConfig nor rules are sent: .*left out: Overfit"):
        assert build_members(settings(rules=[RULE]), facts(**given)) == {}


def test_rules_when_forced_then_are_sent_without_a_hook():
    """The user insists."""
    with pytest.warns(DebugExtWarning):
        forced = build_members(settings(rules=[RULE], allow_rules_without_hook=True), facts(has_parameter_server=True))
    assert list(forced) == ["DebugRuleConfigurations"]


def test_with_default_profiler_is_on_unless_it_cannot_run_or_something_was_said():
    """Trainium, other regions, Training Compiler."""
    assert settings().with_default_profiler(facts()).disable_profiler is False
    for given in ({"instance_types": ("ml.trn1.2xlarge",)}, {"region": "ca-west-1"}, {"is_compiled": True}):
        assert settings().with_default_profiler(facts(**given)).disable_profiler is True
    assert settings(profiler_config=ProfilerConfig()).with_default_profiler(facts()).disable_profiler is None
    assert settings(disable_profiler=True).with_default_profiler(facts()).disable_profiler is True
    insisted = settings(allow_region=True).with_default_profiler(facts(region="ca-west-1"))
    assert insisted.disable_profiler is False


@pytest.mark.parametrize(
    ("name", "value"),
    [("debugger_hook_config", {"S3OutputPath": "s3://b"}), ("rules", "Overfit"), ("profiler_config", 5)],
    ids=["a request for a hook", "a name for rules", "a number for a profiler"],
)
def test_adopt_refuses_values_that_are_not_settings(name, value):
    """A value of another type is refused, and the error has the setting's name."""
    with pytest.raises(SMDebugTypeError, match=name):
        settings(**{name: value})


def test_adopt_takes_a_hook_configuration():
    """A hook configuration is kept as it is."""
    assert settings(debugger_hook_config=DebuggerHookConfig()).hook == DebuggerHookConfig()
