"""Requests to AWS as they are recorded, and policies that allow them."""

from __future__ import annotations

import fnmatch
import json
import string

from sagemaker_debug_ext.template import policies

STACK = {
    "Partition": "aws",
    "Region": "us-east-1",
    "Account": "123456789012",
    "Bucket": "my-bucket",
    "Prefix": "output/",
    "JobNamePrefix": "digits-",
    "WatcherRoleName": "Watcher",
    "TopicArn": "arn:aws:sns:us-east-1:123456789012:topic",
    "ControlLogArn": "arn:aws:logs:us-east-1:123456789012:log-group:control",
    "FailedEventsArn": "arn:aws:sqs:us-east-1:123456789012:failed",
    "KmsKeyArn": "arn:aws:kms:us-east-1:123456789012:key/mine",
}
"""What the placeholders of the template's policies stand for."""

RECORDER = """
import json, os
import botocore.client

call = botocore.client.BaseClient._make_api_call

def record(self, operation, parameters):
    named = {name: value for name, value in parameters.items() if isinstance(value, (str, list)) and name != "Body"}
    with open(os.environ["RECORDED_CALLS"], "a") as file:
        print(json.dumps([self.meta.service_model.service_name, operation, named], default=str), file=file)
    return call(self, operation, parameters)

botocore.client.BaseClient._make_api_call = record
"""
ACTIONS = {
    "HeadObject": "GetObject",
    "HeadBucket": "ListBucket",
    "ListObjectsV2": "ListBucket",
    "CreateMultipartUpload": "PutObject",
    "UploadPart": "PutObject",
    "CompleteMultipartUpload": "PutObject",
    "DeleteObjects": "DeleteObject",
}
"""Operations whose IAM action has another name."""


def described(service, operation, parameters):
    """Return the IAM action of a request, its resource, and what conditions ask for."""
    action = f"{service}:{ACTIONS.get(operation, operation)}".replace("monitoring:", "cloudwatch:")
    bucket, key = parameters.get("Bucket", ""), parameters.get("Key")
    resource = parameters.get("TopicArn") or f"arn:aws:s3:::{bucket}" + (f"/{key}" if key else "")
    if service == "events":
        resource = "arn:aws:events:us-east-1:123456789012:event-bus/default"
    if service == "sagemaker":
        kind, name = (
            ("processing", "ProcessingJobName") if "ProcessingJob" in operation else ("training", "TrainingJobName")
        )
        resource = f"arn:aws:sagemaker:us-east-1:123456789012:{kind}-job/{parameters[name]}"
    sources = {entry["Source"] for entry in parameters.get("Entries", ())}
    return (
        action,
        resource,
        {
            "s3:prefix": parameters.get("Prefix", ""),
            "cloudwatch:namespace": parameters.get("Namespace", ""),
            "events:source": ",".join(sources),
        },
    )


_ASKED_OF_THE_KEY = {"s3:PutObject": "kms:GenerateDataKey", "s3:GetObject": "kms:Decrypt"}


def asked_of_key(calls, arn=STACK["KmsKeyArn"]):
    """Return what S3 asks KMS for on behalf of requests to objects that a key encrypts."""
    return [(_ASKED_OF_THE_KEY[action], arn, {}) for action, _, _ in calls if action in _ASKED_OF_THE_KEY]


def as_list(value):
    return value if isinstance(value, list) else [value]


def is_allowed(call, statement):
    """Return whether a statement allows a request."""
    action, resource, context = call
    conditions = [
        (context.get(key, ""), pattern)
        for operator in (statement.get("Condition") or {}).values()
        for key, pattern in operator.items()
    ]
    return (
        action in as_list(statement["Action"])
        and any(fnmatch.fnmatchcase(resource, pattern) for pattern in as_list(statement["Resource"]))
        and all(fnmatch.fnmatchcase(value, pattern) for value, pattern in conditions)
    )


def statements_of(name):
    """Return the statements of a policy of the template, filled in for `STACK`."""
    return json.loads(string.Template(json.dumps(policies()[name]["Statement"])).substitute(STACK))


def pass_role(parameters):
    """Return what IAM checks besides, when a request for a processing job names its role."""
    return "iam:PassRole", parameters["RoleArn"], {"iam:PassedToService": "sagemaker.amazonaws.com"}


def refused_and_unused(calls, statements):
    """Return the requests that no statement allows, and the statements, by action and resource, that allow none."""
    refused = [call for call in calls if not any(is_allowed(call, statement) for statement in statements)]
    unused = {
        (statement["Sid"], action, resource)
        for statement in statements
        for action in as_list(statement["Action"])
        for resource in as_list(statement["Resource"])
        if not any(is_allowed(call, {**statement, "Action": action, "Resource": resource}) for call in calls)
    }
    return refused, unused
