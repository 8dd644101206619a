"""Requests of plain clients: our own, and those of other tools."""

from __future__ import annotations

import json

import pytest
from botocore.exceptions import ParamValidationError
from botocore.stub import Stubber

from sagemaker_debug_ext import (
    CollectionConfig,
    DebuggerHookConfig,
    ProfilerConfig,
    Rule,
    StopTraining,
    TensorBoardOutputConfig,
    rule_configs,
)
from sagemaker_debug_ext.errors import DebugExtWarning, RequestValidationError, SMDebugTypeError
from sagemaker_debug_ext.sdk import (
    TrainingJob,
    attach_debugger,
    debugger_request,
    set_default_hook,
    upload_rule_sources,
)

RULES = [Rule.sagemaker(rule_configs.vanishing_gradient(), actions=StopTraining())]
HOOK = DebuggerHookConfig(collection_configs=[CollectionConfig("losses", {"save_interval": 5})])


def test_members_of_debugger_request_are_kept_by_the_service(aws, request_members, tmp_path):
    """A whole round, with the code of a rule really uploaded."""
    file = tmp_path / "rule.py"
    file.write_text("class A: ...\n")
    rules = [*RULES, Rule.custom("Mine", None, "ml.t3.medium", 5, source=str(file), rule_to_invoke="A")]
    uris = upload_rule_sources(rules, aws.client("s3"), "my-bucket", "rules")
    members = debugger_request(
        job_name="plain", region="us-east-1", output_path="s3://my-bucket/out", debugger_hook_config=HOOK, rules=rules,
        tensorboard_output_config=TensorBoardOutputConfig(), source_uris=uris,
    )  # fmt: skip
    client = aws.client("sagemaker")
    client.create_training_job(**request_members, **members)
    job = TrainingJob.describe("plain", client)
    for name in ("DebugHookConfig", "DebugRuleConfigurations", "TensorBoardOutputConfig"):
        assert job.description[name] == members[name]
    assert job.artifact_paths.debugger == "s3://my-bucket/out/plain/debug-output"
    assert job.artifact_paths.tensorboard == "s3://my-bucket/out/plain/tensorboard-output"
    assert job.rule_output_path("Mine") == "s3://my-bucket/out/plain/rule-output/Mine"
    (uri,) = uris.values()
    assert uri.startswith("s3://my-bucket/rules/Mine/")
    body = aws.client("s3").get_object(Bucket="my-bucket", Key=uri.removeprefix("s3://my-bucket/"))["Body"].read()
    assert body == b"class A: ...\n"


def test_settings_of_a_job_give_the_same_members_again(aws, request_members):
    """Read back from its description, whoever submitted it."""
    request_members["TrainingJobName"] = "first"
    members = debugger_request(
        job_name="first", region="us-east-1", output_path="s3://my-bucket/out", debugger_hook_config=HOOK, rules=RULES
    )
    client = aws.client("sagemaker")
    client.create_training_job(**request_members, **members)
    settings = TrainingJob.describe("first", client).settings
    again = debugger_request(job_name="second", region="us-east-1", output_path="s3://my-bucket/out", **settings)
    assert json.dumps(again).replace("second", "first") == json.dumps(members)


def test_attached_clients_send_debugger_members_until_detached(aws, request_members):
    """Other tools need no change; they may even pass the request in by keyword."""
    client = aws.client("sagemaker")
    attached = attach_debugger(client, debugger_hook_config=HOOK, rules=RULES, profiler_config=ProfilerConfig())
    client.create_training_job(**{**request_members, "TrainingJobName": "attached"})
    described = client.describe_training_job(TrainingJobName="attached")
    assert described["DebugHookConfig"]["S3OutputPath"] == "s3://my-bucket/out"
    names = [item["CollectionName"] for item in described["DebugHookConfig"]["CollectionConfigurations"]]
    assert names == ["losses", "gradients"]
    assert "attached" in described["DebugRuleConfigurations"][0]["RuleParameters"]["action_json"]
    attached.detach()
    attached.detach()
    client.create_training_job(**{**request_members, "TrainingJobName": "detached"})
    assert "DebugHookConfig" not in client.describe_training_job(TrainingJobName="detached")


@pytest.mark.parametrize("kind", ["boto3", "botocore"])
def test_attached_sessions_give_members_to_clients_made_afterwards(kind, aws, request_members):
    """And to no other; clients that were made meanwhile stop with the block."""
    session = aws.session()
    before = session.client("sagemaker")
    with attach_debugger(session if kind == "boto3" else session._session) as attached:
        client = session.client("sagemaker")
        client.create_training_job(**{**request_members, "TrainingJobName": f"in-{kind}"})
        before.create_training_job(**{**request_members, "TrainingJobName": f"before-{kind}"})
        assert attached.is_attached
    client.create_training_job(**{**request_members, "TrainingJobName": f"after-{kind}"})
    has_hook = [
        "DebugHookConfig" in client.describe_training_job(TrainingJobName=f"{when}-{kind}")
        for when in ("in", "before", "after")
    ]
    assert has_hook == [True, False, False]


def test_requests_with_debugger_members_are_left_alone_unless_replaced(aws, request_members):
    """The caller's own word counts."""
    client = aws.client("sagemaker")
    own = {"DebugHookConfig": {"S3OutputPath": "s3://my-bucket/own"}}
    with attach_debugger(client, rules=RULES):
        client.create_training_job(**{**request_members, **own, "TrainingJobName": "own"})
    with attach_debugger(client, rules=RULES, replace=True):
        client.create_training_job(**{**request_members, **own, "TrainingJobName": "replaced"})
    assert "DebugRuleConfigurations" not in client.describe_training_job(TrainingJobName="own")
    replaced = client.describe_training_job(TrainingJobName="replaced")
    assert replaced["DebugHookConfig"]["S3OutputPath"] == "s3://my-bucket/out"


def test_attached_clients_warn_of_or_refuse_what_cannot_work_before_anything_is_sent(aws, request_members):
    """Jobs that would train without Debugger still train; tools see errors at their call."""
    client = aws.client("sagemaker")
    request_members["ResourceConfig"]["InstanceCount"] = 2
    request_members["CheckpointConfig"] = {"S3Uri": "s3://my-bucket/c", "LocalPath": "/opt/ml/checkpoints"}
    with attach_debugger(client, rules=RULES), pytest.warns(DebugExtWarning, match="left out: VanishingGradient"):
        client.create_training_job(**{**request_members, "TrainingJobName": "no-rules"})
    assert "DebugRuleConfigurations" not in client.describe_training_job(TrainingJobName="no-rules")
    with attach_debugger(client), pytest.warns(DebugExtWarning, match="distributed jobs that write checkpoints"):
        client.create_training_job(**{**request_members, "TrainingJobName": "no-hook"})
    with attach_debugger(client, rules=RULES * 2), pytest.raises(RequestValidationError, match="must be unique"):
        del request_members["CheckpointConfig"]
        client.create_training_job(**request_members)
    with attach_debugger(client), pytest.raises(ParamValidationError):
        client.create_training_job(TrainingJobName="rest-is-missing", OutputDataConfig={"S3OutputPath": "s3://b"})


def test_attach_respects_the_switch_of_the_default_hook(aws, request_members):
    """Who prefers to opt in gets nothing by default."""
    client = aws.client("sagemaker")
    before = set_default_hook(False)
    try:
        with attach_debugger(client):
            client.create_training_job(**{**request_members, "TrainingJobName": "opted"})
    finally:
        set_default_hook(before)
    assert "DebugHookConfig" not in client.describe_training_job(TrainingJobName="opted")


def test_attach_to_anything_else_is_refused():
    """It says what it takes."""
    with pytest.raises(SMDebugTypeError, match="must be a boto3 client, or a session"):
        attach_debugger("sagemaker")


def test_wait_for_rules_follows_their_statuses(aws, request_members, capsys):
    """With a line for each change; the server has no statuses, so a stub stands for it."""
    client = aws.client("sagemaker")
    base = {
        "TrainingJobName": "waiting", "TrainingJobArn": "arn:aws:sagemaker:us-east-1:123456789012:training-job/waiting",
        "ModelArtifacts": {"S3ModelArtifacts": "s3://b"}, "TrainingJobStatus": "InProgress",
        "SecondaryStatus": "Training", "AlgorithmSpecification": {"TrainingInputMode": "File"},
        "ResourceConfig": {"VolumeSizeInGB": 1}, "StoppingCondition": {}, "CreationTime": 0,
        **debugger_request(job_name="waiting", region="us-east-1", output_path="s3://my-bucket/out", rules=RULES),
    }  # fmt: skip
    slept = []
    with Stubber(client) as stub:
        for status in (None, "InProgress", "InProgress", "IssuesFound"):
            entry = {
                "RuleConfigurationName": "VanishingGradient",
                "RuleEvaluationStatus": status,
                "StatusDetails": "step 5",
            }
            members = {"DebugRuleEvaluationStatuses": [entry]} if status else {}
            stub.add_response("describe_training_job", {**base, **members}, {"TrainingJobName": "waiting"})
        rules = TrainingJob.describe("waiting", client).wait_for_rules(sleep=slept.append, poll_seconds=7)
    assert slept == [7, 7, 7]
    assert [rule.name for rule in rules.issues] == ["VanishingGradient"]
    shown = capsys.readouterr().err
    assert shown.count("rule VanishingGradient InProgress") == 1
    assert "rule VanishingGradient IssuesFound: step 5" in shown
    assert "1 of 1 rules ended" in shown
