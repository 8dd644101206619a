"""Other spellings of the same settings: objects that look like the SDK's, and members of requests."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from sagemaker_debug_ext import rule_configs
from sagemaker_debug_ext.config import (
    ActionList,
    CollectionConfig,
    DataloaderProfilingConfig,
    DebuggerHookConfig,
    Email,
    FrameworkProfile,
    Profiler,
    ProfilerConfig,
    ProfilerRule,
    PythonProfilingConfig,
    Rule,
    StopTraining,
    TensorBoardOutputConfig,
)
from sagemaker_debug_ext.errors import SMDebugTypeError
from sagemaker_debug_ext.requests import debugger_request
from sagemaker_debug_ext.requests.from_sdk import (
    framework_profile_from_sdk,
    hook_from_sdk,
    profiler_from_sdk,
    rules_from_sdk,
    settings_of_job,
    tensorboard_from_sdk,
)

JOB = {"job_name": "job-1", "region": "us-east-1", "output_path": "s3://b/out"}


class Unassigned:
    """The mark that shapes of the SDK hold in fields that are not set."""


def sdk_rule(kind="debugger", **given):
    fields = {
        "name": "R",
        "image_uri": "DEFAULT_RULE_EVALUATOR_IMAGE",
        "instance_type": None,
        "volume_size_in_gb": None,
        "container_local_output_path": None,
        "s3_output_path": None,
        "rule_parameters": {"rule_to_invoke": "Overfit"},
        "collection_configs": [],
        "actions": None,
        f"to_{kind}_rule_config_dict": None,
    }
    return SimpleNamespace(**{**fields, **given})


def test_hooks_of_the_sdk_become_ours():
    """Also one that the SDK has used, with a set of collections, in a fixed order."""
    collections = [SimpleNamespace(name=name, parameters=None) for name in ("weights", "losses")]
    given = SimpleNamespace(
        s3_output_path="s3://b",
        container_local_output_path=None,
        hook_parameters={"save_interval": 5},
        collection_configs=None,
    )
    assert hook_from_sdk(given) == DebuggerHookConfig("s3://b", None, {"save_interval": "5"})

    class Hashable(SimpleNamespace):
        __hash__ = object.__hash__

    given.collection_configs = {Hashable(**vars(item)) for item in collections}
    assert [item.name for item in hook_from_sdk(given).collection_configs] == ["losses", "weights"]


def test_shapes_become_ours():
    """Fields that are not set are left out."""
    collection = SimpleNamespace(collection_name="losses", collection_parameters=Unassigned())
    shape = SimpleNamespace(
        s3_output_path="s3://b",
        local_path=Unassigned(),
        hook_parameters=Unassigned(),
        collection_configurations=[collection],
    )
    assert hook_from_sdk(shape) == DebuggerHookConfig("s3://b", collection_configs=[CollectionConfig("losses")])
    board = SimpleNamespace(s3_output_path="s3://b", local_path="/tb")
    assert tensorboard_from_sdk(board) == TensorBoardOutputConfig("s3://b", "/tb")
    profiler = SimpleNamespace(
        s3_output_path="s3://b",
        profiling_interval_in_milliseconds=500,
        profiling_parameters=Unassigned(),
        disable_profiler=Unassigned(),
    )
    assert profiler_from_sdk(profiler) == ProfilerConfig("s3://b", 500)


def test_settings_of_our_own_and_others_pass():
    """Ours as they are; what is no configuration is left to who checks it."""
    hook = DebuggerHookConfig()
    assert hook_from_sdk(hook) is hook
    assert [hook_from_sdk(setting) for setting in (None, True, False)] == [None, True, False]
    assert tensorboard_from_sdk(None) is profiler_from_sdk(None) is framework_profile_from_sdk(None) is None
    assert rules_from_sdk(None) == ()


@pytest.mark.parametrize("adopt", [tensorboard_from_sdk, profiler_from_sdk, framework_profile_from_sdk, rules_from_sdk])
def test_anything_else_is_refused(adopt):
    """By the name of the argument."""
    with pytest.raises(SMDebugTypeError, match="must be a"):
        adopt(5 if adopt is not rules_from_sdk else [5])


def test_built_in_rules_of_the_sdk_suit_every_region():
    """Also one that the SDK has put the image of a region into."""
    image = "503895931360.dkr.ecr.us-east-1.amazonaws.com/sagemaker-debugger-rules:latest"
    for given in ("DEFAULT_RULE_EVALUATOR_IMAGE", image):
        (rule,) = rules_from_sdk([sdk_rule(image_uri=given)])
        members = debugger_request(**{**JOB, "region": "eu-west-1"}, rules=[rule])
        assert ".eu-west-1." in members["DebugRuleConfigurations"][0]["RuleEvaluatorImage"]


def test_collections_of_rules_are_the_users_or_the_rules_own():
    """They are told apart by the catalog, because they do not win alike."""
    parameters = {"rule_to_invoke": "VanishingGradient"}
    default = SimpleNamespace(name="gradients", parameters={"save_interval": "500"})
    own = SimpleNamespace(name="gradients", parameters={"save_interval": "7"})
    first, second = rules_from_sdk(
        [sdk_rule(rule_parameters=parameters, collection_configs=[item]) for item in (default, own)]
    )
    assert first.default_collections == (CollectionConfig("gradients", {"save_interval": 500}),)
    assert first.collections_to_save == second.default_collections == ()
    assert second.collections_to_save == (CollectionConfig("gradients", {"save_interval": 7}),)


def test_actions_of_the_sdks_rules_follow_the_next_job():
    """A prefix that the SDK filled in belongs to an earlier one; text counts where there is no object."""
    stop = SimpleNamespace(
        action_parameters={"name": "stoptraining", "training_job_prefix": "old"}, use_default_training_job_prefix=True
    )
    text = '{\\"endpoint\\": \\"a@b.co\\", \\"name\\": \\"email\\"}'
    parameters = {"rule_to_invoke": "Overfit", "action_json": text}
    first, second = rules_from_sdk(
        [sdk_rule(actions=stop, rule_parameters=parameters), sdk_rule(rule_parameters=parameters)]
    )
    assert first.actions == StopTraining()
    assert second.actions == Email("a@b.co")
    assert "action_json" not in {**first.rule_parameters, **second.rule_parameters}


def test_profiler_rules_of_the_sdk_hold_typed_values():
    """None is the word that the container reads."""
    (rule,) = rules_from_sdk(
        [sdk_rule("profiler", rule_parameters={"rule_to_invoke": "BatchSize", "window": 5, "patience": None})]
    )
    assert isinstance(rule, ProfilerRule)
    assert dict(rule.rule_parameters) == {"rule_to_invoke": "BatchSize", "window": "5", "patience": "None"}


def test_framework_metrics_are_read_back_from_their_text():
    """The inverse of what is written."""
    profile = FrameworkProfile(
        local_path="/p",
        file_max_size=5,
        file_close_interval=2.5,
        dataloader_profiling_config=DataloaderProfilingConfig(start_unix_time=17, duration=1.5, metrics_regex="a.*"),
        python_profiling_config=PythonProfilingConfig(3, 4, python_profiler="pyinstrument"),
    )
    parameters = profile.profiling_parameters
    adopted = framework_profile_from_sdk(SimpleNamespace(profiling_parameters=parameters))
    assert adopted.profiling_parameters == parameters


def test_settings_of_a_job_are_the_inverse_of_its_request():
    """Explicit, and following the next job's name."""
    rules = [
        Rule.sagemaker(rule_configs.vanishing_gradient(), actions=ActionList(StopTraining(), Email("a@b.co"))),
        Rule.sagemaker(rule_configs.overfit(), actions=StopTraining("fixed")),
        Rule.custom(
            "Mine", "i:1", "ml.t3.medium", 5, source="s3://b/r.py", rule_to_invoke="A", rule_parameters={"x": 1}
        ),
        ProfilerRule.sagemaker(rule_configs.LowGPUUtilization()),
    ]
    arguments = {
        "debugger_hook_config": DebuggerHookConfig(
            "s3://b/d", "/t", {"save_interval": 5}, [CollectionConfig("losses")]
        ),
        "rules": rules,
        "tensorboard_output_config": TensorBoardOutputConfig("s3://b/tb"),
        "profiler_config": ProfilerConfig("s3://b/p", 500, profile_params=Profiler(60)),
    }
    members = debugger_request(**JOB, **arguments)
    settings = settings_of_job({"TrainingJobName": "job-1", **members})
    assert debugger_request(**JOB, **settings) == members
    again = debugger_request(**{**JOB, "job_name": "job-2"}, **settings)
    texts = [rule["RuleParameters"].get("action_json", "") for rule in again["DebugRuleConfigurations"]]
    assert "job-2" in texts[0]
    assert "fixed" in texts[1]


def test_settings_of_a_job_without_debugger_ask_for_nothing():
    """A hook is switched off, not left to the default."""
    assert settings_of_job({"TrainingJobName": "j"}) == {
        "debugger_hook_config": False,
        "rules": [],
        "tensorboard_output_config": None,
        "profiler_config": None,
    }
