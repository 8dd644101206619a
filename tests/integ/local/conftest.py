from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sagemaker_debug_ext
from sagemaker_debug_ext.local import LocalTrainingJob, script_hyperparameters, upload_source

Request = dict[str, Any]

SAVE_STEPS = """\
import json, os, signal
import numpy as np
from sagemaker_debug_ext.store.backends import open_backend
from sagemaker_debug_ext.store.writer import NamedTensor, StepData, TrialWriter
from sagemaker_debug_ext.vocabulary import ModeKeys

with open(os.environ["SMDEBUG_CONFIG_FILE_PATH"]) as file:
    writer = TrialWriter(open_backend(json.load(file)["LocalPath"]))
losses = {"name": "losses", "include_regex": ["loss"], "tensor_names": [], "save_config": None,
          "reduction_config": None, "save_histogram": True}
writer.write_collections([losses], 1)
for step in range(4):
    writer.write_step(StepData(step, ModeKeys.TRAIN, step, [NamedTensor("loss", np.float32([step]), 0.0)], []))
"""


@pytest.fixture
def save_steps() -> str:
    """A script that saves steps 0 to 3, each with a loss of that value."""
    return SAVE_STEPS


@pytest.fixture
def make_request(tmp_path: Path) -> Callable[..., Request]:
    """Returns a function that makes a request for a script given as text."""

    def make(
        script: str, *, name: str = "job-1", hyperparameters: dict[str, Any] | None = None, **members: Any
    ) -> Request:
        source = tmp_path / f"source-{name}"
        source.mkdir()
        (source / "train.py").write_text(textwrap.dedent(script))
        uri = upload_source(source, f"s3://bucket/{name}/code", tmp_path)
        package = str(Path(sagemaker_debug_ext.__file__).parents[1])
        return {
            "TrainingJobName": name,
            "RoleArn": "arn:aws:iam::123456789012:role/Role",
            "AlgorithmSpecification": {"TrainingImage": "image", "TrainingInputMode": "File"},
            "HyperParameters": script_hyperparameters("train.py", uri, hyperparameters),
            "OutputDataConfig": {"S3OutputPath": "s3://bucket/out"},
            "ResourceConfig": {"InstanceType": "ml.m5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 30},
            "StoppingCondition": {"MaxRuntimeInSeconds": 120},
            "Environment": {"PYTHONPATH": package},
            "DebugHookConfig": {"S3OutputPath": "s3://bucket/out"},
            **members,
        }

    return make


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., LocalTrainingJob]]:
    """Returns a function that starts a job, which is killed at the end of the test at the latest."""
    jobs = []

    def start_job(request: Request, **options: Any) -> LocalTrainingJob:
        job = LocalTrainingJob(request, tmp_path, **options)
        job.start()
        jobs.append(job)
        return job

    yield start_job
    for job in jobs:
        job.stop(grace_seconds=0.0)
        with job:
            pass


class LifeLine:
    """Tells when the last of the processes that hold it has ended: a named pipe, which ends with its last writer."""

    def __init__(self, path: Path) -> None:
        self.path = path
        os.mkfifo(path)
        # Open for both, or else opening would wait for a writer; the own writing end is closed when one has shown up.
        self._own_end = os.open(path, os.O_RDWR)
        self._file = os.fdopen(os.open(path, os.O_RDONLY), "rb", buffering=0)

    def read_one(self) -> bytes:
        """Wait for something that a process writes."""
        return self._file.read(4096)

    def read(self) -> bytes:
        """Wait until no process holds the line any more, and return what they wrote until then."""
        os.close(self._own_end)
        with self._file as file:
            return b"".join(iter(lambda: file.read(4096), b""))


@pytest.fixture
def life_line(tmp_path: Path) -> LifeLine:
    """A life line that scripts open for writing."""
    return LifeLine(tmp_path / "life-line")
