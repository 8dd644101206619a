"""The real SDK v3 against an AWS on this machine."""

from __future__ import annotations

import importlib.util
import os
import warnings

import pytest

if importlib.util.find_spec("sagemaker") is None or importlib.util.find_spec("sagemaker.core") is None:
    collect_ignore_glob = ["test_*.py"]  # not in this environment, or SDK v2
else:
    os.environ.setdefault("SAGEMAKER_VALIDATE_ROLE", "false")
    os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")  # the SDK makes clients when it is imported
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import sagemaker.mlops.workflow.pipeline
        import sagemaker.train.sft_trainer  # noqa: F401  # loaded here because it warns
        from sagemaker.core.helper.session_helper import Session
        from sagemaker.core.workflow.pipeline_context import PipelineSession
        from sagemaker.train import ModelTrainer
        from sagemaker.train.configs import Compute

    from sagemaker_debug_ext.sdk import with_debugger
    from support.aws import ROLE, fake_aws, recorded_requests

IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.5.1-gpu-py311"


@pytest.fixture(scope="session")
def aws():
    """One server for all tests; the SDK does not report to its makers."""
    with fake_aws() as aws:
        target = "sagemaker.core.telemetry.telemetry_logging._send_telemetry_request"
        aws.monkeypatch.setattr(target, lambda *_, **__: None)
        yield aws


@pytest.fixture(scope="session")
def recording(aws):
    """A boto3 session, and what is sent through the clients made from it; making clients takes long."""
    session = aws.session()
    with recorded_requests(session) as requests:
        yield session, requests


@pytest.fixture(scope="session")
def session(aws, recording):
    """A session whose requests are recorded."""
    session = Session(boto_session=recording[0], default_bucket=aws.default_bucket)
    session.sagemaker_config = {}
    return session


@pytest.fixture(scope="session")
def pipeline_session(aws, recording):
    """A session in which train starts nothing."""
    session = PipelineSession(boto_session=recording[0], default_bucket=aws.default_bucket)
    session.sagemaker_config = {}
    return session


@pytest.fixture
def requests(recording):
    """The CreateTrainingJob requests that a test has sent so far."""
    recording[1].clear()
    return recording[1]


@pytest.fixture
def make(session):
    """Make a trainer with the mixin: ``make(**fields)``."""

    def make(adapt=with_debugger, **fields):
        compute = Compute(instance_type="ml.p3.2xlarge", instance_count=fields.pop("instance_count", 1))
        basic = {"training_image": IMAGE, "role": ROLE, "base_job_name": "job", "compute": compute}
        return adapt(ModelTrainer)(**{**basic, "sagemaker_session": session, **fields})

    return make
