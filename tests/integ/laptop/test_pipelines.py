"""Pipelines and service jobs of Batch on the server of this machine."""

from __future__ import annotations

import json
import time

import pytest
from botocore.exceptions import ClientError

ROLE = "arn:aws:iam::123456789012:role/Trainer"
FINAL = ("Succeeded", "Failed", "Stopped")
PREPARE = """
import pathlib, sys
pathlib.Path(sys.argv[1], "data.txt").write_text(sys.argv[2])
"""
TRAIN = """
import os, pathlib, sys
data = pathlib.Path(os.environ["SM_CHANNEL_TRAIN"], "data.txt").read_text()
assert data == "7", data
pathlib.Path(os.environ["SM_MODEL_DIR"], "weights").write_text(data)
print(f"loss={data};")
"""
WAIT = "import time\ntime.sleep(300)"


def processing_step(name, bucket, **members):
    bucket.put_object(Bucket="my-bucket", Key="scripts/prepare.py", Body=PREPARE.encode())
    return {
        "Name": name,
        "Type": "Processing",
        "Arguments": {
            "RoleArn": ROLE,
            "AppSpecification": {
                "ImageUri": "image",
                "ContainerEntrypoint": ["python3", "/opt/ml/processing/input/code/prepare.py"],
                "ContainerArguments": ["/opt/ml/processing/output", {"Get": "Parameters.Number"}],
            },
            "ProcessingInputs": [
                {
                    "InputName": "code",
                    "S3Input": {
                        "S3Uri": "s3://my-bucket/scripts/prepare.py",
                        "LocalPath": "/opt/ml/processing/input/code",
                        "S3DataType": "S3Prefix",
                        "S3InputMode": "File",
                    },
                }
            ],
            "ProcessingOutputConfig": {
                "Outputs": [
                    {
                        "OutputName": "data",
                        "S3Output": {
                            "S3Uri": {
                                "Std:Join": {
                                    "On": "/",
                                    "Values": ["s3://my-bucket/made", {"Get": "Execution.PipelineExecutionId"}],
                                }
                            },
                            "LocalPath": "/opt/ml/processing/output",
                            "S3UploadMode": "EndOfJob",
                        },
                    }
                ]
            },
            "ProcessingResources": {
                "ClusterConfig": {"InstanceCount": 1, "InstanceType": "ml.m5.large", "VolumeSizeInGB": 10}
            },
        },
        **members,
    }


@pytest.fixture
def training_step(bucket, request_of):
    """Return a function that makes a step that trains a script."""

    def make(name, script=TRAIN, **members):
        bucket.put_object(Bucket="my-bucket", Key=f"code/{name}/train.py", Body=script.encode())
        request = request_of(name)
        del request["TrainingJobName"]
        return {"Name": name, "Type": "Training", "Arguments": {**request, **members}}

    return make


@pytest.fixture
def pipeline(sagemaker):
    """Return a function that makes and starts a pipeline, and returns the ARN of its execution."""

    def start(name, *steps, parameters=(), given=()):
        definition = {"Version": "2020-12-01", "Parameters": list(parameters), "Steps": list(steps)}
        sagemaker.create_pipeline(PipelineName=name, PipelineDefinition=json.dumps(definition), RoleArn=ROLE)
        return sagemaker.start_pipeline_execution(PipelineName=name, PipelineParameters=list(given))[
            "PipelineExecutionArn"
        ]

    return start


@pytest.fixture
def ended(sagemaker):
    """Return a function that waits for the end of an execution, and returns its description and steps by name."""

    def wait(arn):
        deadline = time.monotonic() + 120
        while True:
            description = sagemaker.describe_pipeline_execution(PipelineExecutionArn=arn)
            if description["PipelineExecutionStatus"] in FINAL:
                break
            assert time.monotonic() < deadline, description
            time.sleep(0.2)
        steps = sagemaker.list_pipeline_execution_steps(PipelineExecutionArn=arn)["PipelineExecutionSteps"]
        return description, {step["StepName"]: step for step in steps}

    return wait


NUMBER = {"Name": "Number", "Type": "String", "DefaultValue": "1"}


def test_pipeline_when_it_runs_then_steps_use_what_earlier_ones_have_made(
    sagemaker, bucket, training_step, pipeline, ended
):
    """Processing feeds training, whose model feeds a tuning job; parameters and the execution are filled in."""
    data = {"Get": "Steps.Prepare.ProcessingOutputConfig.Outputs['data'].S3Output.S3Uri"}
    source = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": data}}
    train = training_step("Train", InputDataConfig=[{"ChannelName": "train", "DataSource": source}])
    model = {"Get": "Steps.Train.ModelArtifacts.S3ModelArtifacts"}
    source = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": model}}
    again = training_step("Again", "print('loss=1;')", InputDataConfig=[{"ChannelName": "m", "DataSource": source}])
    definition = again["Arguments"]
    definition["StaticHyperParameters"] = definition.pop("HyperParameters")
    definition["AlgorithmSpecification"]["MetricDefinitions"] = [{"Name": "loss", "Regex": "loss=(.*);"}]
    tune = {
        "Name": "Tune",
        "Type": "Tuning",
        "Arguments": {
            "HyperParameterTuningJobConfig": {
                "Strategy": "Random",
                "HyperParameterTuningJobObjective": {"Type": "Minimize", "MetricName": "loss"},
                "ResourceLimits": {"MaxNumberOfTrainingJobs": 1, "MaxParallelTrainingJobs": 1},
                "ParameterRanges": {"CategoricalParameterRanges": [{"Name": "x", "Values": ["1"]}]},
            },
            "TrainingJobDefinition": definition,
        },
    }
    steps = [tune, train, processing_step("Prepare", bucket)]
    arn = pipeline("chain", *steps, parameters=[NUMBER], given=[{"Name": "Number", "Value": "7"}])
    description, found = ended(arn)
    assert description["PipelineExecutionStatus"] == "Succeeded", found
    assert [found[name]["StepStatus"] for name in ("Prepare", "Train", "Tune")] == ["Succeeded"] * 3
    assert found["Prepare"]["EndTime"] <= found["Train"]["StartTime"] <= found["Tune"]["StartTime"]
    job = found["Train"]["Metadata"]["TrainingJob"]["Arn"].rpartition("/")[2]
    assert job.startswith(f"pipelines-{arn.rpartition('/')[2]}-Train-")
    assert sagemaker.describe_training_job(TrainingJobName=job)["TrainingJobStatus"] == "Completed"
    executions = sagemaker.list_pipeline_executions(PipelineName="chain")["PipelineExecutionSummaries"]
    assert [execution["PipelineExecutionArn"] for execution in executions] == [arn]


def test_pipeline_when_a_step_fails_then_those_that_need_it_do_not_run(training_step, pipeline, ended):
    """The others do; the reason names the step."""
    failing = training_step("Failing", "raise ValueError('no data')")
    after = {**training_step("After", ""), "DependsOn": ["Failing"]}
    description, found = ended(pipeline("failing", failing, after, training_step("Other", "")))
    assert description["PipelineExecutionStatus"] == "Failed"
    assert description["FailureReason"] == "Step failure: Failing"
    assert found.keys() == {"Failing", "Other"}
    assert found["Other"]["StepStatus"] == "Succeeded"
    assert "ValueError: no data" in found["Failing"]["FailureReason"]


def test_pipeline_when_a_request_is_refused_then_its_step_fails(training_step, pipeline, ended):
    """With the reason that CreateTrainingJob gives."""
    step = training_step("Wrong", "", Environment={"A": "a" * 513})
    _, found = ended(pipeline("wrong", step))
    assert "Environment.A: must have at most 512 characters" in found["Wrong"]["FailureReason"]


def test_pipeline_when_it_is_stopped_then_its_jobs_are_stopped(sagemaker, training_step, pipeline, ended):
    """An ended execution cannot be stopped."""
    arn = pipeline("endless", training_step("Endless", WAIT))
    while not any("Metadata" in step for step in _steps(sagemaker, arn)):
        time.sleep(0.1)
    sagemaker.stop_pipeline_execution(PipelineExecutionArn=arn, ClientRequestToken="t" * 32)
    description, found = ended(arn)
    assert description["PipelineExecutionStatus"] == "Stopped"
    assert found["Endless"]["StepStatus"] == "Stopped"
    with pytest.raises(ClientError, match="this one is Stopped"):
        sagemaker.stop_pipeline_execution(PipelineExecutionArn=arn, ClientRequestToken="t" * 32)


def _steps(sagemaker, arn):
    return sagemaker.list_pipeline_execution_steps(PipelineExecutionArn=arn)["PipelineExecutionSteps"]


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([{"Name": "C", "Type": "Condition", "Arguments": {}}], "step 'C' has the type 'Condition'"),
        (
            [{"Name": "A", "Type": "Training", "DependsOn": ["B"], "Arguments": {}}],
            "'A' needs 'B', which does not exist",
        ),
        (
            [
                {"Name": "A", "Type": "Training", "Arguments": {"x": {"Get": "Steps.B.x"}}},
                {"Name": "B", "Type": "Training", "DependsOn": ["A"], "Arguments": {}},
            ],
            "CycleError",
        ),
    ],
    ids=["type", "missing", "circle"],
)
def test_pipeline_when_it_cannot_run_then_is_refused(pipeline, steps, message):
    """Before anything is started."""
    with pytest.raises(ClientError, match=message):
        pipeline("refused", *steps)


def test_pipeline_when_a_parameter_is_wrong_then_its_execution_is_refused(sagemaker, training_step, pipeline):
    """It must be one of the pipeline, and have its type; a pipeline can be changed."""
    epochs = {"Name": "Epochs", "Type": "Integer"}
    with pytest.raises(ClientError, match="Epochs must be given"):
        pipeline("numbers", training_step("Numbers", ""), parameters=[epochs])
    for name, value, message in (("Epochs", "many", "wrong value"), ("Epoch", "1", "no parameter of the pipeline")):
        with pytest.raises(ClientError, match=message):
            sagemaker.start_pipeline_execution(
                PipelineName="numbers", PipelineParameters=[{"Name": name, "Value": value}]
            )
    with pytest.raises(ClientError, match="must be unique"):
        sagemaker.create_pipeline(PipelineName="numbers", PipelineDefinition='{"Steps": []}', RoleArn=ROLE)
    sagemaker.update_pipeline(PipelineName="numbers", PipelineDefinition='{"Steps": []}')
    assert sagemaker.describe_pipeline(PipelineName="numbers")["PipelineDefinition"] == '{"Steps": []}'
    assert [one["PipelineName"] for one in sagemaker.list_pipelines(PipelineNamePrefix="num")["PipelineSummaries"]]
    sagemaker.delete_pipeline(PipelineName="numbers")
    with pytest.raises(ClientError, match="not found"):
        sagemaker.describe_pipeline(PipelineName="numbers")


@pytest.fixture
def batch(server):
    """A client of Batch."""
    return server.client("batch")


def submit_service_job(batch, bucket, request_of, name, script):
    bucket.put_object(Bucket="my-bucket", Key=f"code/{name}/train.py", Body=script.encode())
    return batch.submit_service_job(
        jobName=name,
        jobQueue="queue",
        serviceJobType="SAGEMAKER_TRAINING",
        serviceRequestPayload=json.dumps(request_of(name)),
    )["jobId"]


def test_service_job_when_submitted_then_is_a_training_job(server, batch, bucket, request_of, wait_for):
    """Its description follows that of the training job."""
    identifier = submit_service_job(batch, bucket, request_of, "queued", "print('trained')")
    wait_for("queued", "Completed")
    job = batch.describe_service_job(jobId=identifier)
    assert job["status"] == "SUCCEEDED"
    assert job["latestAttempt"]["serviceResourceId"]["value"].endswith(":training-job/queued")
    assert job["stoppedAt"] >= job["startedAt"] >= job["createdAt"] > 0
    found = batch.list_service_jobs(jobQueue="queue", jobStatus="SUCCEEDED")["jobSummaryList"]
    assert identifier in [one["jobId"] for one in found]


def test_service_job_when_terminated_then_has_failed(batch, bucket, request_of, wait_for):
    """Batch knows no other end of a job that was stopped."""
    identifier = submit_service_job(batch, bucket, request_of, "terminated", WAIT)
    wait_for("terminated", "InProgress")
    batch.terminate_service_job(jobId=identifier, reason="enough")
    wait_for("terminated", "Stopped")
    job = batch.describe_service_job(jobId=identifier)
    assert (job["status"], job["statusReason"]) == ("FAILED", "the training job was stopped")


def test_service_job_when_its_request_is_wrong_then_is_refused(batch):
    """With the reason that CreateTrainingJob gives."""
    with pytest.raises(ClientError, match="RoleArn: must be given") as caught:
        batch.submit_service_job(
            jobName="wrong", jobQueue="queue", serviceJobType="SAGEMAKER_TRAINING", serviceRequestPayload="{}"
        )
    assert caught.value.response["Error"]["Code"] == "ClientException"
    with pytest.raises(ClientError, match="jobId must be that of a service job"):
        batch.describe_service_job(jobId="unknown")
