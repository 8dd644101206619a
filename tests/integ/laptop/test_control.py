"""The function of the template on this machine: it starts the watchers of jobs, and those that follow."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import time

import boto3
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
from sagemaker_debug_ext.config.job_spec import decode_job_spec
from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.requests.processing import watcher_job_of, watcher_job_request
from sagemaker_debug_ext.sdk import attach_debugger
from sagemaker_debug_ext.template import control, render_template
from support.laptop import OBSTINATE, TRAIN

pytestmark = pytest.mark.skipif(importlib.util.find_spec("xgboost") is None, reason="needs XGBoost")

ROLE = "arn:aws:iam::123456789012:role/Watcher"
HOOK = DebuggerHookConfig(collection_configs=[CollectionConfig("trees", {"save_interval": "5"})])
OPTIONS = SelfManaged(place="processing", rule_image_uri="my/rules:1", poll_seconds=0.5, events=False)


def settings_of(depth="0"):
    rule = Rule.sagemaker(rule_configs.tree_depth(), rule_parameters={"depth": depth}, actions=StopTraining())
    return {"debugger_hook_config": HOOK, "rules": [rule]}


def environment_of(depth="100", **changes):
    request = {"OutputDataConfig": {"S3OutputPath": "s3://my-bucket/output"}}
    options = {"place": "processing", "rule_image_uri": "my/rules:1", "poll_seconds": 0.5, "events": False, **changes}
    made = self_managed_request(request, **settings_of(depth), self_managed=SelfManaged(**options))
    return made["Environment"]


@pytest.fixture
def own_clients(server, monkeypatch):
    """Clients of this process, and the function in it, talk to the server."""
    for name, value in {
        "AWS_ENDPOINT_URL": server.url,
        "AWS_ACCESS_KEY_ID": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "AWS_DEFAULT_REGION": "us-east-1",
        "START_WATCHERS": "true",
        "WATCHER_ROLE_ARN": ROLE,
    }.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def stack(server):
    """A stack of the template that starts watchers."""
    parameters = {"Bucket": "my-bucket", "StartWatchers": "true", "WatcherRoleName": "Watcher"}
    listed = [{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()]
    cloudformation = server.client("cloudformation")
    cloudformation.create_stack(StackName="starting", TemplateBody=render_template(), Parameters=listed)
    yield
    cloudformation.delete_stack(StackName="starting")


@pytest.fixture
def watchers_of(sagemaker):
    """Return a function that waits until the watchers of jobs have ended, and returns their descriptions."""

    def wait(*names):
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            listed = sagemaker.list_processing_jobs(MaxResults=100)["ProcessingJobSummaries"]
            jobs = [
                sagemaker.describe_processing_job(ProcessingJobName=job["ProcessingJobName"])
                for job in listed
                if job["ProcessingJobName"].rpartition("-watch-")[0] in names
            ]
            if len(jobs) >= len(names) and all(job["ProcessingJobStatus"] != "InProgress" for job in jobs):
                return jobs
            time.sleep(0.5)
        raise AssertionError(jobs)

    return wait


def training_event(name, status):
    return {"source": "aws.sagemaker", "detail": {"TrainingJobName": name, "TrainingJobStatus": status}}


def watcher_event(name, status):
    return {"source": "aws.sagemaker", "detail": {"ProcessingJobName": name, "ProcessingJobStatus": status}}


PIPELINE = {
    "Version": "2020-12-01",
    "Parameters": [],
    "Steps": [{"Name": "Train", "Type": "Training", "Arguments": {}}],
}


def tune(sagemaker, request):
    """Start a tuning job; return the names of its jobs."""
    definition = {name: value for name, value in request.items() if name not in ("TrainingJobName", "HyperParameters")}
    sagemaker.create_hyper_parameter_tuning_job(
        HyperParameterTuningJobName="tuned",
        HyperParameterTuningJobConfig={
            "Strategy": "Random",
            "HyperParameterTuningJobObjective": {"Type": "Minimize", "MetricName": "loss"},
            "ResourceLimits": {"MaxNumberOfTrainingJobs": 2, "MaxParallelTrainingJobs": 2},
            "ParameterRanges": {"ContinuousParameterRanges": [{"Name": "eta", "MinValue": "0.1", "MaxValue": "0.5"}]},
        },
        TrainingJobDefinition={
            **definition,
            "AlgorithmSpecification": {
                **definition["AlgorithmSpecification"],
                "MetricDefinitions": [{"Name": "loss", "Regex": "loss=(.*);"}],
            },
            "StaticHyperParameters": request["HyperParameters"],
        },
    )
    while True:
        found = sagemaker.list_training_jobs_for_hyper_parameter_tuning_job(HyperParameterTuningJobName="tuned")
        names = [job["TrainingJobName"] for job in found["TrainingJobSummaries"]]
        if len(names) == 2:
            return names
        time.sleep(0.2)


def run_pipeline(sagemaker, request):
    """Start a pipeline; return the name of its job."""
    arguments = {name: value for name, value in request.items() if name != "TrainingJobName"}
    definition = {**PIPELINE, "Steps": [{**PIPELINE["Steps"][0], "Arguments": arguments}]}
    sagemaker.create_pipeline(
        PipelineName="piped", PipelineDefinition=json.dumps(definition), RoleArn=ROLE, ClientRequestToken="t" * 32
    )
    arn = sagemaker.start_pipeline_execution(PipelineName="piped")["PipelineExecutionArn"]
    while True:
        (step,) = sagemaker.list_pipeline_execution_steps(PipelineExecutionArn=arn)["PipelineExecutionSteps"] or [{}]
        if "TrainingJob" in step.get("Metadata", {}):
            return [step["Metadata"]["TrainingJob"]["Arn"].rpartition("/")[2]]
        time.sleep(0.2)


def queue(batch, request):
    """Submit a job of Batch; return the name of its training job."""
    job = batch.submit_service_job(
        jobName="queued",
        jobQueue="queue",
        serviceJobType="SAGEMAKER_TRAINING",
        serviceRequestPayload=json.dumps(request),
    )["jobId"]
    while True:
        attempt = batch.describe_service_job(jobId=job).get("latestAttempt", {})
        if "serviceResourceId" in attempt:
            return [attempt["serviceResourceId"]["value"].rpartition("/")[2]]
        time.sleep(0.2)


@pytest.mark.usefixtures("own_clients", "stack")
def test_jobs_when_their_submitter_knows_no_name_then_the_function_starts_their_watchers(
    server, bucket, sagemaker, request_of, wait_for, watchers_of
):
    """Those of a tuning job, of a pipeline and of Batch, all submitted by plain boto3; each rule stops its job."""
    session = boto3.Session(region_name="us-east-1")
    with attach_debugger(session, **settings_of(), self_managed=OPTIONS):
        client, batch = session.client("sagemaker"), session.client("batch")
        bucket.put_object(Bucket="my-bucket", Key="code/unnamed/train.py", Body=OBSTINATE.encode())
        request = request_of("unnamed")
        names = [*tune(client, request), *run_pipeline(client, request), *queue(batch, request)]
    for name in names:
        assert wait_for(name, "Stopped", "Failed", "Completed")["TrainingJobStatus"] == "Stopped"
    watchers = watchers_of(*names)
    assert len(watchers) == len(names) == 4  # though several events tell that a job runs
    assert {job["RoleArn"] for job in watchers} == {ROLE}
    assert {job["ProcessingJobStatus"] for job in watchers} == {"Completed"}


@pytest.mark.usefixtures("own_clients")
def test_watcher_when_its_time_is_over_then_the_function_starts_the_next_one(
    submit, wait_for, sagemaker, watchers_of, bucket
):
    """Each event is delivered three times, and starts one job at the most."""
    submit("handed", TRAIN, Environment=environment_of())
    first = watcher_job_request(
        training_job_name="handed", image_uri="my/rules:1", role_arn=ROLE, max_runtime_in_seconds=12
    )
    sagemaker.create_processing_job(**first)
    (ended,) = watchers_of("handed")
    event = watcher_event(ended["ProcessingJobName"], ended["ProcessingJobStatus"])
    outcomes = [control.handler(event, None)["Outcome"] for _ in range(3)]
    second = f"{first['ProcessingJobName']}-2"
    assert outcomes == [f"watched: by {second}", *[f"watched already: by {second}"] * 2]
    sagemaker.stop_training_job(TrainingJobName="handed")
    wait_for("handed", "Stopped")
    assert len(watchers_of("handed")) == 2
    body = bucket.get_object(Bucket="my-bucket", Key="output/handed/self-managed/status.json")["Body"].read()
    status = json.loads(body)
    assert (status["generation"], status["watcher"]["phase"]) == (2, "done")
    assert control.handler(watcher_event(second, "Completed"), None)["Outcome"] == "left alone: all rules have ended"


@pytest.mark.usefixtures("own_clients")
def test_watcher_when_it_fails_then_the_function_starts_two_more(submit, wait_for, sagemaker, watchers_of):
    """As with an image that lacks the package; then a sentence says how the rules are evaluated."""
    submit("unlucky", "import time; time.sleep(300)", Environment=environment_of())
    wait_for("unlucky", "InProgress")
    name = watcher_job_request(training_job_name="unlucky", image_uri="i", role_arn=ROLE)["ProcessingJobName"]
    for number, then in enumerate(["-2", "-3"], start=1):
        failing = watcher_job_request(training_job_name="unlucky", image_uri="i", role_arn=ROLE, number=number)
        failing["AppSpecification"]["ContainerEntrypoint"] = ["false"]
        with contextlib.suppress(sagemaker.exceptions.ResourceInUse):
            sagemaker.create_processing_job(**failing)
        if number > 1:
            sagemaker.stop_processing_job(ProcessingJobName=failing["ProcessingJobName"])
        watchers_of("unlucky")
        event = watcher_event(failing["ProcessingJobName"], "Failed")
        outcomes = [control.handler(event, None)["Outcome"] for _ in range(3)]
        assert outcomes == [f"watched: by {name}{then}", *[f"watched already: by {name}{then}"] * 2]
    assert control.handler(watcher_event(f"{name}-2", "Stopped"), None)["Outcome"] == "left alone: it is Stopped"
    last = control.handler(watcher_event(f"{name}-3", "Failed"), None)["Outcome"]
    assert last == "left alone: it is watcher 3 that has failed; `self-managed resume` evaluates the rules"
    sagemaker.stop_processing_job(ProcessingJobName=f"{name}-3")
    sagemaker.stop_training_job(TrainingJobName="unlucky")
    wait_for("unlucky", "Stopped")


@pytest.mark.usefixtures("own_clients")
def test_job_when_its_watcher_has_left_rules_open_then_the_function_has_them_evaluated(
    submit, wait_for, watchers_of, monkeypatch, bucket
):
    """By a processing job with the image of the stack; a job whose rules have ended is left alone."""
    killed = "import os\nos.environ['SAGEMAKER_DEBUG_EXT_WATCHER'] = '1'\n"  # no watcher is started
    script = killed + TRAIN.replace("100_000", "22") + "time.sleep(3); os.kill(os.getpid(), 9)\n"
    environment = environment_of("0", place="container", rule_image_uri=None, stop="off")
    submit("orphaned", script, Environment=environment)
    wait_for("orphaned", "Failed")
    event = training_event("orphaned", "Failed")
    assert "neither its settings nor the stack name an image" in control.handler(event, None)["Outcome"]
    monkeypatch.setenv("RULE_IMAGE_URI", "my/rules:2")
    outcomes = [control.handler(event, None)["Outcome"].partition(":")[0] for _ in range(3)]
    assert outcomes == ["watched", "watched already", "watched already"]
    (job,) = watchers_of("orphaned")
    assert job["AppSpecification"]["ImageUri"] == "my/rules:2"
    body = bucket.get_object(Bucket="my-bucket", Key="output/orphaned/self-managed/status.json")["Body"].read()
    assert [rule["RuleEvaluationStatus"] for rule in json.loads(body)["rules"]] == ["IssuesFound"]
    assert control.handler(event, None)["Outcome"] == "left alone: all rules have ended"


@pytest.mark.usefixtures("own_clients")
def test_function_when_there_is_nothing_to_start_then_says_why(submit, wait_for, monkeypatch):
    """Jobs of others, jobs that are watched elsewhere, and other processing jobs."""
    submit("plain", "pass")
    submit("contained", "pass", Environment=environment_of(place="container", rule_image_uri=None))
    for name in ("plain", "contained"):
        wait_for(name, "Completed")
    answers = {
        ("plain", "InProgress"): "ignored: it has no self-managed rules",
        ("contained", "InProgress"): "ignored: its rules are not evaluated by a processing job",
    }
    for (name, status), outcome in answers.items():
        assert control.handler(training_event(name, status), None)["Outcome"] == outcome
    assert control.handler(watcher_event("mine", "Failed"), None)["Outcome"] == "ignored: it is no watcher"
    monkeypatch.delenv("START_WATCHERS")
    assert (
        control.handler(training_event("plain", "InProgress"), None)["Outcome"]
        == "ignored: no rule asks to stop the job"
    )


@pytest.mark.parametrize("number", [1, 2, 9])
@pytest.mark.parametrize("limit", [None, 3600, 28 * 86_400])
@pytest.mark.parametrize("image", [{}, {"rule_image_uri": None, "rule_wheels_uri": "s3://my-bucket/wheels/"}])
def test_request_of_the_function_is_that_of_the_package(number, limit, image):
    """Also its reading of the settings is."""
    job = {"TrainingJobName": "digits-" + "x" * 50, "RoleArn": "arn:aws:iam::123456789012:role/Trainer"}
    job["AlgorithmSpecification"] = {"TrainingImage": "my/train:1-cpu-py312"}
    if limit is not None:
        job["StoppingCondition"] = {"MaxRuntimeInSeconds": limit}
    environment = environment_of(rule_role_arn=ROLE, rule_instance_type="ml.m5.large", kms_key_id="alias/mine", **image)
    job["Environment"] = environment
    spec = decode_job_spec(environment)
    read = control.decode([value for name, value in environment.items() if name.startswith(control.VARIABLE)])
    assert read == json.loads(spec.to_json())
    made = watcher_job_of(job, spec.watch, number)
    assert made["Environment"] == {"SAGEMAKER_DEBUG_EXT_KMS_KEY_ID": "alias/mine"}
    assert control.watcher_request(job, read["watch"], number) == made
    if image:
        assert made["AppSpecification"]["ImageUri"] == "my/train:1-cpu-py312"
        job["AlgorithmSpecification"] = {"TrainingImage": "my/train:1-gpu-py312"}
        assert control.watcher_request(job, read["watch"], number) is None
        with pytest.raises(SMDebugValueError, match="images for GPUs are too large for the instance of a watcher"):
            watcher_job_of(job, spec.watch, number)


def test_function_when_settings_were_changed_then_names_the_variables():
    """Instead of a guess."""
    with pytest.raises(ValueError, match="SAGEMAKER_DEBUG_EXT_JOB_0 to SAGEMAKER_DEBUG_EXT_JOB_0 were changed"):
        control.decode(["1.1.00000000.eJw"])
