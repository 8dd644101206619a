"""How self-managed jobs ship what they write, and the members that this takes."""

from __future__ import annotations

import pytest

from sagemaker_debug_ext import (
    SMS,
    ActionList,
    DebuggerHookConfig,
    Email,
    ProfilerRule,
    Rule,
    SelfManaged,
    StopTraining,
    rule_configs,
)
from sagemaker_debug_ext.config.job_spec import JobSpec, decode_job_spec, job_spec_of_container
from sagemaker_debug_ext.errors import RequestValidationError
from sagemaker_debug_ext.requests.self_managed import self_managed_request
from sagemaker_debug_ext.requests.shipping import with_folder

REQUEST = {"TrainingJobName": "digits-1", "OutputDataConfig": {"S3OutputPath": "s3://bucket/output/"}}
ISOLATED = {**REQUEST, "EnableNetworkIsolation": True}
SHARED = DebuggerHookConfig(container_local_output_path="/fsx/team")
RULE = Rule.sagemaker(rule_configs.overfit())


def spec_of(request):
    return decode_job_spec(request["Environment"])


def test_job_when_it_is_isolated_then_its_checkpoints_carry_the_trial():
    """By itself; the watcher in it only asks the script, because it reaches nothing else."""
    request = self_managed_request(ISOLATED, rules=[RULE])
    assert {name for name in request if request[name] != ISOLATED.get(name)} == {"Environment", "CheckpointConfig"}
    assert request["CheckpointConfig"] == {
        "S3Uri": "s3://bucket/output/_checkpointed/digits-1",
        "LocalPath": "/opt/ml/checkpoints",
    }
    spec = spec_of(request)
    assert (spec.ship, spec.actions.stop, spec.actions.events) == ("checkpoint", "cooperative", False)
    assert spec.trial_location("digits-1") == "/opt/ml/checkpoints/sagemaker_debug_ext/digits-1/debug-output"
    outside = spec.seen_outside(request)
    copy = "s3://bucket/output/_checkpointed/digits-1/sagemaker_debug_ext/digits-1"
    assert outside.state_location("digits-1") == f"{copy}/self-managed"
    assert outside.rule_locations("digits-1") == {"Overfit": f"{copy}/rule-output/Overfit"}


def test_job_when_it_has_checkpoints_then_they_stay_as_they_are():
    """Also without a folder, whose default is that of SageMaker; a definition without a name shares one location."""
    own = {"S3Uri": "s3://bucket/mine", "LocalPath": "/opt/ml/mine/"}
    request = self_managed_request({**ISOLATED, "CheckpointConfig": own})
    assert request["CheckpointConfig"] == own
    assert spec_of(request).root == "/opt/ml/mine/sagemaker_debug_ext"
    assert spec_of(request).seen_outside(request).root == "s3://bucket/mine/sagemaker_debug_ext"
    request = self_managed_request({**ISOLATED, "CheckpointConfig": {"S3Uri": "s3://bucket/mine"}})
    assert spec_of(request).root == "/opt/ml/checkpoints/sagemaker_debug_ext"
    request = self_managed_request({name: value for name, value in ISOLATED.items() if name != "TrainingJobName"})
    assert request["CheckpointConfig"]["S3Uri"] == "s3://bucket/output/_checkpointed"


def test_job_when_a_processing_job_watches_it_then_isolation_changes_no_action():
    """That job reaches everything."""
    options = SelfManaged(place="processing", rule_image_uri="rules:1")
    several = {**ISOLATED, "ResourceConfig": {"InstanceGroups": [{"InstanceCount": 2}, {"InstanceCount": 1}]}}
    spec = spec_of(self_managed_request(several, rules=[RULE], self_managed=options))
    assert (spec.ship, spec.actions.stop, spec.actions.events) == ("checkpoint", "direct", True)


def test_job_when_it_ships_at_its_end_then_the_output_folder_is_written():
    """And everything is read below the S3 path of the hook afterwards."""
    request = self_managed_request(REQUEST, self_managed=SelfManaged(ship="end", place="here"))
    assert "CheckpointConfig" not in request
    assert spec_of(request).root == "/opt/ml/output/data/sagemaker_debug_ext"
    assert spec_of(request).seen_outside(request).root == "s3://bucket/output"


def test_job_when_it_has_a_shared_folder_then_it_is_copied_if_there_is_a_place_on_s3():
    """Profiler data and TensorBoard data lie in it, too."""
    options = SelfManaged(ship="folder")
    request = self_managed_request(
        REQUEST, debugger_hook_config=SHARED, self_managed=options, rules=[RULE], disable_profiler=False
    )
    spec = spec_of(request)
    assert (spec.root, spec.copy_root) == ("/fsx/team", "s3://bucket/output")
    assert spec.profile("digits-1").location == "/fsx/team/digits-1/profiler-output"
    assert spec.seen_outside(request).root == "s3://bucket/output"
    alone = spec_of(self_managed_request({}, debugger_hook_config=SHARED, self_managed=options, rules=[RULE]))
    assert (alone.root, alone.copy_root) == ("/fsx/team", None)
    assert alone.seen_outside({}).root == "/fsx/team"


def test_container_when_its_base_is_elsewhere_then_folders_below_opt_ml_are_there():
    """As on a laptop without namespaces; shared folders stay where they are."""
    isolated = self_managed_request(ISOLATED)["Environment"]
    moved = job_spec_of_container({**isolated, "SAGEMAKER_BASE_DIR": "/tmp/job/opt/ml"})
    assert moved.root == "/tmp/job/opt/ml/checkpoints/sagemaker_debug_ext"
    shared = self_managed_request({}, debugger_hook_config=SHARED, self_managed=SelfManaged(ship="folder"))
    kept = job_spec_of_container({**shared["Environment"], "SAGEMAKER_BASE_DIR": "/tmp/job/opt/ml"})
    assert kept.root == "/fsx/team"


CUSTOM = Rule.custom(
    name="Own", image_uri="i", instance_type="ml.m5.large", source="s3://bucket/own.py", rule_to_invoke="Own",
    volume_size_in_gb=10,
)  # fmt: skip


MESSAGES = (Email("me@example.com"), SMS("+15550100"))
WEBHOOK = '[{"name": "Webhook", "url": "https://example.com"}]'


def test_rules_when_somebody_can_be_told_then_may_send_messages():
    """The watcher of a processing job reaches everything; stopping needs nobody."""
    told = Rule.sagemaker(rule_configs.overfit(), actions=ActionList(*MESSAGES))
    outside = SelfManaged(place="processing", rule_image_uri="rules:1")
    assert "email" in str(spec_of(self_managed_request(ISOLATED, rules=[told], self_managed=outside)).rules)
    assert "email" in str(spec_of(self_managed_request(REQUEST, rules=[told])).rules)
    stopping = Rule.sagemaker(rule_configs.overfit(), actions=StopTraining())
    assert "stoptraining" in str(spec_of(self_managed_request(ISOLATED, rules=[stopping])).rules)


def test_rule_when_its_members_hold_a_webhook_then_an_isolated_job_refuses_it():
    """Only members that were written by hand can hold one; the case of its name makes no difference."""
    rule = {"RuleConfigurationName": "Own", "RuleParameters": {"action_json": WEBHOOK}}
    spec = JobSpec(hook={"S3OutputPath": "s3://bucket/output"}, ship="checkpoint", rules=[rule])
    with pytest.raises(RequestValidationError, match=r"\['Own'\]: must have no action .*\(got webhook\); place='proc"):
        with_folder(spec, ISOLATED)
    assert with_folder(spec, REQUEST).rules == [rule]


@pytest.mark.parametrize(
    ("request_", "settings", "message"),
    [
        (ISOLATED, {"self_managed": SelfManaged(stop="events")}, r"EnableNetworkIsolation: .*\(stop='events'\)"),
        (ISOLATED, {"self_managed": SelfManaged(metrics=True)}, r"EnableNetworkIsolation: .*\(metrics=True\)"),
        (ISOLATED, {"rules": [CUSTOM]}, r"DebugRuleConfigurations\['Own'\]: must be a built-in rule .*own.py"),
        (
            {**ISOLATED, "ResourceConfig": {"InstanceCount": 2}},
            {"rules": [RULE]},
            r"ResourceConfig.InstanceCount: must be 1 for rules in the container .*\(got 2\); place='processing'",
        ),
        (
            {**ISOLATED, "ResourceConfig": {"InstanceCount": 2}},
            {"rules": [ProfilerRule.sagemaker(rule_configs.StepOutlier())]},
            r"ResourceConfig.InstanceCount: must be 1 for rules in the container .*\(got 2\)",
        ),
        (
            ISOLATED,
            {"rules": [Rule.sagemaker(rule_configs.overfit(), actions=ActionList(StopTraining(), *MESSAGES))]},
            r"DebugRuleConfigurations\['Overfit'\]: must have no action that sends messages .*\(got email, sms\)",
        ),
        (
            REQUEST,
            {"self_managed": SelfManaged(ship="folder")},
            "DebugHookConfig.LocalPath: must be the absolute path of the shared folder .*None",
        ),
    ],
)
def test_request_when_it_cannot_ship_so_then_says_what_can(request_, settings, message):
    """With the member and the setting."""
    with pytest.raises(RequestValidationError, match=message):
        self_managed_request(request_, **settings)
