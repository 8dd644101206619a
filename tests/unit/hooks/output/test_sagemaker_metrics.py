"""Metrics of the job, told to SageMaker."""

import json
import os

import numpy as np
import pytest

from sagemaker_debug_ext.hooks.output.sagemaker_metrics import Metric, MetricsFile
from sagemaker_debug_ext.vocabulary import ModeKeys


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """A SageMaker job's folder for metrics."""
    monkeypatch.setenv("TRAINING_JOB_NAME", "job")
    monkeypatch.setenv("SAGEMAKER_METRICS_DIRECTORY", str(tmp_path / "metrics"))
    return tmp_path / "metrics"


def lines(folder):
    return [json.loads(line) for line in (folder / f"{os.getpid()}.json").read_text().splitlines()]


def test_find_when_outside_of_a_job_then_is_none(tmp_path):
    """Only SageMaker reads the file, and only where the environment says."""
    assert MetricsFile.find({}) is None
    assert MetricsFile.find({"SAGEMAKER_METRICS_DIRECTORY": str(tmp_path)}) is None
    assert MetricsFile.find({"TRAINING_JOB_NAME": "job"}) is None


def test_write_when_called_again_then_appends(tmp_path):
    """Each metric is a line; nothing to write makes no file."""
    file = MetricsFile(tmp_path / "a" / "b")
    file.write([])
    assert not (tmp_path / "a").exists()
    file.write([Metric("scalar/acc", "TRAIN", 2, 0.1, 1.5)])
    file.write([Metric("scalar/acc", "EVAL", 0, 0.2, 2.5)])
    assert lines(tmp_path / "a" / "b") == [
        {"MetricName": "scalar/acc_TRAIN", "Value": 0.1, "Timestamp": 1.5, "IterationNumber": 2},
        {"MetricName": "scalar/acc_EVAL", "Value": 0.2, "Timestamp": 2.5, "IterationNumber": 0},
    ]


def test_hook_when_in_a_job_then_writes_losses_and_metrics(make_hook, folder):
    """Losses are metrics by themselves, scalars if the script says so; everything else is not."""
    hook = make_hook(include_collections=["gradients"])
    hook.set_mode(ModeKeys.TRAIN)
    hook.save_scalar("early", 1, sm_metric=True, timestamp=5.0)
    for _ in range(2):
        hook.run_step({"loss": np.array([1.0, 3.0]), "gradient/w": 1.0})
    hook.save_scalar("quiet", 1)
    hook.close()
    assert [(line["MetricName"], line["Value"], line["IterationNumber"]) for line in lines(folder)] == [
        ("loss_TRAIN", 2.0, 0),
        ("scalar/early_TRAIN", 1.0, 0),
        ("loss_TRAIN", 2.0, 1),
    ]


def test_hook_when_metrics_cannot_be_written_then_the_trial_goes_on(make_hook, folder, trial, caplog):
    """Only the metrics are given up, and that once."""
    folder.write_text("in the way")
    hook = make_hook()
    for _ in range(3):
        hook.run_step({"loss": 1.0})
    hook.close()
    assert hook.failure is None
    assert len(trial.steps) == 3
    assert caplog.text.count("MetricsFile failed and is given up") == 1
