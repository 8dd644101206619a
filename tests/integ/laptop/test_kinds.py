"""Processing and tuning jobs on the server of this machine, and changes of training jobs."""

from __future__ import annotations

import json
import time

import pytest
from botocore.exceptions import ClientError

FINAL = ("Completed", "Failed", "Stopped")
ROLE = "arn:aws:iam::123456789012:role/Trainer"
PROCESS = """
import json, os, pathlib, sys
root = pathlib.Path(sys.argv[1])
config = json.loads((root.parent / "config" / "processingjobconfig.json").read_text())
print("processing", config["ProcessingJobName"], os.environ["FACTOR"])
total = sum(float(path.read_text()) for path in (root / "input" / "data").rglob("*.txt"))
(root / "output" / "sum.txt").write_text(str(total * float(os.environ["FACTOR"])))
(root.parent / "output" / "message").write_text("summed")
if total > 50:
    sys.exit("too much")
"""
TUNED = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
parser.add_argument("--depth", type=int)
parser.add_argument("--kind")
arguments = parser.parse_args()
assert arguments.kind in ("a", "b"), arguments
print(f"loss={arguments.lr + arguments.depth:.6f};")
"""
WAIT = "import time\nprint('ready', flush=True)\ntime.sleep(300)"


@pytest.fixture
def wait_until():
    """Return a function that waits until a description has one of some statuses, and returns it."""

    def wait(describe, member, *statuses):
        deadline = time.monotonic() + 120
        while (description := describe())[member] not in statuses:
            assert time.monotonic() < deadline, description
            time.sleep(0.2)
        return description

    return wait


@pytest.fixture
def process(bucket, sagemaker, wait_until):
    """Return a function that runs a script as a processing job, and returns a function that describes it."""

    def run(name, script, inputs, **members):
        bucket.put_object(Bucket="my-bucket", Key=f"scripts/{name}/run.py", Body=script.encode())
        sources = {"code": f"scripts/{name}/run.py", **inputs}
        sagemaker.create_processing_job(
            ProcessingJobName=name,
            RoleArn=ROLE,
            AppSpecification={
                "ImageUri": "image",
                "ContainerEntrypoint": ["python3", "/opt/ml/processing/input/code/run.py"],
                "ContainerArguments": ["/opt/ml/processing"],
            },
            ProcessingInputs=[
                {
                    "InputName": name,
                    "S3Input": {
                        "S3Uri": f"s3://my-bucket/{key}",
                        "LocalPath": f"/opt/ml/processing/input/{name}",
                        "S3DataType": "S3Prefix",
                        "S3InputMode": "File",
                    },
                }
                for name, key in sources.items()
            ],
            ProcessingOutputConfig={
                "Outputs": [
                    {
                        "OutputName": "sum",
                        "S3Output": {
                            "S3Uri": f"s3://my-bucket/results/{name}",
                            "LocalPath": "/opt/ml/processing/output",
                            "S3UploadMode": "EndOfJob",
                        },
                    }
                ]
            },
            ProcessingResources={
                "ClusterConfig": {"InstanceCount": 1, "InstanceType": "ml.m5.large", "VolumeSizeInGB": 10}
            },
            Environment={"FACTOR": "2"},
            **members,
        )
        return lambda: sagemaker.describe_processing_job(ProcessingJobName=name)

    return run


def test_processing_job_when_it_completes_then_outputs_logs_and_message_are_there(server, bucket, process, wait_until):
    """Inputs are copied into the container, outputs are uploaded, and lines are logged."""
    for number in range(3):
        bucket.put_object(Bucket="my-bucket", Key=f"numbers/{number}.txt", Body=b"7")
    bucket.put_object(Bucket="my-bucket", Key="numbers-of-others/0.txt", Body=b"1000")
    describe = process("sum", PROCESS, {"data": "numbers"})
    description = wait_until(describe, "ProcessingJobStatus", *FINAL)
    assert description["ProcessingJobStatus"] == "Completed", description
    assert description["ExitMessage"] == "summed"
    assert description["ProcessingEndTime"] >= description["ProcessingStartTime"]
    assert bucket.get_object(Bucket="my-bucket", Key="results/sum/sum.txt")["Body"].read() == b"42.0"
    logs = server.client("logs")
    group = "/aws/sagemaker/ProcessingJobs"
    stream = logs.describe_log_streams(logGroupName=group, logStreamNamePrefix="sum/")["logStreams"][0]
    events = logs.get_log_events(logGroupName=group, logStreamName=stream["logStreamName"])["events"]
    assert [event["message"] for event in events] == ["processing sum 2"]
    found = server.client("sagemaker").list_processing_jobs(NameContains="SUM")["ProcessingJobSummaries"]
    assert [job["ProcessingJobStatus"] for job in found] == ["Completed"]


def test_processing_job_when_it_fails_then_the_reason_is_given(bucket, process, wait_until):
    """The exit message is the reason, as on the service."""
    bucket.put_object(Bucket="my-bucket", Key="large/0.txt", Body=b"70")
    description = wait_until(process("large", PROCESS, {"data": "large"}), "ProcessingJobStatus", *FINAL)
    assert description["ProcessingJobStatus"] == "Failed"
    assert description["FailureReason"] == "AlgorithmError: exit code 1\nsummed"


def test_processing_job_when_an_input_has_no_data_then_fails(process, wait_until):
    """The reason names the location."""
    description = wait_until(process("empty", PROCESS, {"data": "nowhere"}), "ProcessingJobStatus", *FINAL)
    assert "nothing exists at 's3://my-bucket/nowhere'" in description["FailureReason"]


def test_processing_job_when_it_is_stopped_or_too_slow_then_is_stopped(process, wait_until, sagemaker):
    """A second stop is refused."""
    describe = process("waiting", WAIT, {})
    wait_until(describe, "ProcessingJobStatus", "InProgress")
    sagemaker.stop_processing_job(ProcessingJobName="waiting")
    assert wait_until(describe, "ProcessingJobStatus", *FINAL)["ProcessingJobStatus"] == "Stopped"
    with pytest.raises(ClientError, match="processing job is Stopped"):
        sagemaker.stop_processing_job(ProcessingJobName="waiting")
    slow = process("slow", WAIT, {}, StoppingCondition={"MaxRuntimeInSeconds": 1})
    assert "longer than 1 seconds" in wait_until(slow, "ProcessingJobStatus", *FINAL)["FailureReason"]


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"Environment": {"A": "a" * 257}}, "Environment.A: must have at most 256 characters"),
        ({"AppSpecification": {"ImageUri": "image"}}, "must have a ContainerEntrypoint"),
    ],
    ids=["value", "image"],
)
def test_processing_request_when_it_cannot_run_then_is_refused(sagemaker, members, message):
    """With the member and the limit."""
    resources = {"ClusterConfig": {"InstanceCount": 1, "InstanceType": "ml.m5.large", "VolumeSizeInGB": 10}}
    request = {
        "ProcessingJobName": "refused",
        "RoleArn": ROLE,
        "AppSpecification": {"ImageUri": "image", "ContainerEntrypoint": ["true"]},
        "ProcessingResources": resources,
        **members,
    }
    with pytest.raises(ClientError, match=message):
        sagemaker.create_processing_job(**request)


@pytest.fixture
def tuning_request(bucket, request_of):
    """Return a function that makes the request of a tuning job of a script."""

    def make(name, script=TUNED, **limits):
        bucket.put_object(Bucket="my-bucket", Key=f"code/{name}/train.py", Body=script.encode())
        request = request_of(name)
        definition = {
            **{key: request[key] for key in ("RoleArn", "OutputDataConfig", "ResourceConfig", "StoppingCondition")},
            "AlgorithmSpecification": {
                **request["AlgorithmSpecification"],
                "MetricDefinitions": [{"Name": "loss", "Regex": "loss=([0-9.]+);"}],
            },
            "StaticHyperParameters": request["HyperParameters"],
        }
        return {
            "HyperParameterTuningJobName": name,
            "HyperParameterTuningJobConfig": {
                "Strategy": "Random",
                "RandomSeed": 1,
                "HyperParameterTuningJobObjective": {"Type": "Minimize", "MetricName": "loss"},
                "ResourceLimits": {"MaxNumberOfTrainingJobs": 4, "MaxParallelTrainingJobs": 2, **limits},
                "ParameterRanges": {
                    "ContinuousParameterRanges": [
                        {"Name": "lr", "MinValue": "0.001", "MaxValue": "0.1", "ScalingType": "Logarithmic"}
                    ],
                    "IntegerParameterRanges": [{"Name": "depth", "MinValue": "1", "MaxValue": "8"}],
                    "CategoricalParameterRanges": [{"Name": "kind", "Values": ['"a"', '"b"']}],
                },
            },
            "TrainingJobDefinition": definition,
        }

    return make


def test_tuning_job_when_it_completes_then_names_the_best_of_its_jobs(sagemaker, tuning_request, wait_until):
    """The objective is read from the printed lines; each job knows its tuning job."""
    arn = sagemaker.create_hyper_parameter_tuning_job(**tuning_request("search"))["HyperParameterTuningJobArn"]
    describe = lambda: sagemaker.describe_hyper_parameter_tuning_job(HyperParameterTuningJobName="search")  # noqa: E731
    description = wait_until(describe, "HyperParameterTuningJobStatus", *FINAL)
    assert description["HyperParameterTuningJobStatus"] == "Completed", description
    assert description["TrainingJobStatusCounters"]["Completed"] == 4
    assert description["ObjectiveStatusCounters"] == {"Succeeded": 4, "Pending": 0, "Failed": 0}
    paginator = sagemaker.get_paginator("list_training_jobs_for_hyper_parameter_tuning_job")
    pages = paginator.paginate(
        HyperParameterTuningJobName="search", SortBy="FinalObjectiveMetricValue", PaginationConfig={"PageSize": 3}
    )
    jobs = [job for page in pages for job in page["TrainingJobSummaries"]]
    values = [job["FinalHyperParameterTuningJobObjectiveMetric"]["Value"] for job in jobs]
    tuned = [job["TunedHyperParameters"] for job in jobs]
    assert values == sorted(values)
    assert values == [pytest.approx(float(one["lr"]) + int(one["depth"]), abs=1e-5) for one in tuned]
    assert len({json.dumps(one) for one in tuned}) == 4
    assert description["BestTrainingJob"]["TrainingJobName"] == jobs[0]["TrainingJobName"]
    assert sagemaker.describe_training_job(TrainingJobName=jobs[0]["TrainingJobName"])["TuningJobArn"] == arn


def test_tuning_job_when_it_is_stopped_then_its_jobs_are_stopped(sagemaker, tuning_request, wait_until):
    """No further job is started."""
    sagemaker.create_hyper_parameter_tuning_job(**tuning_request("endless", WAIT, MaxParallelTrainingJobs=1))
    list_jobs = lambda: sagemaker.list_training_jobs_for_hyper_parameter_tuning_job(  # noqa: E731
        HyperParameterTuningJobName="endless"
    )["TrainingJobSummaries"]
    wait_until(lambda: {"count": len(list_jobs())}, "count", 1)
    sagemaker.stop_hyper_parameter_tuning_job(HyperParameterTuningJobName="endless")
    describe = lambda: sagemaker.describe_hyper_parameter_tuning_job(HyperParameterTuningJobName="endless")  # noqa: E731
    assert wait_until(describe, "HyperParameterTuningJobStatus", *FINAL)["HyperParameterTuningJobStatus"] == "Stopped"
    assert [job["TrainingJobStatus"] for job in list_jobs()] == ["Stopped"]


def test_tuning_job_when_all_jobs_fail_then_fails(sagemaker, tuning_request, wait_until):
    """The counters tell of the failures."""
    request = tuning_request("hopeless", "raise SystemExit('no')", MaxNumberOfTrainingJobs=2)
    sagemaker.create_hyper_parameter_tuning_job(**request)
    describe = lambda: sagemaker.describe_hyper_parameter_tuning_job(HyperParameterTuningJobName="hopeless")  # noqa: E731
    description = wait_until(describe, "HyperParameterTuningJobStatus", *FINAL)
    assert description["FailureReason"] == "all training jobs failed"
    assert description["TrainingJobStatusCounters"]["NonRetryableError"] == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda request: request["TrainingJobDefinition"].update(Environment={f"V{n}": "" for n in range(49)}),
            "TrainingJobDefinition.Environment: must have at most 48 entries",
        ),
        (
            lambda request: request["TrainingJobDefinition"]["AlgorithmSpecification"].pop("MetricDefinitions"),
            "MetricDefinitions must define the objective 'loss'",
        ),
        (lambda request: request["HyperParameterTuningJobConfig"].update(Strategy="Grid"), "needs categorical ranges"),
    ],
    ids=["variables", "metric", "grid"],
)
def test_tuning_request_when_it_cannot_run_then_is_refused(sagemaker, tuning_request, change, message):
    """With the member and the limit."""
    request = tuning_request("refused")
    change(request)
    with pytest.raises(ClientError, match=message):
        sagemaker.create_hyper_parameter_tuning_job(**request)


def test_running_job_when_it_is_updated_then_its_description_and_file_follow(sagemaker, server, submit, wait_for):
    """Resources and profiler change while the job runs; an ended job is left as it is, and may be deleted."""
    submit("updated", WAIT, ProfilerConfig={"S3OutputPath": "s3://my-bucket/p", "ProfilingIntervalInMilliseconds": 500})
    wait_for("updated", "InProgress")
    sagemaker.update_training_job(
        TrainingJobName="updated",
        ProfilerConfig={"ProfilingIntervalInMilliseconds": 1000},
        ResourceConfig={"KeepAlivePeriodInSeconds": 60},
    )
    description = sagemaker.describe_training_job(TrainingJobName="updated")
    assert description["ProfilerConfig"] == {
        "S3OutputPath": "s3://my-bucket/p",
        "ProfilingIntervalInMilliseconds": 1000,
    }
    assert description["ResourceConfig"]["KeepAlivePeriodInSeconds"] == 60
    assert description["ResourceConfig"]["InstanceType"] == "ml.m5.large"
    file = server.folder / "jobs" / "updated" / "opt" / "ml" / "input" / "config" / "profilerconfig.json"
    assert json.loads(file.read_text())["ProfilingIntervalInMilliseconds"] == 1000
    with pytest.raises(ClientError, match="job is InProgress"):
        sagemaker.delete_training_job(TrainingJobName="updated")
    sagemaker.stop_training_job(TrainingJobName="updated")
    wait_for("updated", "Stopped")
    with pytest.raises(ClientError, match="job is Stopped"):
        sagemaker.update_training_job(TrainingJobName="updated", RemoteDebugConfig={"EnableRemoteDebug": True})
    sagemaker.delete_training_job(TrainingJobName="updated")
    with pytest.raises(ClientError, match="not found"):
        sagemaker.describe_training_job(TrainingJobName="updated")
