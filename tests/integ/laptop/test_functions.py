"""Lambda functions as targets of events on the server of this machine."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import time
import zipfile

import pytest

from sagemaker_debug_ext import (
    CollectionConfig,
    DebuggerHookConfig,
    Rule,
    SelfManaged,
    StopTraining,
    rule_configs,
    self_managed_request,
)
from sagemaker_debug_ext.template import render_template
from support.laptop import OBSTINATE

ROLE = "arn:aws:iam::123456789012:role/Function"
DETAIL_TYPE = "SageMaker Training Job State Change"
needs_xgboost = pytest.mark.skipif(importlib.util.find_spec("xgboost") is None, reason="needs XGBoost")

STOPS = """
import json
import logging

import boto3

logger = logging.getLogger()
logger.setLevel(logging.INFO)


def lambda_handler(event, context):
    detail = event.get("detail")
    name, statuses = detail.get("TrainingJobName"), detail.get("DebugRuleEvaluationStatuses", None)
    if not statuses:
        return {"statusCode": 200, "body": json.dumps("no rules")}
    client = boto3.client("sagemaker")
    for status in statuses:
        if status.get("RuleEvaluationStatus") == "IssuesFound":
            found = f"{status.get('RuleConfigurationName')} while {detail.get('SecondaryStatus', None)}"
            print(f"stopped {name}: {found}, {type(status['LastModifiedTime']).__name__}")
            client.stop_training_job(TrainingJobName=name)
    return None
"""
"""Written for the events of the Debugger service: it reads and does what the function in the guide of AWS does."""

FAILS = """
def handler(event, context):
    print("attempt", context.aws_request_id)
    raise ValueError(event["detail"]["TrainingJobStatus"])
"""


@pytest.fixture
def add_function(server):
    """Return a function that makes a Lambda function and sends it the events that match a pattern."""

    def add(name, code, pattern, handler="index.handler", **members):
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr(f"{handler.partition('.')[0]}.py", code)
        iam = server.client("iam")
        with contextlib.suppress(iam.exceptions.EntityAlreadyExistsException):
            iam.create_role(RoleName="Function", AssumeRolePolicyDocument="{}")
        arn = server.client("lambda").create_function(
            FunctionName=name,
            Runtime="python3.12",
            Role=ROLE,
            Handler=handler,
            Timeout=30,
            Code={"ZipFile": archive.getvalue()},
            **members,
        )["FunctionArn"]
        events = server.client("events")
        events.put_rule(Name=name, EventPattern=json.dumps(pattern))
        events.put_targets(Rule=name, Targets=[{"Id": "function", "Arn": arn}])

    return add


@pytest.fixture
def printed_by(server):
    """Return a function that waits until a Lambda function has printed a text, and returns all that it has printed."""

    def wait(name, text):
        logs = server.client("logs")
        group = f"/aws/lambda/{name}"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            lines = []
            for known in logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"]:
                lines += logs.filter_log_events(logGroupName=known["logGroupName"])["events"]
            found = [line["message"] for line in lines]
            if any(text in line for line in found):
                return found
            time.sleep(0.2)
        raise AssertionError(found)

    return wait


def environment_of(**settings):
    rule = Rule.sagemaker(rule_configs.tree_depth(), rule_parameters={"depth": "0"}, actions=StopTraining())
    request = self_managed_request(
        {"OutputDataConfig": {"S3OutputPath": "s3://my-bucket/output"}},
        rules=[rule],
        debugger_hook_config=DebuggerHookConfig(collection_configs=[CollectionConfig("trees", {"save_interval": "5"})]),
        self_managed=SelfManaged(poll_seconds=0.5, **settings),
    )
    return request["Environment"]


@needs_xgboost
def test_function_when_written_for_the_service_then_stops_self_managed_jobs(submit, wait_for, add_function, printed_by):
    """Only the source in the pattern of its rule is another one; names of files are those of the console."""
    pattern = {"source": ["aws.sagemaker", "sagemaker-debug-ext"], "detail-type": [DETAIL_TYPE]}
    add_function("stops", STOPS, pattern, "lambda_function.lambda_handler")
    submit("watched", OBSTINATE, Environment=environment_of(stop="off"))
    assert wait_for("watched", "Stopped", "Failed")["TrainingJobStatus"] == "Stopped"
    assert "stopped watched: TreeDepth while Training, int" in printed_by("stops", "stopped")


@needs_xgboost
def test_stack_when_made_of_the_template_then_its_function_stops_jobs(server, submit, wait_for):
    """The right of the job's role to stop jobs is not needed, and there is nothing to add to the stack."""
    parameters = {"Bucket": "my-bucket", "Prefix": "output/", "JobNamePrefix": "stack-"}
    listed = [{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()]
    cloudformation = server.client("cloudformation")
    cloudformation.create_stack(StackName="control", TemplateBody=render_template(), Parameters=listed)
    submit("stack-1", OBSTINATE, Environment=environment_of(stop="events"))
    assert wait_for("stack-1", "Stopped", "Failed")["TrainingJobStatus"] == "Stopped"
    cloudformation.delete_stack(StackName="control")


@pytest.fixture
def received_from(server):
    """Return a function that waits for a message of a queue and returns the event in it."""

    def wait(url):
        sqs = server.client("sqs")
        for _ in range(12):
            messages = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=10).get("Messages", [])
            if messages:
                return json.loads(messages[0]["Body"])
        raise AssertionError(f"no message in {url}")

    return wait


def test_function_when_it_fails_then_is_repeated_twice_and_its_event_kept(
    server, submit, wait_for, add_function, printed_by, received_from
):
    """Its log holds what it has printed, and the error; other targets of the rule get the event, too."""
    url = server.client("sqs").create_queue(QueueName="kept")["QueueUrl"]
    pattern = {"source": ["aws.sagemaker"], "detail": {"TrainingJobName": ["seen"], "TrainingJobStatus": ["Completed"]}}
    queue = {"TargetArn": "arn:aws:sqs:us-east-1:123456789012:kept"}
    add_function("fails", FAILS, pattern, DeadLetterConfig=queue)
    submit("seen", "print('trained')")
    wait_for("seen", "Completed")
    found = printed_by("fails", "ValueError: Completed")
    assert found.count("attempt 1") >= 1
    printed_by("fails", "attempt 3")
    assert received_from(url)["detail"]["TrainingJobName"] == "seen"


def test_stack_when_its_function_fails_then_the_event_is_kept_in_the_queue(server, received_from):
    """As for a job that is gone; whoever looks into the queue sees what was asked."""
    cloudformation = server.client("cloudformation")
    parameters = [{"ParameterKey": "Bucket", "ParameterValue": "my-bucket"}]
    cloudformation.create_stack(StackName="failing", TemplateBody=render_template(), Parameters=parameters)
    (stack,) = cloudformation.describe_stacks(StackName="failing")["Stacks"]
    outputs = {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}
    detail = {"TrainingJobName": "gone", "SelfManaged": {"StopRequested": True}}
    entry = {"Source": "sagemaker-debug-ext", "DetailType": DETAIL_TYPE, "Detail": json.dumps(detail)}
    server.client("events").put_events(Entries=[entry])
    kept = received_from(outputs["FailedEventsUrl"])
    cloudformation.delete_stack(StackName="failing")
    assert (kept["source"], kept["detail"]) == ("sagemaker-debug-ext", detail)
