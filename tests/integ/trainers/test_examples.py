"""The examples for trainers are ordinary scripts: each runs as a job on this machine, and a rule watches it."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path

import pytest

import sagemaker_debug_ext
import sagemaker_debug_ext.pytorch as smd
from sagemaker_debug_ext import CollectionConfig, DebuggerHookConfig, Rule, rule_configs
from sagemaker_debug_ext.local import run_training_job, script_hyperparameters, upload_source
from sagemaker_debug_ext.requests import training_job_request

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def run_example(tmp_path):
    """Run an example as a job; return the job."""

    def run(name, **hyperparameters):
        source = upload_source(EXAMPLES / name, "s3://bucket/source", tmp_path)
        request = training_job_request(
            job_name=name.replace("_", "-"),
            role_arn="arn:aws:iam::123456789012:role/Role",
            image_uri="image",
            region="eu-west-1",
            output_path="s3://bucket/output",
            max_runtime_in_seconds=200,
            environment={"PYTHONPATH": str(Path(sagemaker_debug_ext.__file__).parents[1]), "OMP_NUM_THREADS": "1"},
            hyperparameters=script_hyperparameters("train.py", source, hyperparameters),
            debugger_hook_config=DebuggerHookConfig(
                hook_parameters={"save_interval": 5, "eval.save_interval": 1},
                collection_configs=[CollectionConfig(name) for name in ("weights", "gradients", "losses")],
            ),
            rules=[Rule.sagemaker(rule_configs.vanishing_gradient())],
        )
        return run_training_job(request, tmp_path)

    return run


def check(job, num_updates, names, num_evaluations=0):
    """The job and its rule have come to a good end, every fifth update is saved, and so is every evaluation."""
    answer = job.describe()
    assert answer["TrainingJobStatus"] == "Completed"
    assert [rule["RuleEvaluationStatus"] for rule in answer["DebugRuleEvaluationStatuses"]] == ["NoIssuesFound"]
    assert Path(answer["ModelArtifacts"]["S3ModelArtifacts"]).name == "model.tar.gz"
    trial = job.trial()
    weight, *others = names
    assert trial.tensor(weight).steps(smd.modes.TRAIN) == list(range(0, num_updates, 5))
    assert trial.tensor(f"gradient/{weight}").steps(smd.modes.TRAIN) == list(range(0, num_updates, 5))
    assert set(others) <= set(trial.tensor_names())
    assert len(trial.steps(smd.modes.EVAL)) == num_evaluations
    return trial


@pytest.mark.skipif(not importlib.util.find_spec("transformers"), reason="needs transformers")
def test_transformers_example_when_run_as_a_job_then_updates_and_evaluations_are_steps(run_example):
    """The trainer's updates and its batches of evaluation are steps, and what it logs is saved."""
    num_windows = (EXAMPLES / "transformers_characters" / "train.py").stat().st_size // 32 - 16
    trial = check(
        run_example("transformers_characters", epochs=2),
        num_updates=2 * math.ceil(num_windows / (8 * 2)),
        names=[
            "GPT2LMHeadModel_transformer.h.0.attn.c_attn.weight",
            "loss_output_0",
            "scalar/loss",
            "scalar/eval_loss",
        ],
        num_evaluations=4,
    )
    first, *_, last = trial.tensor("scalar/loss").values().values()
    assert last < first


@pytest.mark.skipif(not importlib.util.find_spec("lightning"), reason="needs lightning")
def test_lightning_example_when_run_as_a_job_then_batches_are_steps(run_example):
    """The batches of training and validation are steps, and the model learns."""
    trial = check(
        run_example("lightning_spirals"),
        num_updates=20 * 16,
        names=["SpiralNet_layers.0.weight", "loss_output_0", "scalar/accuracy"],
        num_evaluations=20,
    )
    *_, accuracy = trial.tensor("scalar/accuracy").values().values()
    assert accuracy > 0.9


@pytest.mark.skipif(not importlib.util.find_spec("accelerate"), reason="needs accelerate")
def test_accelerate_example_when_run_as_a_job_then_updates_are_steps(run_example):
    """Two batches make one step, which holds both losses."""
    trial = check(
        run_example("accelerate_spirals"),
        num_updates=20 * 16,
        names=["SpiralNet_0.weight", "CrossEntropyLoss_output_0", "CrossEntropyLoss_output_1"],
    )
    losses = list(trial.tensor("CrossEntropyLoss_output_1").values().values())
    assert losses[-1] < losses[0] / 2
