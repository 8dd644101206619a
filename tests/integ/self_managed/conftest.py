"""An S3 server in a thread, a bucket in it, and training scripts that run as self-managed jobs."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import types

import boto3
import pytest

try:
    import moto.server  # noqa: F401 - only whether it is there
except ImportError:
    collect_ignore_glob = ["test_*.py"]

BUCKET = "bucket"


@pytest.fixture(scope="session")
def aws():
    """Let boto3 talk to a server on the loopback device, in this process and in its children."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
            patch.delenv(name, raising=False)
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        boto3.client("s3").create_bucket(Bucket=BUCKET)
        yield f"s3://{BUCKET}/output"
    server.stop()


@pytest.fixture
def run_job(aws):
    """Return a function that runs a script in the environment of a request, as SageMaker would."""

    def run(script: str, request: dict, **variables: str) -> types.SimpleNamespace:
        process = start(script, request, **variables)
        stdout, stderr = process.communicate(timeout=120)
        return types.SimpleNamespace(returncode=process.returncode, stdout=stdout, stderr=stderr)

    def start(script: str, request: dict, **variables: str) -> subprocess.Popen:
        environment = {**os.environ, "TRAINING_JOB_NAME": request["TrainingJobName"], **request["Environment"]}
        return subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(script)],
            env={**environment, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    run.start = start
    return run
