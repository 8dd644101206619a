"""An AWS on this machine, and training scripts that run as self-managed jobs."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import textwrap
import types

import pytest

if importlib.util.find_spec("moto") is None or importlib.util.find_spec("torch") is None:
    collect_ignore_glob = ["test_*.py"]
else:
    from support.aws import fake_aws


@pytest.fixture(scope="session")
def aws():
    """The output path of jobs, in a bucket of an AWS on this machine."""
    with fake_aws():
        yield "s3://my-bucket/output"


@pytest.fixture(scope="session")
def run_job(aws):
    """Return a function that runs a script in the environment of a request, as SageMaker would."""

    def run(script: str, request: dict, **variables) -> types.SimpleNamespace:
        process = start(script, request, **variables)
        stdout, stderr = process.communicate(timeout=120)
        return types.SimpleNamespace(returncode=process.returncode, stdout=stdout, stderr=stderr)

    def start(script: str, request: dict, folder=None, **variables: str) -> subprocess.Popen:
        environment = {**os.environ, "TRAINING_JOB_NAME": request["TrainingJobName"], **request["Environment"]}
        return subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(script)],
            env={**environment, **variables},
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    run.start = start
    return run
