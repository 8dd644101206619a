"""Plain boto3 against an AWS on this machine."""

from __future__ import annotations

import importlib.util

import pytest

if importlib.util.find_spec("moto") is None:
    collect_ignore_glob = ["test_*.py"]
else:
    from support.aws import fake_aws


@pytest.fixture(scope="session")
def aws():
    """One server for all tests."""
    with fake_aws() as aws:
        yield aws


@pytest.fixture
def request_members():
    """A CreateTrainingJob request of another tool, without Debugger."""
    return {
        "TrainingJobName": "plain",
        "RoleArn": "arn:aws:iam::123456789012:role/SageMakerRole",
        "AlgorithmSpecification": {
            "TrainingImage": "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.5.1-cpu-py311",
            "TrainingInputMode": "File",
        },
        "ResourceConfig": {"InstanceType": "ml.g5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 10},
        "OutputDataConfig": {"S3OutputPath": "s3://my-bucket/out"},
        "StoppingCondition": {"MaxRuntimeInSeconds": 60},
    }
