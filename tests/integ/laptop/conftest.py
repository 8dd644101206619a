"""The server in a process of its own, as users start it, and a client of it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
import types

import pytest

if importlib.util.find_spec("moto") is None:
    collect_ignore_glob = ["test_*.py"]

COMMAND = [sys.executable, "-m", "sagemaker_debug_ext.cli.main", "laptop"]


@pytest.fixture(scope="module")
def start_server(tmp_path_factory):
    """Return a function that starts a server and returns its process, its clients and its work folder."""
    processes = []

    def start(*options, work_dir=None):
        import boto3  # heavy

        folder = work_dir or tmp_path_factory.mktemp("laptop")
        process = subprocess.Popen(
            [*COMMAND, "--work-dir", str(folder), "--port", "0", *options], stdout=subprocess.PIPE, text=True
        )
        processes.append(process)
        line = process.stdout.readline()
        assert line.startswith("export AWS_ENDPOINT_URL="), line
        url = line.partition("=")[2].strip()
        session = boto3.Session(aws_access_key_id="a", aws_secret_access_key="b", region_name="us-east-1")
        return types.SimpleNamespace(
            process=process, url=url, folder=folder, client=lambda name: session.client(name, endpoint_url=url)
        )

    yield start
    for process in processes:
        if process.poll() is None:
            process.terminate()
        process.wait(60)
        process.stdout.close()


@pytest.fixture(scope="module")
def server(start_server):
    """A server that refuses Debugger members."""
    return start_server()


@pytest.fixture(scope="module")
def sagemaker(server):
    """A client of SageMaker."""
    return server.client("sagemaker")


@pytest.fixture(scope="module")
def bucket(server):
    """A bucket with a script in it."""
    s3 = server.client("s3")
    s3.create_bucket(Bucket="my-bucket")
    return s3


@pytest.fixture
def submit(bucket, sagemaker):
    """Return a function that submits a script as a job and returns the job's name."""

    def submit(name, script, client=sagemaker, s3=bucket, **members):
        s3.put_object(Bucket="my-bucket", Key=f"code/{name}/train.py", Body=script.encode())
        client.create_training_job(**make_request(name, **members))
        return name

    return submit


def make_request(name, **members):
    """Return a request that runs ``train.py`` from the bucket."""
    return {
        "TrainingJobName": name,
        "RoleArn": "arn:aws:iam::123456789012:role/Trainer",
        "AlgorithmSpecification": {"TrainingImage": "image", "TrainingInputMode": "File"},
        "OutputDataConfig": {"S3OutputPath": "s3://my-bucket/output"},
        "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 10},
        "StoppingCondition": {"MaxRuntimeInSeconds": 600},
        "HyperParameters": {
            "sagemaker_program": '"train.py"',
            "sagemaker_submit_directory": f'"s3://my-bucket/code/{name}/train.py"',
        },
        **members,
    }


@pytest.fixture
def request_of():
    """The function that makes requests."""
    return make_request


@pytest.fixture
def wait_for(sagemaker):
    """Return a function that waits until a job has a status and returns its description."""

    def wait(name, *statuses, client=sagemaker):
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            description = client.describe_training_job(TrainingJobName=name)
            if description["TrainingJobStatus"] in statuses:
                return description
            time.sleep(0.2)
        raise AssertionError(f"{name} is {description['TrainingJobStatus']}, not {statuses}")

    return wait


@pytest.fixture
def run_script(tmp_path):
    """Return a function that runs a script against a server of its own and returns the finished process."""

    def run(text, *options, work_dir=None, **variables):
        script = tmp_path / "submit.py"
        script.write_text(text)
        command = [*COMMAND, "--work-dir", str(work_dir or tmp_path / "work"), *options, "run", str(script)]
        environment = {**os.environ, **variables}
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=False)

    return run
