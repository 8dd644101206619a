"""Scripts that are submitted to the server of this machine, and how they are run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

from sagemaker_debug_ext import (
    CollectionConfig,
    DebuggerHookConfig,
    Rule,
    StopTraining,
    debugger_request,
    rule_configs,
)
from sagemaker_debug_ext.local import run_training_job

TRAIN = """
import time

import numpy as np
import xgboost

import sagemaker_debug_ext.xgboost as smd


class Pause(xgboost.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        time.sleep(0.02)
        return False


data = xgboost.DMatrix(np.random.default_rng(0).random((200, 4)), np.arange(200) % 2)
hook = smd.Hook.create_from_json_file()
options = {"objective": "binary:logistic", "nthread": 1}
xgboost.train(options, data, 100_000, evals=[(data, "train")], callbacks=[hook, Pause()], verbose_eval=False)
"""
"""Training for half an hour, unless it is stopped."""

OBSTINATE = f"{TRAIN}\ntime.sleep(600)\n"
"""The same in a script that goes on when a rule has asked it to end: only StopTrainingJob ends it."""

VANISHING = TRAIN.replace(
    """        time.sleep(0.02)
""",
    """        time.sleep(0.02)
        gradient = np.full(4, 1e-12 if epoch >= 11 else 1.0, np.float32)
        hook.save_tensor("gradient/weight", gradient, collections_to_write=["gradients"])
""",
)
"""The same, with gradients that vanish from step 11 on."""

PRINT_FIRST_STEP = """
import json

import boto3

bucket, _, key = job.rule_output_path("VanishingGradient").removeprefix("s3://").partition("/")
body = boto3.client("s3").get_object(Bucket=bucket, Key=f"{key}/rule-result.json")["Body"].read()
print(job.status, "first bad step", json.loads(body)["first_issue_step"])
"""
"""Prints the result of the rule of a `job`, after a script that submits it."""

LIST_PROCESSING = """
import boto3

client = boto3.client("sagemaker")
jobs = [
    client.describe_processing_job(ProcessingJobName=job["ProcessingJobName"])
    for job in client.list_processing_jobs()["ProcessingJobSummaries"]
]
arguments = [job["AppSpecification"]["ContainerArguments"] for job in jobs]
print("watchers", *(job["AppSpecification"]["ImageUri"] for job in jobs), *(words[3] for words in arguments))
"""
"""Prints the images and the places of the watchers that are processing jobs."""

SHOW_JOBS = """

def show(name):
    job = TrainingJob.describe(name)
    print("job", job.status, *((rule.name, rule.status) for rule in job.rules))


def name_of(arn):
    return arn.rpartition("/")[2]
"""
"""Functions that scripts print jobs and their rules with."""


def result_on_the_service(folder: Path) -> str:
    """Return what `PRINT_FIRST_STEP` prints for a job of the service that runs `VANISHING`, played by the runner."""
    code = folder / "work/s3/my-bucket/code"
    code.mkdir(parents=True)
    (code / "train.py").write_text(VANISHING)
    members = debugger_request(
        job_name="vanishing",
        region="us-east-1",
        output_path="s3://my-bucket/output",
        debugger_hook_config=DebuggerHookConfig(
            collection_configs=[CollectionConfig("gradients", {"save_interval": 1})]
        ),
        rules=[Rule.sagemaker(rule_configs.vanishing_gradient(), actions=StopTraining())],
    )
    request = {
        "TrainingJobName": "vanishing",
        "RoleArn": "arn:aws:iam::123456789012:role/Trainer",
        "AlgorithmSpecification": {"TrainingImage": "image", "TrainingInputMode": "File"},
        "OutputDataConfig": {"S3OutputPath": "s3://my-bucket/output"},
        "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 10},
        "StoppingCondition": {"MaxRuntimeInSeconds": 600},
        "HyperParameters": {
            "sagemaker_program": '"train.py"',
            "sagemaker_submit_directory": '"s3://my-bucket/code/train.py"',
        },
        **members,
    }
    job = run_training_job(request, folder / "work")
    (result,) = (folder / "work").rglob("rule-result.json")
    return f"{job.describe()['TrainingJobStatus']} first bad step {json.loads(result.read_text())['first_issue_step']}"


def submit_to_laptop(folder: Path, submit: str, train: str = TRAIN) -> subprocess.CompletedProcess[str]:
    """Run a script, which submits ``source/train.py``, by ``sagemaker-debug laptop run`` in a folder."""
    source = folder / "source"
    source.mkdir()
    (source / "train.py").write_text(train)
    (folder / "submit.py").write_text(textwrap.dedent(submit))
    return subprocess.run(
        [sys.executable, "-m", "sagemaker_debug_ext.cli.main", "laptop", "run", "submit.py"],
        cwd=folder,
        env={**os.environ, "SAGEMAKER_SUPPRESS_V2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
