"""Jobs that are submitted with boto3 to the server of this machine."""

from __future__ import annotations

import ctypes
import io
import json
import os
import signal
import tarfile
import urllib.request

import pytest
from botocore.exceptions import ClientError

FINAL = ("Completed", "Failed", "Stopped")
SAVE_MODEL = """
import os, pathlib, sys
print("training", os.environ["EPOCHS"])
print("careful", file=sys.stderr)
data = pathlib.Path(os.environ["SM_CHANNEL_TRAIN"])
content = "".join(path.read_text() for path in sorted(data.iterdir()))
pathlib.Path(os.environ["SM_MODEL_DIR"], "weights").write_text(content)
"""
WAIT = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
print("ready", flush=True)
time.sleep(300)
"""
CHANNEL = {
    "ChannelName": "train",
    "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://my-bucket/data/digits"}},
}


def error_of(call, **arguments):
    with pytest.raises(ClientError) as caught:
        call(**arguments)
    return caught.value.response["Error"]


def test_job_when_it_completes_then_model_logs_and_description_are_those_of_sagemaker(
    server, bucket, submit, wait_for, sagemaker
):
    """Inputs come from S3, outputs go there, and what the script prints goes to the logs."""
    for number in range(2):
        bucket.put_object(Bucket="my-bucket", Key=f"data/digits/{number}.txt", Body=f"part {number};".encode())
    submit("complete", SAVE_MODEL, Environment={"EPOCHS": "3"}, InputDataConfig=[CHANNEL])
    description = wait_for("complete", *FINAL)
    assert description["TrainingJobStatus"] == "Completed", description["FailureReason"]
    assert description["Environment"] == {"EPOCHS": "3"}
    assert description["TrainingEndTime"] >= description["TrainingStartTime"]
    model = description["ModelArtifacts"]["S3ModelArtifacts"]
    assert model == "s3://my-bucket/output/complete/output/model.tar.gz"
    body = bucket.get_object(Bucket="my-bucket", Key="output/complete/output/model.tar.gz")["Body"].read()
    with tarfile.open(fileobj=io.BytesIO(body)) as archive:
        assert archive.extractfile("weights").read() == b"part 0;part 1;"
    logs = server.client("logs")
    group = "/aws/sagemaker/TrainingJobs"
    streams = logs.describe_log_streams(logGroupName=group, logStreamNamePrefix="complete/")["logStreams"]
    assert streams[0]["logStreamName"].startswith("complete/algo-1-")
    events = logs.get_log_events(logGroupName=group, logStreamName=streams[0]["logStreamName"])["events"]
    assert sorted(event["message"] for event in events) == ["careful", "training 3"]


def test_job_when_it_is_stopped_then_is_stopped(submit, wait_for, sagemaker):
    """A second stop is refused, as the service does."""
    submit("stopped", WAIT)
    wait_for("stopped", "InProgress")
    sagemaker.stop_training_job(TrainingJobName="stopped")
    assert wait_for("stopped", *FINAL)["TrainingJobStatus"] == "Stopped"
    error = error_of(sagemaker.stop_training_job, TrainingJobName="stopped")
    assert error["Code"] == "ValidationException"
    assert "Stopped" in error["Message"]


def test_job_when_its_script_fails_then_the_reason_is_given(submit, wait_for):
    """The last lines of the error output."""
    submit("failing", "raise ValueError('no data')")
    description = wait_for("failing", *FINAL)
    assert description["TrainingJobStatus"] == "Failed"
    assert "ValueError: no data" in description["FailureReason"]


@pytest.mark.parametrize(
    ("members", "code", "message"),
    [
        ({"RoleArn": "nobody-in-particular-at-all"}, "ValidationException", "RoleArn: must match"),
        ({"Environment": {"A": "a" * 513}}, "ValidationException", "Environment.A: must have at most 512 characters"),
        (
            {"Environment": {f"V{number}": "" for number in range(101)}},
            "ValidationException",
            "Environment: must have at most 100 entries",
        ),
        ({"HyperParameters": {}}, "ValidationException", "must hold 'sagemaker_program'"),
        (
            {"InputDataConfig": [{**CHANNEL, "ChannelName": f"c{number}"} for number in range(21)]},
            "ValidationException",
            "InputDataConfig: must have at most 20 items",
        ),
        (
            {"DebugHookConfig": {"S3OutputPath": "s3://my-bucket/output"}},
            "ValidationException",
            "DebugHookConfig: this server has no Debugger",
        ),
    ],
    ids=["role", "value", "variables", "program", "channels", "debugger"],
)
def test_request_when_sagemaker_would_refuse_it_then_is_refused(sagemaker, request_of, members, code, message):
    """With the member and the limit; nothing is left of the job."""
    error = error_of(sagemaker.create_training_job, **request_of("refused", **members))
    assert error["Code"] == code
    assert message in error["Message"]
    assert not sagemaker.list_training_jobs(NameContains="refused")["TrainingJobSummaries"]


def test_request_when_its_channel_has_no_data_then_is_refused(submit):
    """The message names the location."""
    missing = {"S3DataType": "S3Prefix", "S3Uri": "s3://my-bucket/missing"}
    with pytest.raises(ClientError, match="has no data: nothing exists at 's3://my-bucket/missing'"):
        submit("missing", WAIT, InputDataConfig=[{"ChannelName": "train", "DataSource": {"S3DataSource": missing}}])


def test_name_when_it_is_in_use_then_is_refused(submit, wait_for):
    """Also after the job has ended."""
    submit("twice", "")
    wait_for("twice", *FINAL)
    with pytest.raises(ClientError, match="'twice' already exists") as caught:
        submit("twice", "")
    assert caught.value.response["Error"]["Code"] == "ResourceInUse"


def test_describe_when_there_is_no_such_job_then_says_so(sagemaker):
    """With the code and the words of the service."""
    error = error_of(sagemaker.describe_training_job, TrainingJobName="unknown")
    assert error["Code"] == "ValidationException"
    assert error["Message"].startswith("Requested resource not found")


def test_list_when_filtered_then_pages_hold_all_jobs_in_order(submit, wait_for, sagemaker):
    """Filters, order and tokens are those of the API."""
    names = [submit(f"listed-{number}", "") for number in range(3)]
    for name in names:
        wait_for(name, "Completed")
    paginator = sagemaker.get_paginator("list_training_jobs")
    options = {"NameContains": "LISTED", "StatusEquals": "Completed", "SortBy": "Name", "SortOrder": "Ascending"}
    pages = list(paginator.paginate(**options, PaginationConfig={"PageSize": 2}))
    assert [len(page["TrainingJobSummaries"]) for page in pages] == [2, 1]
    assert [job["TrainingJobName"] for page in pages for job in page["TrainingJobSummaries"]] == names
    since = sagemaker.describe_training_job(TrainingJobName="listed-1")["CreationTime"]
    newer = sagemaker.list_training_jobs(NameContains="listed", CreationTimeAfter=since)["TrainingJobSummaries"]
    assert [job["TrainingJobName"] for job in newer] == ["listed-2", "listed-1"]
    assert error_of(sagemaker.list_training_jobs, NextToken="x")["Code"] == "ValidationException"


def test_status_when_it_changes_then_an_event_reaches_a_queue(server, submit, wait_for):
    """Rules of EventBridge see the events that SageMaker sends."""
    sqs, events = server.client("sqs"), server.client("events")
    url = sqs.create_queue(QueueName="states")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    pattern = {"source": ["aws.sagemaker"], "detail": {"TrainingJobStatus": ["Completed"]}}
    events.put_rule(Name="states", EventPattern=json.dumps(pattern))
    events.put_targets(Rule="states", Targets=[{"Id": "queue", "Arn": arn}])
    submit("reported", "")
    wait_for("reported", "Completed")
    messages = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)["Messages"]
    event = json.loads(messages[0]["Body"])
    assert event["detail-type"] == "SageMaker Training Job State Change"
    assert event["detail"]["TrainingJobName"] == "reported"


def test_role_when_it_is_checked_then_is_allowed_everything(server):
    """SDK v3 asks IAM before it submits."""
    answer = server.client("iam").simulate_principal_policy(
        PolicySourceArn="arn:aws:iam::123456789012:role/Trainer", ActionNames=["s3:PutObject", "s3:GetObject"]
    )
    decisions = {result["EvalActionName"]: result["EvalDecision"] for result in answer["EvaluationResults"]}
    assert decisions == {"s3:PutObject": "allowed", "s3:GetObject": "allowed"}


def test_request_when_it_is_no_json_then_is_refused(server):
    """Whoever speaks the protocol badly gets an answer, too."""
    call = urllib.request.Request(
        server.url, b"no JSON", headers={"X-Amz-Target": "SageMaker.CreateTrainingJob"}, method="POST"
    )
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(call)
    with caught.value as response:
        assert json.loads(response.read())["__type"] == "SerializationException"


def interrupt(process):
    """Send SIGINT to another thread than the main one, as the system may do with a Ctrl-C.

    It is the oldest one, because a thread that ends takes the signal with it.
    """
    _, oldest, *_ = sorted(int(name) for name in os.listdir(f"/proc/{process.pid}/task"))
    call = ctypes.CDLL(None, use_errno=True)
    assert call.tgkill(process.pid, oldest, signal.SIGINT) == 0, os.strerror(ctypes.get_errno())


def test_server_when_it_is_restarted_then_knows_jobs_and_objects(start_server, submit, wait_for):
    """A running job is stopped with the server."""
    first = start_server()
    s3 = first.client("s3")
    s3.create_bucket(Bucket="my-bucket")
    submit("kept", "print('done')", client=first.client("sagemaker"), s3=s3)
    wait_for("kept", "Completed", client=first.client("sagemaker"))
    submit("running", WAIT, client=first.client("sagemaker"), s3=s3)
    interrupt(first.process)
    assert first.process.wait(60) == 130
    second = start_server(work_dir=first.folder)
    found = second.client("s3").list_objects_v2(Bucket="my-bucket")["Contents"]
    assert "code/kept/train.py" in [item["Key"] for item in found]
    described = second.client("sagemaker")
    assert described.describe_training_job(TrainingJobName="kept")["TrainingJobStatus"] == "Completed"
    assert described.describe_training_job(TrainingJobName="running")["TrainingJobStatus"] == "Stopped"


def test_server_when_its_port_is_taken_then_says_so(server, run_script):
    """The message names the address."""
    port = server.url.rpartition(":")[2]
    report = run_script("", "--port", port)
    assert report.returncode == 2
    assert f"cannot listen at 127.0.0.1:{port}" in report.stderr


def test_script_when_it_asks_for_its_account_then_is_answered_here(run_script):
    """STS gets its address from the SageMaker SDKs, whatever the environment says."""
    report = run_script(
        """
import boto3
client = boto3.client("sts", endpoint_url="https://sts.us-east-1.amazonaws.com")
print(client.get_caller_identity()["Account"])
"""
    )
    assert report.stdout.splitlines()[0] == "123456789012", report.stderr


def test_script_when_it_asks_who_it_is_then_is_a_role(run_script):
    """`sagemaker.get_execution_role()` refuses users; a role that the script assumes keeps its own identity."""
    report = run_script(
        """
import boto3
client = boto3.client("sts")
print(client.get_caller_identity()["Arn"])
role = "arn:aws:iam::123456789012:role/Other"
keys = client.assume_role(RoleArn=role, RoleSessionName="session")["Credentials"]
other = boto3.client(
    "sts", aws_access_key_id=keys["AccessKeyId"], aws_secret_access_key=keys["SecretAccessKey"],
    aws_session_token=keys["SessionToken"],
)
print(other.get_caller_identity()["Arn"])
"""
    )
    own, other = report.stdout.splitlines()[:2]
    assert own == "arn:aws:sts::123456789012:assumed-role/AmazonSageMaker-ExecutionRole-laptop/laptop", report.stderr
    assert other == "arn:aws:sts::123456789012:assumed-role/Other/session"


def test_script_when_it_fails_then_its_exit_status_is_that_of_the_command(run_script):
    """So that a pipeline of checks stops there."""
    assert run_script("import sys; sys.exit(7)").returncode == 7


def test_script_when_it_does_not_exist_then_says_so(run_script, tmp_path):
    """No server is started."""
    report = run_script("", "run", str(tmp_path / "missing.py"))
    assert report.returncode == 2
    assert "script must be an existing Python file" in report.stderr
