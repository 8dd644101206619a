"""Requests of self-managed jobs."""

import copy
import hashlib
import json
import warnings

import pytest

from sagemaker_debug_ext import (
    CollectionConfig,
    DebuggerHookConfig,
    ProfilerConfig,
    ProfilerRule,
    Rule,
    StopTraining,
    TensorBoardOutputConfig,
    rule_configs,
)
from sagemaker_debug_ext.config.job_spec import decode_job_spec
from sagemaker_debug_ext.config.self_managed import SelfManaged
from sagemaker_debug_ext.errors import RequestValidationError, SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.requests import debugger_request
from sagemaker_debug_ext.requests.checks import longest_processing_seconds
from sagemaker_debug_ext.requests.processing import watcher_job_of
from sagemaker_debug_ext.requests.self_managed import self_managed_request, spec_of_members

REQUEST = {
    "TrainingJobName": "digits-1",
    "OutputDataConfig": {"S3OutputPath": "s3://bucket/output"},
    "Environment": {"EPOCHS": "3"},
}
RULES = [
    Rule.sagemaker(rule_configs.vanishing_gradient(), actions=StopTraining()),
    Rule.sagemaker(rule_configs.overfit()),
]


def members_with(action_json):
    """Return the Debugger members of a job with a rule whose actions are written by hand."""
    request = debugger_request(
        job_name="digits-1", region="us-east-1", output_path="s3://bucket/output", rules=RULES[1:]
    )
    request["DebugRuleConfigurations"][0]["RuleParameters"]["action_json"] = action_json
    return request


def test_request_differs_in_environment_alone():
    """No part of the service is asked for, and the argument stays as it was."""
    before = copy.deepcopy(REQUEST)
    request = self_managed_request(REQUEST, rules=RULES)
    assert before == REQUEST
    assert {name: value for name, value in request.items() if name != "Environment"} == {
        name: value for name, value in REQUEST.items() if name != "Environment"
    }
    assert next(iter(request["Environment"])) == "EPOCHS"
    assert set(request["Environment"]) == {"EPOCHS", "SAGEMAKER_DEBUG_EXT_JOB_0", "USE_SMDEBUG"}


def test_request_when_the_job_may_be_stopped_by_its_tag_then_has_it_once():
    """Beside the tags of the user, also if the user has set it; 50 tags are the limit."""
    mine = {"Key": "team", "Value": "vision"}
    tagged = self_managed_request({**REQUEST, "Tags": [mine]}, self_managed=SelfManaged(tag=True))
    assert tagged["Tags"] == [mine, {"Key": "sagemaker-debug-ext", "Value": "stop-allowed"}]
    own = {"Key": "sagemaker-debug-ext", "Value": "never"}
    assert self_managed_request({**REQUEST, "Tags": [own]}, self_managed=SelfManaged(tag=True))["Tags"] == [own]
    many = [{"Key": str(number), "Value": ""} for number in range(50)]
    with pytest.raises(RequestValidationError, match="Tags: must have at most 50 items"):
        self_managed_request({**REQUEST, "Tags": many}, self_managed=SelfManaged(tag=True))


def test_spec_holds_the_members_that_the_service_would_get():
    """Rules without what starts instances, and hook and TensorBoard data as they are."""
    hook = DebuggerHookConfig(collection_configs=[CollectionConfig("losses", {"save_interval": 10})])
    tensorboard = TensorBoardOutputConfig("s3://bucket/tb")
    request = self_managed_request(
        REQUEST, debugger_hook_config=hook, rules=RULES, tensorboard_output_config=tensorboard
    )
    spec = decode_job_spec(request["Environment"])
    members = debugger_request(
        job_name="",
        region="us-east-1",
        output_path="s3://bucket/output",
        debugger_hook_config=hook,
        rules=RULES,
        tensorboard_output_config=tensorboard,
    )
    assert spec.hook == members["DebugHookConfig"]
    assert spec.tensorboard == members["TensorBoardOutputConfig"]
    assert [rule["RuleParameters"] for rule in spec.rules] == [
        rule["RuleParameters"] for rule in members["DebugRuleConfigurations"]
    ]
    assert not any("RuleEvaluatorImage" in rule for rule in spec.rules)
    assert spec.output_path == "s3://bucket/output"


@pytest.mark.parametrize(
    ("url", "is_secret"),
    [
        ("https://hooks.slack.com/services/T0/B0/4Xz9s3cretWordOfASlackHook", True),
        ("https://example.com/notify?key=s3cret", True),
        ("https://me:s3cret@example.com/notify", True),
        ("https://example.com/team/training-jobs-of-vision", False),
        ("http://10.0.0.7:8080/notify", False),
    ],
)
def test_webhook_when_its_address_holds_credentials_then_warns_and_names_the_alternative(url, is_secret):
    """Everyone who may describe the job sees them; the warning shows the host alone."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        spec_of_members(members_with(json.dumps({"name": "webhook", "url": url})))
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == is_secret
    assert all("rule 'Overfit'" in message and "url_from in place of url" in message for message in messages)
    assert "s3cret" not in "".join(messages)


def test_actions_when_they_are_no_json_then_are_refused():
    """On submission, not by the watcher."""
    with pytest.raises(SMDebugValueError, match="action_json must be a JSON object"):
        spec_of_members(members_with("{stop}"))


def test_spec_when_settings_are_equal_then_variables_are_equal_for_every_job():
    """The name of the job is not in it, so that the jobs of a tuning job share it."""
    first = self_managed_request(REQUEST, rules=RULES)
    second = self_managed_request({**REQUEST, "TrainingJobName": "digits-2"}, rules=RULES)
    assert first["Environment"] == second["Environment"]


def test_spec_of_twenty_collections_and_five_rules_takes_at_most_four_variables():
    """As typical jobs have."""
    collections = [
        CollectionConfig(
            f"block_{i}", {"include_regex": rf"encoder\.layers\.{i}\..*(weight|bias)$", "save_interval": i + 1}
        )
        for i in range(20)
    ]
    rules = [
        Rule.sagemaker(getattr(rule_configs, name)(), actions=StopTraining())
        for name in ("vanishing_gradient", "exploding_tensor", "overfit", "loss_not_decreasing", "dead_relu")
    ]
    hook = DebuggerHookConfig(collection_configs=collections)
    environment = self_managed_request(REQUEST, debugger_hook_config=hook, rules=rules)["Environment"]
    assert len([name for name in environment if name.startswith("SAGEMAKER_DEBUG_EXT_JOB_")]) <= 4


def test_user_variable_when_set_then_is_kept():
    """Also the one that switches smdebug off."""
    request = {**REQUEST, "Environment": {"USE_SMDEBUG": "1"}}
    assert self_managed_request(request)["Environment"]["USE_SMDEBUG"] == "1"


@pytest.mark.parametrize(
    ("request_", "settings", "message"),
    [
        ({**REQUEST, "DebugHookConfig": {}}, {}, "DebugHookConfig: must be left out"),
        ({**REQUEST, "ProfilerConfig": {}}, {}, "ProfilerConfig: must be left out"),
        ({**REQUEST, "Environment": {"SAGEMAKER_DEBUG_EXT_JOB_7": ""}}, {}, "SAGEMAKER_DEBUG_EXT_JOB_7: is reserved"),
        ({**REQUEST, "Environment": {f"V{i}": "" for i in range(99)}}, {}, "at most 100 entries .got 101, .* 100 are"),
        ({**REQUEST, "Environment": {"LONG": "x" * 513}}, {}, r"Environment.LONG: must have at most 512 .*got 513"),
        (REQUEST, {"debugger_hook_config": False}, "DebugHookConfig: a self-managed job needs a hook"),
        (
            REQUEST,
            {"rules": [ProfilerRule.sagemaker(rule_configs.LowGPUUtilization())], "disable_profiler": True},
            "ProfilerConfig: ProfilerRule cannot be set",
        ),
        ({"TrainingJobName": "digits-1"}, {}, "DebugHookConfig.S3OutputPath: a location on S3 must be given"),
    ],
)
def test_request_when_it_cannot_be_self_managed_then_names_the_member(request_, settings, message):
    """One line for each problem, with the limit and the number."""
    with pytest.raises(RequestValidationError, match=message):
        self_managed_request(request_, **settings)


@pytest.mark.parametrize(
    ("settings", "config", "rules"),
    [
        ({}, None, []),
        ({"disable_profiler": True}, None, []),
        ({"profiler_config": ProfilerConfig(disable_profiler=True)}, None, []),
        ({"disable_profiler": False}, {"S3OutputPath": "s3://bucket/output"}, []),
        (
            {"profiler_config": ProfilerConfig("s3://bucket/profiles", 100)},
            {"S3OutputPath": "s3://bucket/profiles", "ProfilingIntervalInMilliseconds": 100},
            [],
        ),
        (
            {"rules": [ProfilerRule.sagemaker(rule_configs.StepOutlier()), *RULES]},
            {"S3OutputPath": "s3://bucket/output"},
            ["StepOutlier"],
        ),
    ],
)
def test_profiler_when_asked_for_then_its_settings_travel_with_the_job(settings, config, rules):
    """Only then: a job without profiler settings is not profiled."""
    environment = self_managed_request(REQUEST, **settings)["Environment"]
    spec = decode_job_spec(environment)
    assert spec.profiler == config
    assert [rule["RuleConfigurationName"] for rule in spec.profiler_rules] == rules
    assert len(spec.rules) == (len(RULES) if rules else 0)
    profile = spec.profile("digits-1")
    assert (profile is None) == (config is None)
    if profile is not None:
        assert profile.location == f"{config['S3OutputPath']}/digits-1/profiler-output"
        assert profile.interval_millis == config.get("ProfilingIntervalInMilliseconds", 500)


LARGE = DebuggerHookConfig(
    collection_configs=[
        CollectionConfig(f"c{i}", {"include_regex": hashlib.sha256(str(i).encode()).hexdigest() * 3})
        for i in range(300)
    ]
)
"""Settings that no environment holds."""


def test_settings_when_they_are_too_large_then_an_input_channel_carries_them(caplog):
    """The file is uploaded to a place that its content determines, which a line of the log names."""
    caplog.set_level("INFO")
    uploads = {}
    data = {"ChannelName": "train", "DataSource": {"S3DataSource": {"S3Uri": "s3://bucket/data"}}}
    request = {**REQUEST, "InputDataConfig": [data]}
    changed = self_managed_request(request, debugger_hook_config=LARGE, rules=RULES, upload=uploads.__setitem__)
    ((location, text),) = uploads.items()
    assert location == f"s3://bucket/output/_specs/{hashlib.sha256(text).hexdigest()}"
    assert f"in the input channel sagemaker_debug_ext, at {location}" in caplog.text
    assert changed["InputDataConfig"][0] == data
    added = changed["InputDataConfig"][1]
    assert (added["ChannelName"], added["InputMode"]) == ("sagemaker_debug_ext", "File")
    assert added["DataSource"]["S3DataSource"]["S3Uri"] == f"{location}/"
    assert set(changed["Environment"]) == {"EPOCHS", "SAGEMAKER_DEBUG_EXT_JOB_0", "USE_SMDEBUG"}
    spec = decode_job_spec(changed["Environment"], lambda: text)
    saved = {collection["CollectionName"] for collection in spec.hook["CollectionConfigurations"]}
    assert {f"c{i}" for i in range(300)} < saved  # the rules add one
    assert [rule["RuleConfigurationName"] for rule in spec.rules] == ["VanishingGradient", "Overfit"]
    assert changed == self_managed_request(request, debugger_hook_config=LARGE, rules=RULES, upload=uploads.__setitem__)
    assert len(uploads) == 1


def test_settings_when_a_channel_is_asked_for_then_it_carries_small_ones_too():
    """As `SelfManaged` says; small settings use variables otherwise."""
    uploads = {}
    options = SelfManaged(config="channel")
    changed = self_managed_request(REQUEST, self_managed=options, upload=uploads.__setitem__)
    assert changed["InputDataConfig"][0]["ChannelName"] == "sagemaker_debug_ext"
    (text,) = uploads.values()
    in_variables = self_managed_request(REQUEST, upload=uploads.__setitem__)
    assert "InputDataConfig" not in in_variables
    assert len(uploads) == 1
    assert decode_job_spec(changed["Environment"], lambda: text) == decode_job_spec(in_variables["Environment"])


@pytest.mark.parametrize(
    ("members", "config", "can_upload", "message"),
    [
        ({}, "environment", False, r"Environment: the job spec must fit into 16 .*got \d+.*attach_debugger"),
        ({}, "channel", False, "InputDataConfig: a channel with the settings must be uploaded"),
        (
            {"InputDataConfig": [{"ChannelName": f"c{i}"} for i in range(20)]},
            "environment",
            True,
            "InputDataConfig: must have at most 20 channels, .*got 20 others",
        ),
        (
            {"InputDataConfig": [{"ChannelName": "sagemaker_debug_ext"}]},
            "environment",
            True,
            "InputDataConfig: must have no channel 'sagemaker_debug_ext'",
        ),
        ({"AlgorithmSpecification": {"AlgorithmName": "a"}}, "environment", True, "AlgorithmSpecification: must name"),
    ],
)
def test_settings_when_no_channel_can_carry_them_then_nothing_is_uploaded(members, config, can_upload, message):
    """The request is refused as a whole."""
    uploads = {}
    with pytest.raises(RequestValidationError, match=message):
        self_managed_request(
            {**REQUEST, **members},
            debugger_hook_config=LARGE,
            self_managed=SelfManaged(config=config),
            upload=uploads.__setitem__ if can_upload else None,
        )
    assert not uploads


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"place": "contaner"}, SMDebugValueError, r"place must be one of container, here, .*'contaner'.*container"),
        ({"ship": "ftp"}, SMDebugValueError, "ship must be one of s3, folder, checkpoint, end"),
        (
            {"ship": "folder", "place": "processing"},
            SMDebugValueError,
            "place must be container or pod or actor with ship='folder', .*'processing'",
        ),
        (
            {"ship": "folder", "place": "here"},
            SMDebugValueError,
            "place must be container or pod or actor with ship='folder', .*'here'",
        ),
        ({"ship": "checkpoint", "place": "pod"}, SMDebugValueError, "container or here or processing with ship='check"),
        ({"ship": "end"}, SMDebugValueError, "place must be here with ship='end', .*'container'"),
        ({"config": "tags"}, SMDebugValueError, "config must be one of environment, channel"),
        ({"stop": "never"}, SMDebugValueError, "stop must be one of direct, events, cooperative, off"),
        ({"stop": "events", "events": False}, SMDebugValueError, "events must be True with stop='events'"),
        ({"on_stop": "exit"}, SMDebugValueError, "stop must be cooperative with on_stop='exit'"),
        ({"on_stop": "end"}, SMDebugValueError, "on_stop must be one of flag, exit"),
        ({"drain_seconds": -1}, SMDebugValueError, "drain_seconds must be a number of at least 0"),
        ({"drain_seconds": float("nan")}, SMDebugValueError, "drain_seconds"),
        ({"poll_seconds": 0}, SMDebugValueError, "poll_seconds must be above 0"),
        ({"memory_mib": 1.5}, SMDebugTypeError, "memory_mib must be a whole number"),
    ],
)
def test_settings_when_not_allowed_then_error_names_the_argument(arguments, error, message):
    """With the allowed values and the value given."""
    with pytest.raises(error, match=message):
        SelfManaged(**arguments)


def test_argument_when_it_is_no_setting_then_is_refused():
    """False means not to call the function at all."""
    with pytest.raises(SMDebugTypeError, match="self_managed must be True or a SelfManaged"):
        self_managed_request(REQUEST, self_managed=False)


@pytest.mark.parametrize("name", ["rule_image_uri", "rule_instance_type", "rule_role_arn"])
def test_settings_of_a_processing_job_when_there_is_none_then_are_refused(name):
    """With the place that was given."""
    with pytest.raises(SMDebugValueError, match=f"{name} must be left out unless place='processing' .*'container'"):
        SelfManaged(**{name: "x"})
    SelfManaged(place="processing", **{name: "x"})


@pytest.mark.parametrize(("limit", "expected"), [(3600, 7200), (None, 90_000), (28 * 86_400, None)])
def test_processing_job_when_made_for_a_training_job_then_runs_an_hour_longer(limit, expected):
    """Nine days at most; it hands over ten minutes before."""
    request = {"TrainingJobName": "digits-1", "RoleArn": "arn:aws:iam::123456789012:role/Trainer"}
    if limit is not None:
        request["StoppingCondition"] = {"MaxRuntimeInSeconds": limit}
    options = SelfManaged(place="processing", rule_image_uri="my/rules:1").watch_options
    made = watcher_job_of(request, options)
    expected = longest_processing_seconds() if expected is None else expected
    assert made["StoppingCondition"] == {"MaxRuntimeInSeconds": expected}
    assert made["AppSpecification"]["ContainerArguments"][-2:] == ["--max-seconds", str(expected - 600)]
    assert made["RoleArn"] == request["RoleArn"]
    assert watcher_job_of(request, SelfManaged(place="processing").watch_options) is None
    assert watcher_job_of(request, SelfManaged().watch_options) is None
