"""Permissions: the policy of the template allows every request of a job, and nothing that no job asks for."""

from __future__ import annotations

import json
import os

import boto3
import botocore.client
import pytest

from sagemaker_debug_ext import (
    ActionList,
    CollectionConfig,
    DebuggerHookConfig,
    Email,
    Rule,
    StopTraining,
    rule_configs,
)
from sagemaker_debug_ext.config.self_managed import SelfManaged
from sagemaker_debug_ext.requests.self_managed import self_managed_request
from sagemaker_debug_ext.sdk import attach_debugger
from sagemaker_debug_ext.template import render_template
from support.permissions import (
    RECORDER,
    as_list,
    asked_of_key,
    described,
    is_allowed,
    pass_role,
    refused_and_unused,
    statements_of,
)

TRAIN = """
import sys, time
import torch
import sagemaker_debug_ext.pytorch as smd

hook = smd.Hook.create_from_json_file()
model, loss = torch.nn.Linear({size}, 2), torch.nn.CrossEntropyLoss()
hook.register_module(model)
for step in range(10):
    loss(model(torch.randn(8, {size})), torch.randint(0, 2, (8,))).backward()
"""
AFTER_FAILURES = {"s3:AbortMultipartUpload"}
"""What a job asks for only if a request has failed."""


@pytest.fixture
def policy(aws):
    """The statements of the template's policy for training jobs, as a stack has them."""
    cloudformation, iam = boto3.client("cloudformation"), boto3.client("iam")
    parameters = [
        {"ParameterKey": "Bucket", "ParameterValue": "my-bucket"},
        {"ParameterKey": "Prefix", "ParameterValue": "output/"},
    ]
    cloudformation.create_stack(StackName="own", TemplateBody=render_template(), Parameters=parameters)
    (stack,) = cloudformation.describe_stacks(StackName="own")["Stacks"]
    outputs = {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}
    events = boto3.client("events")
    for rule in events.list_rules()["Rules"]:
        events.disable_rule(Name=rule["Name"])  # moto fails to send events to functions
    arn = outputs["TrainingPolicyArn"]
    version = iam.get_policy(PolicyArn=arn)["Policy"]["DefaultVersionId"]
    document = iam.get_policy_version(PolicyArn=arn, VersionId=version)["PolicyVersion"]["Document"]
    yield document["Statement"], outputs["TopicArn"]
    cloudformation.delete_stack(StackName="own")


@pytest.fixture
def recorded(run_job, tmp_path):
    """Return a function that runs a job and returns the requests of all its processes."""
    (tmp_path / "sitecustomize.py").write_text(RECORDER)
    calls = tmp_path / "calls"

    def run(script, request):
        calls.write_text("")
        path = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
        report = run_job(script, request, PYTHONPATH=path, RECORDED_CALLS=str(calls))
        assert report.returncode == 0, report.stderr
        return [described(*json.loads(line)) for line in calls.read_text().splitlines()], report

    return run


def request_of(aws, name, **options):
    """Return the request of a job whose first rule fires, stops it and sends a message."""
    fires = Rule.sagemaker(
        rule_configs.vanishing_gradient(),
        rule_parameters={"threshold": "1e9"},
        actions=ActionList(StopTraining(), Email("a@example.com")),
    )
    return self_managed_request(
        {"TrainingJobName": name, "OutputDataConfig": {"S3OutputPath": aws}},
        debugger_hook_config=DebuggerHookConfig(collection_configs=[CollectionConfig("weights")]),
        rules=[fires, Rule.sagemaker(rule_configs.exploding_tensor())],
        self_managed=SelfManaged(poll_seconds=0.2, **options),
    )


def test_policy_when_a_job_runs_then_allows_its_requests_and_no_others(policy, recorded, aws):
    """A job with large files, a rule that fires, a message, events and metrics."""
    statements, topic = policy
    request = request_of(aws, "permitted", stop="events", topic_arn=topic, metrics=True)
    calls, _ = recorded(TRAIN.format(size=2_000_000), request)
    refused = [call for call in calls if not any(is_allowed(call, statement) for statement in statements)]
    assert refused == []
    allowed = {(statement["Sid"], action) for statement in statements for action in as_list(statement["Action"])}
    used = {(statement["Sid"], call[0]) for call in calls for statement in statements if is_allowed(call, statement)}
    assert {action for _, action in allowed - used} == AFTER_FAILURES
    assert refused_and_unused(asked_of_key(calls), statements_of("TrainingKey")) == ([], set())


def test_policy_when_a_job_stops_itself_then_it_needs_one_more_right(policy, recorded, aws):
    """Which the role needs only then."""
    statements, topic = policy
    calls, _ = recorded(TRAIN.format(size=4), request_of(aws, "direct", stop="direct", topic_arn=topic))
    refused = {call[0] for call in calls if not any(is_allowed(call, statement) for statement in statements)}
    assert refused == {"sagemaker:StopTrainingJob"}


def test_policy_when_a_job_has_no_topic_then_it_needs_rights_to_find_one(policy, recorded, aws):
    """As the documentation lists them."""
    statements, _ = policy
    calls, _ = recorded(TRAIN.format(size=4), request_of(aws, "untold", stop="cooperative"))
    refused = {call[0] for call in calls if not any(is_allowed(call, statement) for statement in statements)}
    assert refused == {"sns:CreateTopic", "sns:ListSubscriptions", "sns:Subscribe", "sns:Publish"}


def test_submitter_when_it_starts_the_watcher_then_the_policy_allows_its_requests_and_no_others(aws, monkeypatch):
    """With settings in a channel, which are written once or again: whoever may read nothing cannot know."""
    calls = []
    call = botocore.client.BaseClient._make_api_call

    def record(self, operation, parameters):
        calls.append(described(self.meta.service_model.service_name, operation, parameters))
        if operation == "CreateProcessingJob":
            calls.append(pass_role(parameters))
        return call(self, operation, parameters)

    session = boto3.Session(region_name="us-east-1")
    role = "arn:aws:iam::123456789012:role/Watcher"
    options = SelfManaged(place="processing", rule_image_uri="my/rules:1", rule_role_arn=role, config="channel")
    rules = [Rule.sagemaker(rule_configs.overfit())]
    with attach_debugger(session, rules=rules, self_managed=options):
        client = session.client("sagemaker")
        monkeypatch.setattr(botocore.client.BaseClient, "_make_api_call", record)
        for number in range(2):
            client.create_training_job(
                TrainingJobName=f"digits-submitted-{number}",
                RoleArn="arn:aws:iam::123456789012:role/Trainer",
                AlgorithmSpecification={"TrainingImage": "image", "TrainingInputMode": "File"},
                OutputDataConfig={"S3OutputPath": aws},
                ResourceConfig={"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 10},
                StoppingCondition={"MaxRuntimeInSeconds": 600},
            )
    refused, unused = refused_and_unused(calls, statements_of("Submitter"))
    assert {action for action, _, _ in refused} == {"sagemaker:CreateTrainingJob"}  # which every submitter needs
    assert unused == set()
