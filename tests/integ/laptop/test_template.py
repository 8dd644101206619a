"""The CloudFormation template: its form, its stack, and its function on jobs of this machine."""

from __future__ import annotations

import datetime as dt
import importlib.util
import io
import json
import re
from pathlib import Path

import botocore.exceptions
import botocore.session
import botocore.stub
import pytest
import yaml

from sagemaker_debug_ext import Rule, SelfManaged, StopTraining, rule_configs, self_managed_request
from sagemaker_debug_ext.cli.main import main
from sagemaker_debug_ext.template import MAX_BYTES, control, render_template
from support.permissions import asked_of_key, described, pass_role, refused_and_unused, statements_of

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs PyTorch")

TRAIN = """
import time
import torch
import sagemaker_debug_ext.pytorch as smd

hook = smd.Hook.create_from_json_file()
model, loss = torch.nn.Linear(4, 2), torch.nn.CrossEntropyLoss()
hook.register_module(model)
for step in range(3):
    loss(model(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
time.sleep(300)
"""


def event(name="digits-1", **self_managed):
    """Return an event of a watcher as EventBridge delivers it."""
    changed = {"RuleConfigurationName": "VanishingGradient", "RuleEvaluationStatus": "IssuesFound"}
    detail = {"TrainingJobName": name, "TrainingJobStatus": "InProgress", "ChangedRule": changed}
    return {"source": "sagemaker-debug-ext", "detail": {**detail, "SelfManaged": self_managed}}


def ended(watcher):
    """Return an event of the service about a processing job that has failed."""
    return {"source": "aws.sagemaker", "detail": {"ProcessingJobName": watcher, "ProcessingJobStatus": "Failed"}}


@pytest.fixture
def stub(monkeypatch):
    """A client of SageMaker that answers as told."""
    client = botocore.session.get_session().create_client(
        "sagemaker", "us-east-1", aws_access_key_id="a", aws_secret_access_key="b"
    )
    monkeypatch.setattr(control.boto3, "client", lambda service: client)
    with botocore.stub.Stubber(client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


def describe(stub, status):
    """Let the next answer be a description; the members besides the status are those that the model requires."""
    stub.add_response(
        "describe_training_job", {"TrainingJobStatus": status, **REQUIRED}, {"TrainingJobName": "digits-1"}
    )


REQUIRED = {
    "TrainingJobName": "digits-1",
    "TrainingJobArn": "arn:aws:sagemaker:us-east-1:123456789012:training-job/digits-1",
    "ModelArtifacts": {"S3ModelArtifacts": ""},
    "SecondaryStatus": "Training",
    "AlgorithmSpecification": {"TrainingInputMode": "File"},
    "ResourceConfig": {"VolumeSizeInGB": 1},
    "StoppingCondition": {},
    "CreationTime": 0,
}


def reader_of_templates():
    """Return a loader for YAML that takes the short forms of CloudFormation's functions for mappings."""

    class Loader(yaml.SafeLoader):
        pass

    def read(loader, name, node):
        is_text = isinstance(node, yaml.ScalarNode)
        return {name: loader.construct_scalar(node) if is_text else loader.construct_sequence(node, deep=True)}

    Loader.add_multi_constructor("!", read)
    return Loader


def test_template_when_printed_then_fits_into_a_request(capsys):
    """Of CreateStack, which takes no larger text."""
    assert main(["self-managed", "template"]) == 0
    text = capsys.readouterr().out
    assert text == render_template()
    assert len(text.encode()) < MAX_BYTES


def test_policies_when_printed_then_are_those_of_the_template(capsys):
    """One for each role, for those who make them in other ways; each has what it is limited to as a placeholder."""
    assert main(["self-managed", "template", "--policies"]) == 0
    text = capsys.readouterr().out
    printed = json.loads(text)
    assert set(printed) == {
        *("Training", "TrainingKey", "Watcher", "Submitter", "Reader", "ReaderKey", "Control", "Start"),
    }
    found = yaml.load(render_template(), reader_of_templates())["Resources"]
    for name, policy in printed.items():
        resource = found["ControlRole" if name == "Control" else f"{name}Policy"]["Properties"]
        document = resource["Policies"][0]["PolicyDocument"] if name == "Control" else resource["PolicyDocument"]
        assert [part["Sid"] for part in document["Statement"]] == [part["Sid"] for part in policy["Statement"]]
        assert [part["Action"] for part in document["Statement"]] == [part["Action"] for part in policy["Statement"]]
    assert {"${Bucket}", "${Prefix}", "${TopicArn}"} <= set(re.findall(r"\$\{\w+\}", text))


def test_template_when_a_stack_is_made_then_its_function_is_the_one_tested_here(server):
    """With all parameters, and with the required one alone."""
    cloudformation = server.client("cloudformation")
    settings = {"Bucket": "my-bucket", "Prefix": "output/", "JobNamePrefix": "digits-", "NotifyEmail": "a@example.com"}
    settings["KmsKeyArn"] = "arn:aws:kms:us-east-1:123456789012:key/12345678-1234-1234-1234-123456789012"
    outputs = {}
    for name, parameters in {"all": settings, "few": {"Bucket": "my-bucket"}}.items():
        listed = [{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()]
        cloudformation.create_stack(StackName=name, TemplateBody=render_template(), Parameters=listed)
        (stack,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
        assert stack["StackStatus"] == "CREATE_COMPLETE"
        outputs[name] = {output["OutputKey"] for output in stack["Outputs"]}
    functions = server.client("lambda").list_functions()["Functions"]
    assert {(function["Handler"], function["Runtime"]) for function in functions} == {("index.handler", "python3.13")}
    for name in ("all", "few"):
        cloudformation.delete_stack(StackName=name)
    assert outputs["few"] == {"TopicArn", "TrainingPolicyArn", "WatcherPolicyArn", "ReaderPolicyArn", "FailedEventsUrl"}
    assert outputs["all"] == outputs["few"] | {"TrainingKeyPolicyArn", "ReaderKeyPolicyArn"}
    inline = re.search(r"ZipFile: \|\n((?: {10}.*\n|\n)+)", render_template())[1]
    code = "".join(line[10:] or "\n" for line in inline.splitlines(keepends=True))
    assert code.rstrip("\n") == Path(control.__file__).read_text().rstrip("\n")


def holds(condition, parameters):
    """Return whether a condition of the template holds for its parameters."""
    if not isinstance(condition, dict):
        return condition
    ((function, operand),) = condition.items()
    if function == "Ref":
        return parameters[operand]
    values = [holds(value, parameters) for value in operand]
    return {"Equals": lambda: values[0] == values[1], "Not": lambda: not values[0]}[function]()


@pytest.mark.parametrize(("role", "is_refused"), [("", True), ("Watcher", False)])
@pytest.mark.parametrize("starts", ["true", "false"])
def test_stack_when_it_starts_watchers_without_a_role_then_is_refused(starts, role, is_refused):
    """By CloudFormation, before it makes anything; a function that starts nothing would be no answer."""

    template = yaml.load(render_template(), reader_of_templates())
    parameters = {"StartWatchers": starts, "WatcherRoleName": role}
    assert {name: template["Parameters"][name]["Default"] for name in parameters} == {
        "StartWatchers": "false",
        "WatcherRoleName": "",
    }
    (rule,) = template["Rules"].values()
    (assertion,) = rule["Assertions"]
    failed = holds(rule["RuleCondition"], parameters) and not holds(assertion["Assert"], parameters)
    assert failed == (is_refused and starts == "true")
    assert "needs WatcherRoleName" in assertion["AssertDescription"]


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        ({"source": "aws.sagemaker", "detail": {"TrainingJobName": "digits-1"}}, "ignored: no rule asks"),
        (event(StopRequested=False), "ignored: no rule asks"),
        (event("letters-1", StopRequested=True), "ignored: its name does not start with 'digits-'"),
        (ended("letters-1-watch-01234567"), "ignored: its name does not start with 'digits-'"),
    ],
)
def test_function_when_an_event_is_no_request_then_asks_nobody(stub, monkeypatch, given, outcome):
    """Events of the service, of other rules, and of other jobs."""
    monkeypatch.setenv("JOB_NAME_PREFIX", "digits-")
    assert control.handler(given, None)["Outcome"].startswith(outcome)


def test_function_when_the_job_has_ended_then_leaves_it_alone(stub):
    """Before the request to stop, or at the same time."""
    describe(stub, "Completed")
    assert control.handler(event(StopRequested=True), None)["Outcome"] == "left alone: it is Completed"
    describe(stub, "InProgress")
    stub.add_client_error("stop_training_job", "ValidationException", "not in a state")
    describe(stub, "Failed")
    assert control.handler(event(StopRequested=True), None)["Outcome"] == "left alone: it is Failed"


def test_function_when_it_may_not_stop_then_fails(stub):
    """So that the event is repeated, and kept at last."""
    describe(stub, "InProgress")
    stub.add_client_error("stop_training_job", "AccessDeniedException", "no")
    describe(stub, "InProgress")
    with pytest.raises(botocore.exceptions.ClientError, match="AccessDenied"):
        control.handler(event(StopRequested=True), None)


CREATED = dt.datetime(2026, 11, 23, 12, tzinfo=dt.timezone.utc)
BEFORE, AFTER = (CREATED + dt.timedelta(minutes=minutes) for minutes in (-90, 5))


@pytest.mark.parametrize(
    ("number", "watcher_status", "job_status", "started_at", "outcome"),
    [
        (2, "Completed", "InProgress", AFTER, "watched: by digits-1-watch-00000000-3"),
        (9, "Completed", "Completed", AFTER, "watched: by digits-1-watch-00000000-10"),
        (2, "Failed", "InProgress", BEFORE, "watched: by digits-1-watch-00000000-3"),
        (3, "Failed", "InProgress", BEFORE, "left alone: it is watcher 3 that has failed"),
        (2, "Failed", "Completed", BEFORE, "left alone: it is Failed"),
        (2, "Stopped", "InProgress", BEFORE, "left alone: it is Stopped"),
        (2, "Stopped", "InProgress", AFTER, "left alone: it is Stopped"),
        (2, "Completed", "InProgress", BEFORE, "left alone: it is Completed"),
    ],
)
def test_function_when_a_watcher_ends_then_the_handover_of_the_one_before_starts_nothing(
    stub, monkeypatch, number, watcher_status, job_status, started_at, outcome
):
    """The phase stays in the status until the next watcher reports, which one that fails at once never does."""
    watcher = {"phase": "handover", "started_at": started_at.isoformat()}
    rules = [{"RuleEvaluationStatus": "InProgress"}]
    monkeypatch.setattr(control, "_read", lambda _: {"watcher": watcher, "rules": rules})
    members = self_managed_request(
        {"OutputDataConfig": {"S3OutputPath": "s3://my-bucket/output"}},
        rules=[Rule.sagemaker(rule_configs.overfit())],
        self_managed=SelfManaged(place="processing", rule_image_uri="my/rules:1"),
    )
    name, role = f"digits-1-watch-00000000-{number}", "arn:aws:iam::123456789012:role/Trainer"
    arguments = {"ImageUri": "my/rules:1", "ContainerArguments": ["--job", "digits-1"]}
    cluster = {"InstanceCount": 1, "InstanceType": "ml.t3.medium", "VolumeSizeInGB": 10}
    watching = {
        "ProcessingJobName": name,
        "ProcessingJobArn": "arn:aws:sagemaker:us-east-1:123456789012:processing-job/digits-1",
        "ProcessingJobStatus": watcher_status,
        "ProcessingResources": {"ClusterConfig": cluster},
        "AppSpecification": arguments,
        "CreationTime": CREATED,
    }
    stub.add_response("describe_processing_job", watching, {"ProcessingJobName": name})
    training = {**REQUIRED, "TrainingJobStatus": job_status, "RoleArn": role, "Environment": members["Environment"]}
    stub.add_response("describe_training_job", training, {"TrainingJobName": "digits-1"})
    if outcome.startswith("watched"):
        stub.add_response("create_processing_job", {"ProcessingJobArn": watching["ProcessingJobArn"]})
    detail = {"ProcessingJobName": name, "ProcessingJobStatus": watcher_status}
    found = control.handler({"source": "aws.sagemaker", "detail": detail}, None)["Outcome"]
    assert re.sub("watch-[0-9a-f]{8}", "watch-00000000", found).startswith(outcome)


WATCHER_ROLE = "arn:aws:iam::123456789012:role/Watcher"
BY_LAMBDA = {"Log", "Fail"}
"""Statements for what Lambda does in the function's name."""


@pytest.fixture
def recorded(monkeypatch):
    """Stubs of SageMaker and S3 that the function gets, and the requests that it sends to them."""
    session, calls = botocore.session.get_session(), []
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
    clients = {name: session.create_client(name, "us-east-1", **keys) for name in ("sagemaker", "s3")}

    def record(params, model, **_):
        calls.append(described(model.service_model.service_name, model.name, params))
        if model.name == "CreateProcessingJob":
            calls.append(pass_role(params))

    for client in clients.values():
        client.meta.events.register("provide-client-params", record)
    monkeypatch.setattr(control.boto3, "client", clients.__getitem__)
    stubs = {name: botocore.stub.Stubber(client) for name, client in clients.items()}
    for stubber in stubs.values():
        stubber.activate()
    yield stubs["sagemaker"], stubs["s3"], calls
    for stubber in stubs.values():
        stubber.assert_no_pending_responses()


def test_policy_when_the_function_runs_then_allows_its_requests_and_no_others(recorded, monkeypatch):
    """It stops a job, reads settings in a channel, and starts watchers, also if a missing status is denied."""
    sagemaker, s3, calls = recorded
    statements = statements_of("Control") + statements_of("Start")
    monkeypatch.setenv("START_WATCHERS", "true")
    monkeypatch.setenv("WATCHER_ROLE_ARN", WATCHER_ROLE)
    uploaded = {}
    members = self_managed_request(
        {"OutputDataConfig": {"S3OutputPath": "s3://my-bucket/output"}},
        rules=[Rule.sagemaker(rule_configs.overfit())],
        self_managed=SelfManaged(place="processing", rule_image_uri="my/rules:1", config="channel"),
        upload=uploaded.__setitem__,
    )
    (settings,) = uploaded.values()
    job = {**REQUIRED, "TrainingJobStatus": "InProgress", "RoleArn": WATCHER_ROLE, **members}
    job = {name: value for name, value in job.items() if name != "OutputDataConfig"}
    watcher = "digits-1-watch-01234567"
    watching = {
        "ProcessingJobName": watcher,
        "ProcessingJobArn": f"arn:aws:sagemaker:us-east-1:123456789012:processing-job/{watcher}",
        "ProcessingJobStatus": "Failed",
        "ProcessingResources": {
            "ClusterConfig": {"InstanceCount": 1, "InstanceType": "ml.t3.medium", "VolumeSizeInGB": 10}
        },
        "AppSpecification": {"ImageUri": "my/rules:1", "ContainerArguments": ["--job", "digits-1"]},
        "CreationTime": CREATED,
    }

    def answer_with_settings():
        sagemaker.add_response("describe_training_job", job)
        s3.add_response("get_object", {"Body": io.BytesIO(settings)})

    describe(sagemaker, "InProgress")
    sagemaker.add_response("stop_training_job", {})
    assert control.handler(event(StopRequested=True), None)["Outcome"].startswith("stopped")
    answer_with_settings()
    sagemaker.add_response("create_processing_job", {"ProcessingJobArn": watching["ProcessingJobArn"]})
    started = {"TrainingJobName": "digits-1", "TrainingJobStatus": "InProgress"}
    assert control.handler({"source": "aws.sagemaker", "detail": started}, None)["Outcome"].startswith("watched")
    sagemaker.add_response("describe_processing_job", watching)
    answer_with_settings()
    s3.add_client_error("get_object", "AccessDenied", http_status_code=403)
    s3.add_response("list_objects_v2", {"KeyCount": 0})
    sagemaker.add_response("create_processing_job", {"ProcessingJobArn": watching["ProcessingJobArn"]})
    assert control.handler(ended(watcher), None)["Outcome"].startswith("watched")

    refused, unused = refused_and_unused(calls, statements)
    assert refused == []
    assert {sid for sid, _, _ in unused} == BY_LAMBDA
    assert refused_and_unused(asked_of_key(calls), statements_of("ReaderKey")) == ([], set())


def test_function_when_it_may_not_read_a_status_then_fails(recorded):
    """What is there, but denied, is no missing status; the event is kept, so that somebody looks."""
    _, s3, _ = recorded
    s3.add_client_error("get_object", "AccessDenied", http_status_code=403)
    s3.add_response("list_objects_v2", {"KeyCount": 1})
    with pytest.raises(botocore.exceptions.ClientError, match="AccessDenied"):
        control._read("s3://my-bucket/output/digits-1/self-managed/status.json")


@needs_torch
def test_job_when_a_rule_asks_by_event_then_the_function_stops_it(server, submit, wait_for, sagemaker, monkeypatch):
    """The watcher itself sends no request to SageMaker; the event matches the pattern of the template."""
    for name, value in {
        "AWS_ENDPOINT_URL": server.url,
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    sqs, events = server.client("sqs"), server.client("events")
    url = sqs.create_queue(QueueName="requests")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    pattern = {"source": ["sagemaker-debug-ext"], "detail": {"SelfManaged": {"StopRequested": [True]}}}
    events.put_rule(Name="requests", EventPattern=json.dumps(pattern))
    events.put_targets(Rule="requests", Targets=[{"Id": "queue", "Arn": arn}])
    vanishing = rule_configs.vanishing_gradient()
    rule = Rule.sagemaker(vanishing, actions=StopTraining(), rule_parameters={"threshold": "1e9"})
    members = self_managed_request(
        {"OutputDataConfig": {"S3OutputPath": "s3://my-bucket/output"}},
        rules=[rule, Rule.sagemaker(rule_configs.exploding_tensor())],
        self_managed=SelfManaged(stop="events", poll_seconds=0.2),
    )
    submit("asking", TRAIN, Environment=members["Environment"])
    messages = []
    for _ in range(3):
        messages += sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20).get("Messages", [])
        if messages:
            break
    given = json.loads(messages[0]["Body"])
    assert given["detail"]["ChangedRule"]["RuleConfigurationName"] == "VanishingGradient"
    assert sagemaker.describe_training_job(TrainingJobName="asking")["TrainingJobStatus"] == "InProgress"
    outcomes = [control.handler(given, None)["Outcome"] for _ in range(3)]
    assert outcomes[0] == "stopped: VanishingGradient found an issue"
    assert all(outcome.startswith(("stopped", "left alone: it is Stop")) for outcome in outcomes[1:])
    wait_for("asking", "Stopped")
