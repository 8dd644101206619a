"""Rules as the user chooses them."""

import copy
import pickle

import pytest
import smdebug_rulesconfig as original

from sagemaker_debug_ext import rule_configs
from sagemaker_debug_ext.config import ActionList, CollectionConfig, Email, ProfilerRule, Rule, StopTraining
from sagemaker_debug_ext.errors import DebugExtWarning, SMDebugTypeError, SMDebugValueError
from support.pipelines import Variable


@pytest.mark.parametrize("configs", [rule_configs, original], ids=["ours", "original"])
def test_sagemaker_takes_the_base_config_of_either_package(configs):
    """A rule made from either is the same."""
    rule = Rule.sagemaker(configs.vanishing_gradient(), rule_parameters={"threshold": 1e-5})
    assert rule.name == rule.rule_to_invoke == "VanishingGradient"
    assert rule.rule_parameters == {"rule_to_invoke": "VanishingGradient", "threshold": "1e-05"}
    assert rule.collection_configs == (CollectionConfig("gradients", {"save_interval": 500}),)
    assert rule.built_in
    assert rule == Rule.sagemaker(rule_configs.vanishing_gradient(), rule_parameters={"threshold": "1e-05"})


def test_sagemaker_takes_its_arguments_by_position_as_in_the_sdk():
    """Scripts written for the SDK keep working."""
    collection = CollectionConfig("losses")
    rule = Rule.sagemaker(
        rule_configs.similar_across_runs(), "name", "/local", "s3://b/r", ["s3://x", "s3://y"], {"tensor_regex": ".*"},
        [collection], StopTraining(),
    )  # fmt: skip
    assert (rule.name, rule.container_local_output_path, rule.s3_output_path) == ("name", "/local", "s3://b/r")
    assert rule.rule_parameters == {
        "other_trial_0": "s3://x",
        "other_trial_1": "s3://y",
        "rule_to_invoke": "SimilarAcrossRuns",
        "tensor_regex": ".*",
    }
    assert rule.collection_configs == (collection,)
    assert rule.actions == StopTraining()


def test_sagemaker_leaves_the_base_config_as_it_was():
    """One base configuration serves many rules."""
    base = rule_configs.dead_relu()
    before = copy.deepcopy(base)
    Rule.sagemaker(base, rule_parameters={"threshold_layer": 30}, collections_to_save=[CollectionConfig("losses")])
    assert base == before == pickle.loads(pickle.dumps(base))


def test_sagemaker_with_an_empty_list_of_collections_keeps_the_default_ones():
    """As in the SDK."""
    rule = Rule.sagemaker(rule_configs.vanishing_gradient(), collections_to_save=[])
    assert [config.name for config in rule.collection_configs] == ["gradients"]


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"treshold": 1}, "did you mean 'threshold'"),
        ({"threshold": "high"}, "must be a number"),
        ({"threshold": -1}, "at least 0"),
        ({"rule_to_invoke": "Other"}, "Rule.custom"),
        ({"action_json": "{}"}, "use actions"),
        ({"threshold": "1" * 257}, "at most 256"),
    ],
)
def test_sagemaker_with_a_wrong_parameter_is_refused(parameters, match):
    """Parameters are compared with the catalog when the rule is made."""
    with pytest.raises(SMDebugValueError, match=match):
        Rule.sagemaker(rule_configs.vanishing_gradient(), rule_parameters=parameters, strict=True)


def test_sagemaker_when_a_parameter_is_unknown_then_passes_it_on_with_a_warning():
    """The warning names the nearest known one; a known one is checked as ever."""
    with pytest.warns(DebugExtWarning, match="did you mean 'threshold'"):
        rule = Rule.sagemaker(rule_configs.vanishing_gradient(), rule_parameters={"treshold": 1})
    assert rule.rule_parameters["treshold"] == "1"
    with pytest.raises(SMDebugValueError, match="at least 0"):
        Rule.sagemaker(rule_configs.vanishing_gradient(), rule_parameters={"threshold": -1})


@pytest.mark.parametrize(
    "make",
    [
        lambda: Rule.sagemaker(rule_configs.overfit(), rule_parameters={"rule_to_invoke": "Other"}),
        lambda: Rule.sagemaker(rule_configs.overfit(), actions=["stop"]),
    ],
)
def test_rule_when_the_sdk_would_raise_runtime_error_then_the_error_is_one(make):
    """Scripts that catch the SDK's error still do."""
    with pytest.raises(RuntimeError):
        make()


@pytest.mark.parametrize(
    ("base", "match"),
    [
        (rule_configs.vanishing_gradient, "call the function"),
        (rule_configs.ProfilerReport(), "ProfilerRule.sagemaker"),
        ({}, "base_config must be"),
        ("VanishingGradient", "base_config must be"),
    ],
)
def test_sagemaker_of_no_base_config_is_refused(base, match):
    """The error names the likely slip."""
    with pytest.raises(SMDebugTypeError, match=match):
        Rule.sagemaker(base)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"other_trials_s3_input_paths": "s3://x"}, "list of paths"),
        ({"rule_parameters": ["x"]}, "must be a mapping"),
        ({"actions": [Email("a@b.com")]}, "ActionList"),
    ],
    ids=["a text for a list", "a list for a mapping", "a list for an ActionList"],
)
def test_sagemaker_of_other_argument_types_is_refused(arguments, match):
    """An argument of another type is refused, and the error has the type that is expected."""
    with pytest.raises(SMDebugTypeError, match=match):
        Rule.sagemaker(rule_configs.similar_across_runs(), **arguments)


def test_custom_rule_takes_any_parameter():
    """Only its author knows what it takes."""
    rule = Rule.custom(
        "Mine", None, "ml.t3.medium", 10, "rule.py", "MyRule", "/local", "s3://b/r", ["s3://x"],
        {"threshold": 20.0, "flag": True}, [CollectionConfig("gradients")], ActionList(Email("a@b.com")),
    )  # fmt: skip
    assert not rule.built_in
    assert (rule.source, rule.rule_to_invoke) == ("rule.py", "MyRule")
    assert rule.rule_parameters == {
        "other_trial_0": "s3://x",
        "source_s3_uri": "rule.py",
        "rule_to_invoke": "MyRule",
        "threshold": "20.0",
        "flag": "True",
    }


@pytest.mark.parametrize("given", [{"source": "rule.py"}, {"rule_to_invoke": "MyRule"}])
@pytest.mark.parametrize("kind", [Rule, ProfilerRule])
def test_custom_rule_with_half_of_its_code_is_refused(kind, given):
    """File and class come together."""
    with pytest.raises(SMDebugValueError, match="given together"):
        kind.custom("Mine", None, "ml.t3.medium", 10, **given)


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"volume_size_in_gb": "10"}, SMDebugTypeError, "volume_size_in_gb must be a whole number"),
        ({"volume_size_in_gb": -1}, SMDebugValueError, "at least 0"),
        ({"volume_size_in_gb": True}, SMDebugTypeError, "whole number"),
        ({"name": ""}, SMDebugValueError, "1 to 256"),
        ({"image_uri": "x" * 256}, SMDebugValueError, "1 to 255"),
        ({"s3_output_path": "here"}, SMDebugValueError, "S3 location"),
    ],
)
def test_custom_rule_with_a_wrong_argument_is_refused(arguments, error, match):
    """Each field has its check."""
    given = {"name": "Mine", "image_uri": None, "instance_type": "ml.t3.medium", "volume_size_in_gb": 10, **arguments}
    with pytest.raises(error, match=match):
        Rule.custom(**given)


def test_rule_passes_pipeline_variables_untouched():
    """Every field may be one."""
    variable = Variable()
    rule = Rule.custom(
        variable, variable, variable, variable, variable, variable, variable, variable, [variable], {"x": variable}
    )
    fields = (rule.name, rule.image_uri, rule.instance_type, rule.volume_size_in_gb, rule.source, rule.s3_output_path)
    assert all(field is variable for field in fields)
    assert all(value is variable for value in rule.rule_parameters.values())
    chosen = Rule.sagemaker(rule_configs.vanishing_gradient(), rule_parameters={"threshold": variable})
    assert chosen.rule_parameters["threshold"] is variable


@pytest.mark.parametrize("configs", [rule_configs, original], ids=["ours", "original"])
def test_profiler_rule_takes_the_base_config_of_either_package(configs):
    """An unset parameter travels as the word None, as the container expects."""
    rule = ProfilerRule.sagemaker(configs.StepOutlier(stddev=4), "slow", "/local", "s3://b/r")
    assert (rule.name, rule.rule_to_invoke) == ("slow", "StepOutlier")
    assert rule.rule_parameters == {
        "stddev": "4",
        "mode": "None",
        "n_outliers": "10",
        "scan_interval_us": "60000000",
        "rule_to_invoke": "StepOutlier",
    }


def test_profiler_rule_with_an_instance_says_that_it_needs_none():
    """The SDK drops it silently."""
    with pytest.warns(DebugExtWarning, match="needs no instance"):
        rule = ProfilerRule.sagemaker(rule_configs.ProfilerReport(), instance_type="ml.t3.medium")
    assert rule.instance_type is None


def test_profiler_rule_of_no_base_config_is_refused():
    """A debugger rule's dictionary is none."""
    with pytest.raises(SMDebugTypeError, match="ProfilerReport"):
        ProfilerRule.sagemaker(rule_configs.vanishing_gradient())


def test_custom_profiler_rule_keeps_its_parameters():
    """As for rules on tensors."""
    rule = ProfilerRule.custom("Mine", "image", "ml.t3.medium", 5, "s3://b/r.py", "MyRule", rule_parameters={"a": 1})
    assert rule.rule_parameters == {"source_s3_uri": "s3://b/r.py", "rule_to_invoke": "MyRule", "a": "1"}


def test_rules_can_be_copied_and_sent_to_other_processes():
    """They are values."""
    rule = Rule.sagemaker(rule_configs.overfit(), rule_parameters={"patience": 2}, actions=StopTraining())
    assert pickle.loads(pickle.dumps(rule)) == copy.deepcopy(rule) == rule
    assert len({rule, copy.deepcopy(rule)}) == 1
