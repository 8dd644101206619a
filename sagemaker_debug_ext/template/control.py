"""Stops training jobs whose watchers ask for it: the function of the CloudFormation template.

CloudFormation gets the text of this file, so it imports nothing of the package. Events may be delivered several times.
An error is raised again, so that Lambda repeats the event and finally moves it to the dead-letter queue.
"""

import os
from typing import Any

import boto3
from botocore.exceptions import ClientError


def handler(event: dict[str, Any], context: object) -> dict[str, str]:  # noqa: ARG001 - Lambda passes it
    """Handle an event about a changed rule; return what was done."""
    detail = event["detail"]
    name = detail["TrainingJobName"]
    if not detail.get("SelfManaged", {}).get("StopRequested"):
        return _conclude(name, "ignored: no rule asks to stop the job")
    prefix = os.environ.get("JOB_NAME_PREFIX", "")
    if not name.startswith(prefix):
        return _conclude(name, f"ignored: its name does not start with {prefix!r}")
    client = boto3.client("sagemaker")
    status = _status(client, name)
    if status != "InProgress":
        return _conclude(name, f"left alone: it is {status}")
    try:
        client.stop_training_job(TrainingJobName=name)
    except ClientError:
        status = _status(client, name)  # it may have ended meanwhile
        if status == "InProgress":
            raise
        return _conclude(name, f"left alone: it is {status}")
    rule = detail.get("ChangedRule", {}).get("RuleConfigurationName", "a rule")
    return _conclude(name, f"stopped: {rule} found an issue")


def _status(client: Any, name: str) -> str:
    return str(client.describe_training_job(TrainingJobName=name)["TrainingJobStatus"])


def _conclude(name: str, outcome: str) -> dict[str, str]:
    print(f"training job {name} {outcome}")
    return {"TrainingJobName": name, "Outcome": outcome}
