"""Controls self-managed training jobs: the function of the CloudFormation template.

It stops jobs whose watchers ask for it. If the template says so, it also starts the processing jobs that evaluate the
rules of jobs, also of those whose names their submitter does not know, such as the jobs of tuning jobs and pipelines.

CloudFormation gets the text of this file, so it imports nothing of the package. Events may be delivered several times,
so what it starts has a name that a second request is refused for. An error is raised again, so that Lambda repeats the
event and finally moves it to the dead-letter queue.
"""

import base64
import datetime as dt
import hashlib
import json
import os
import re
import zlib
from typing import Any

import boto3
from botocore.exceptions import ClientError

VARIABLE = "SAGEMAKER_DEBUG_EXT_JOB_"
KMS_VARIABLE = "SAGEMAKER_DEBUG_EXT_KMS_KEY_ID"
WATCHER = re.compile(r".+-watch-[0-9a-f]{8}(?:-(?P<number>\d+))?")
FINAL = ("Completed", "Failed", "Stopped")
OPEN = ("InProgress", "Stopping")
MAX_WATCHERS = 3  # number from which a watcher that fails is the last; those that have handed over count, too
MAX_SECONDS = 777_600  # of a processing job
DEFAULT_INSTANCE = "ml.t3.medium"
WATCHER_COMMAND = ["python3", "-m", "sagemaker_debug_ext.watch.program"]
WHEELS = "/opt/ml/processing/input/wheels"


def handler(event: dict[str, Any], context: object) -> dict[str, str]:  # noqa: ARG001 - Lambda passes it
    """Handle an event about a changed rule, a training job or a processing job; return what was done."""
    detail = event["detail"]
    is_processing = "ProcessingJobName" in detail
    name = detail["ProcessingJobName" if is_processing else "TrainingJobName"]
    prefix = os.environ.get("JOB_NAME_PREFIX", "")
    if not name.startswith(prefix):
        return _conclude(name, f"ignored: its name does not start with {prefix!r}")
    if is_processing:
        return _watcher_changed(name, detail["ProcessingJobStatus"])
    if event.get("source") == "aws.sagemaker" and os.environ.get("START_WATCHERS") == "true":
        return _training_changed(name, detail["TrainingJobStatus"])
    if not detail.get("SelfManaged", {}).get("StopRequested"):
        return _conclude(name, "ignored: no rule asks to stop the job")
    return _stop(name, detail.get("ChangedRule", {}).get("RuleConfigurationName", "a rule"))


def _stop(name: str, rule: str) -> dict[str, str]:
    client = boto3.client("sagemaker")
    status = _describe(client, name)["TrainingJobStatus"]
    if status != "InProgress":
        return _conclude(name, f"left alone: it is {status}")
    try:
        client.stop_training_job(TrainingJobName=name)
    except ClientError:
        status = _describe(client, name)["TrainingJobStatus"]  # it may have ended meanwhile
        if status == "InProgress":
            raise
        return _conclude(name, f"left alone: it is {status}")
    return _conclude(name, f"stopped: {rule} found an issue")


def _training_changed(name: str, status: str) -> dict[str, str]:
    """Start the watcher of a running job that asks for one, or evaluate what the watcher of an ended job left open."""
    client = boto3.client("sagemaker")
    job = _describe(client, name)
    spec = _spec_of(job)
    if spec is None or not (spec.get("rules") or spec.get("profiler_rules")):
        return _conclude(name, "ignored: it has no self-managed rules")
    place = spec.get("watch", {}).get("place", "container")
    if status == "InProgress" and place != "processing":
        return _conclude(name, "ignored: its rules are not evaluated by a processing job")
    if status in FINAL and place != "container":
        return _conclude(name, "left alone: its watcher outlives it")
    if status in FINAL and not _is_open(_status_of(job, spec)):
        return _conclude(name, "left alone: all rules have ended")
    return _start(client, job, spec, 1)


def _watcher_changed(watcher: str, status: str) -> dict[str, str]:
    """Start the next watcher after one that has failed, or that hands over because its time is over."""
    found = WATCHER.fullmatch(watcher)
    client = boto3.client("sagemaker")
    description = client.describe_processing_job(ProcessingJobName=watcher) if found else {"AppSpecification": {}}
    arguments = description["AppSpecification"].get("ContainerArguments", [])
    if found is None or "--job" not in arguments:
        return _conclude(watcher, "ignored: it is no watcher")
    job = _describe(client, arguments[arguments.index("--job") + 1])
    number, spec = int(found["number"] or 1), _spec_of(job)
    state = None if spec is None else _status_of(job, spec)
    if spec is None or not _is_open(state):
        return _conclude(watcher, "left alone: all rules have ended")
    if status != "Completed" or not _has_handed_over(state, description["CreationTime"]):
        if status != "Failed" or job["TrainingJobStatus"] != "InProgress":
            return _conclude(watcher, f"left alone: it is {status}")
        if number >= MAX_WATCHERS:
            outcome = f"left alone: it is watcher {number} that has failed; `self-managed resume` evaluates the rules"
            return _conclude(watcher, outcome)
    return _start(client, job, spec, number + 1)


def _start(client: Any, job: dict[str, Any], spec: dict[str, Any], number: int) -> dict[str, str]:
    name = job["TrainingJobName"]
    request = watcher_request(job, spec.get("watch", {}), number)
    if request is None:
        return _conclude(name, "left alone: neither its settings nor the stack name an image for its rules")
    try:
        client.create_processing_job(**request)
    except ClientError as error:
        if "ResourceInUse" not in str(error):
            raise
        return _conclude(name, f"watched already: by {request['ProcessingJobName']}")
    return _conclude(name, f"watched: by {request['ProcessingJobName']}")


def watcher_request(job: dict[str, Any], watch: dict[str, Any], number: int) -> dict[str, Any] | None:
    """Return the request of a processing job that evaluates the rules of a training job; None without an image."""
    image = watch.get("image") or os.environ.get("RULE_IMAGE_URI")
    wheels = watch.get("wheels")
    if not image and wheels:
        image = job.get("AlgorithmSpecification", {}).get("TrainingImage", "")
        image = "" if "-gpu-" in image else image
    if not image:
        return None
    name = job["TrainingJobName"]
    limit = min(job.get("StoppingCondition", {}).get("MaxRuntimeInSeconds", 86_400) + 3_600, MAX_SECONDS)
    digits = hashlib.sha256(name.encode()).hexdigest()[:8]
    instance = watch.get("instance") or DEFAULT_INSTANCE
    key = job.get("Environment", {}).get(KMS_VARIABLE)
    hand_over = str(max(limit - 600, limit // 2))
    return {
        "ProcessingJobName": f"{name[:46].rstrip('-')}-watch-{digits}" + (f"-{number}" if number > 1 else ""),
        "RoleArn": watch.get("role") or os.environ.get("WATCHER_ROLE_ARN") or job["RoleArn"],
        "AppSpecification": {
            "ImageUri": image,
            "ContainerEntrypoint": ["bash", f"{WHEELS}/start.sh"] if wheels else WATCHER_COMMAND,
            "ContainerArguments": ["--job", name, "--place", "processing", "--max-seconds", hand_over],
        },
        "ProcessingResources": {
            "ClusterConfig": {"InstanceCount": 1, "InstanceType": instance, "VolumeSizeInGB": 10},
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": limit},
        **({} if key is None else {"Environment": {KMS_VARIABLE: key}}),
        **({} if wheels is None else {"ProcessingInputs": [_input_of_wheels(wheels)]}),
    }


def _input_of_wheels(uri: str) -> dict[str, Any]:
    source = {"S3Uri": f"{uri.rstrip('/')}/", "LocalPath": WHEELS, "S3DataDistributionType": "FullyReplicated"}
    return {"InputName": "wheels", "S3Input": {**source, "S3DataType": "S3Prefix", "S3InputMode": "File"}}


def _describe(client: Any, name: str) -> dict[str, Any]:
    return dict(client.describe_training_job(TrainingJobName=name))


def _spec_of(job: dict[str, Any]) -> dict[str, Any] | None:
    """Return the settings of a self-managed job; None for other jobs."""
    environment = job.get("Environment", {})
    first = environment.get(f"{VARIABLE}0")
    if first is None:
        return None
    if first.endswith(".channel"):
        channels = {channel["ChannelName"]: channel for channel in job["InputDataConfig"]}
        location = channels["sagemaker_debug_ext"]["DataSource"]["S3DataSource"]["S3Uri"]
        return _read(f"{location.rstrip('/')}/job.json")
    return decode([environment[f"{VARIABLE}{index}"] for index in range(int(first.split(".")[1]))])


def decode(values: list[str]) -> dict[str, Any]:
    """Return the settings that environment variables hold, which `config.job_spec` has encoded."""
    _, _, checksum, text = "".join(values).split(".", 3)
    if checksum != f"{zlib.crc32(text.encode()):08x}":
        raise ValueError(f"the settings in {VARIABLE}0 to {VARIABLE}{len(values) - 1} were changed")
    return dict(json.loads(zlib.decompress(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))))


def _status_of(job: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any] | None:
    """Return what the watcher of a job has written last; None if it has not."""
    root = spec["hook"]["S3OutputPath"]
    if spec.get("ship") == "checkpoint":
        root = f"{job['CheckpointConfig']['S3Uri'].rstrip('/')}/sagemaker_debug_ext"
    return _read(f"{root.rstrip('/')}/{job['TrainingJobName']}/self-managed/status.json")


def _has_handed_over(state: dict[str, Any] | None, created_at: dt.datetime) -> bool:
    """Return whether a watcher created at a time has handed over; what is older is the status of the one before."""
    if state is None or state["watcher"]["phase"] != "handover":
        return False
    return dt.datetime.fromisoformat(state["watcher"]["started_at"]) >= created_at


def _is_open(state: dict[str, Any] | None) -> bool:
    """Return whether a rule has yet to end, for all that is known."""
    if state is None:
        return True
    rules = [*state["rules"], *state.get("profiler_rules", [])]
    return any(rule["RuleEvaluationStatus"] in OPEN for rule in rules)


def _read(location: str) -> dict[str, Any] | None:
    """Return an object of JSON; None if it is missing, which S3 hides from those who may list a prefix only."""
    bucket, _, key = location.removeprefix("s3://").partition("/")
    client = boto3.client("s3")
    try:
        return dict(json.loads(client.get_object(Bucket=bucket, Key=key)["Body"].read()))
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code == "AccessDenied":
            page = client.list_objects_v2(Bucket=bucket, Prefix=key, MaxKeys=1)
            code = "AccessDenied" if page["KeyCount"] else "NoSuchKey"
        if code != "NoSuchKey":
            raise
        return None


def _conclude(name: str, outcome: str) -> dict[str, str]:
    print(f"job {name} {outcome}")
    return {"TrainingJobName": name, "Outcome": outcome}
