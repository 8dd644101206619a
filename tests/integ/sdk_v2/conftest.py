"""The real SDK v2 against an AWS on this machine."""

from __future__ import annotations

import importlib.util
import warnings

import pytest

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import sagemaker
        import sagemaker.estimator
        import sagemaker.pytorch
except ImportError:  # not in this environment, or SDK v3
    collect_ignore_glob = ["test_*.py", "migration/*.py"]
else:
    from support.aws import fake_aws, recorded_requests


@pytest.fixture(scope="session")
def aws():
    """One server for all tests; the SDK does not report to its makers."""
    with fake_aws() as aws:
        # The SDK can be told so by configuration only, and then checks its configuration for a second at each step.
        if importlib.util.find_spec("sagemaker.telemetry"):
            target = "sagemaker.telemetry.telemetry_logging._send_telemetry_request"
            aws.monkeypatch.setattr(target, lambda *_, **__: None)
        yield aws


@pytest.fixture
def make_session(aws):
    """Make sessions of the SDK: ``make_session(kind, region)``."""

    def make(kind=None, region=None, **arguments):
        boto_session = arguments.pop("boto_session", None) or aws.session(region)
        session = (kind or sagemaker.Session)(boto_session=boto_session, default_bucket=aws.default_bucket, **arguments)
        session.sagemaker_config = {}
        return session

    return make


@pytest.fixture(scope="session")
def recording(aws):
    """A boto3 session, and what is sent through the clients made from it; making clients takes long."""
    session = aws.session()
    with recorded_requests(session) as requests:
        yield session, requests


@pytest.fixture
def session(make_session, recording):
    """A session whose requests are recorded."""
    return make_session(boto_session=recording[0])


@pytest.fixture
def requests(recording):
    """The CreateTrainingJob requests that a test has sent so far."""
    recording[1].clear()
    return recording[1]


@pytest.fixture
def script(tmp_path, monkeypatch):
    """A training script in the current folder."""
    (tmp_path / "train.py").write_text("print('training')\n")
    monkeypatch.chdir(tmp_path)
    return "train.py"
