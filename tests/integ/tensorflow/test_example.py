"""The example of digits is an ordinary script that trains, and runs as a job with rules on this machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sagemaker_debug_ext
import sagemaker_debug_ext.tensorflow as smd
from sagemaker_debug_ext import rule_configs
from sagemaker_debug_ext.config.collection_config import CollectionConfig
from sagemaker_debug_ext.config.hook import DebuggerHookConfig
from sagemaker_debug_ext.config.rules import Rule
from sagemaker_debug_ext.local import (
    describe_training_job,
    run_training_job,
    script_hyperparameters,
    upload_source,
)
from sagemaker_debug_ext.requests import training_job_request
from sagemaker_debug_ext.trials import create_trial

EXAMPLE = Path(__file__).parents[3] / "examples" / "keras_digits"


def make_digits():
    """Return as many images as scikit-learn ships, with as many pixels and greys, of ten shapes under noise."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 10, 1797)
    images = random.integers(0, 17, (10, 8, 8))[labels] + random.normal(0, 3, (1797, 8, 8))
    return images.round().clip(0, 16), labels


@pytest.fixture
def run_job(tmp_path):
    """Return a function that runs the example as a job under rules, and returns its description and its trial."""

    def run(**hyperparameters):
        channel = tmp_path / "s3" / "bucket" / "digits"
        channel.mkdir(parents=True)
        images, labels = make_digits()
        np.savez(channel / "digits.npz", images=images, labels=labels)
        source = upload_source(EXAMPLE, "s3://bucket/code", tmp_path)
        request = training_job_request(
            job_name="digits",
            role_arn="arn:aws:iam::111122223333:role/Role",
            image_uri="763104351884.dkr.ecr.us-east-1.amazonaws.com/tensorflow-training:2.18.0-cpu-py310",
            region="us-east-1",
            output_path="s3://bucket/output",
            inputs={"training": "s3://bucket/digits"},
            max_runtime_in_seconds=200,
            hyperparameters=script_hyperparameters("train.py", source, hyperparameters),
            environment={"PYTHONPATH": str(Path(sagemaker_debug_ext.__file__).parents[1])},
            debugger_hook_config=DebuggerHookConfig(
                hook_parameters={"save_interval": 20},
                collection_configs=[
                    CollectionConfig("gradients"),
                    CollectionConfig("weights"),
                    CollectionConfig("losses"),
                    CollectionConfig("metrics"),
                    CollectionConfig("conv_outputs", {"include_regex": "conv.*/outputs"}),
                ],
            ),
            rules=[Rule.sagemaker(rule_configs.vanishing_gradient())],
        )
        run_training_job(request, tmp_path)
        (index,) = (tmp_path / "s3").rglob("index")
        return describe_training_job("digits", tmp_path), create_trial(str(index.parent))

    return run


def status(description):
    (found,) = description["DebugRuleEvaluationStatuses"]
    return found["RuleEvaluationStatus"]


def test_example_when_healthy_then_learns_and_no_rule_fires(run_job):
    """The convolutional net learns, has sound gradients, and shows what its convolutions see."""
    description, trial = run_job(epochs=5)
    assert description["TrainingJobStatus"] == "Completed"
    assert status(description) == "NoIssuesFound"
    accuracies = [value.item() for value in trial.tensor("val_accuracy").values(smd.modes.EVAL).values()]
    assert len(accuracies) == 5
    assert accuracies[-1] > 0.9
    assert trial.tensor_names(collection="conv_outputs") == ["conv1/outputs", "conv2/outputs"]
    assert trial.tensor("conv1/outputs").value(0, smd.modes.TRAIN).shape == (64, 8, 8, 32)


def test_example_when_vanishing_then_the_rule_fires(run_job):
    """The first layers of the deep sigmoid net get no gradient, and the rule says so."""
    description, trial = run_job(epochs=1, model="vanishing")
    assert status(description) == "IssuesFound"
    assert np.abs(trial.tensor("gradients/fc0/kernelGrad").value(0)).mean() < 1e-7
