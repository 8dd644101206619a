"""Unmodified scripts of SDK v3 on the server of this machine."""

from __future__ import annotations

import pytest

from sagemaker_debug_ext.laptop.containers import has_namespaces
from support.laptop import (
    LIST_PROCESSING,
    PRINT_FIRST_STEP,
    SHOW_JOBS,
    VANISHING,
    result_on_the_service,
    submit_to_laptop,
)

for package in ("moto", "flask", "xgboost"):
    pytest.importorskip(package)

pytestmark = pytest.mark.skipif(not has_namespaces(), reason="the scripts that the SDK adds to jobs name /opt/ml")

SUBMIT = """
from sagemaker.train import ModelTrainer
from sagemaker.train.configs import Compute, SourceCode

from sagemaker_debug_ext import CollectionConfig, DebuggerHookConfig, Rule, SelfManaged, StopTraining, rule_configs
from sagemaker_debug_ext.sdk import TrainingJob, with_debugger

trainer = with_debugger(ModelTrainer)(
    training_image="763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.5.1-cpu-py311",
    role="arn:aws:iam::123456789012:role/Trainer",
    base_job_name="trees",
    compute=Compute(instance_type="ml.m5.large", instance_count=1),
    source_code=SourceCode(source_dir="source", entry_script="train.py"),
    rules=[Rule.sagemaker(rule_configs.tree_depth(), rule_parameters={"depth": "0"}, actions=StopTraining())],
    debugger_hook_config=DebuggerHookConfig(collection_configs=[CollectionConfig("trees", {"save_interval": "5"})]),
).with_self_managed(SelfManaged(poll_seconds=1))
trainer.train()
rules = trainer.latest_job_rules()
print(*((rule.name, rule.status) for rule in rules))
"""

SETTINGS = """
from sagemaker.train import ModelTrainer
from sagemaker.train.configs import Compute, SourceCode

from sagemaker_debug_ext import CollectionConfig, DebuggerHookConfig, Rule, SelfManaged, StopTraining, rule_configs
from sagemaker_debug_ext.sdk import TrainingJob, with_debugger

settings = dict(
    training_image="763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.5.1-cpu-py311",
    role="arn:aws:iam::123456789012:role/Trainer",
    base_job_name="trees",
    compute=Compute(instance_type="ml.m5.large", instance_count=1),
    source_code=SourceCode(source_dir="source", entry_script="train.py"),
    rules=[Rule.sagemaker(rule_configs.tree_depth(), rule_parameters={"depth": "0"}, actions=StopTraining())],
    debugger_hook_config=DebuggerHookConfig(collection_configs=[CollectionConfig("trees", {"save_interval": "5"})]),
    self_managed=SelfManaged(poll_seconds=1),
)
"""

TUNE = """
from sagemaker.core.parameter import ContinuousParameter
from sagemaker.train.tuner import HyperparameterTuner
import boto3

tuner = HyperparameterTuner(
    with_debugger(ModelTrainer)(**settings),
    objective_metric_name="loss",
    objective_type="Minimize",
    metric_definitions=[{"Name": "loss", "Regex": "loss=(.*);"}],
    hyperparameter_ranges={"eta": ContinuousParameter(0.1, 0.5)},
    max_jobs=2,
    max_parallel_jobs=2,
)
tuner.tune(wait=True)
name = tuner.latest_tuning_job.hyper_parameter_tuning_job_name
jobs = boto3.client("sagemaker").list_training_jobs_for_hyper_parameter_tuning_job(HyperParameterTuningJobName=name)
for job in jobs["TrainingJobSummaries"]:
    show(job["TrainingJobName"])
"""

PIPELINE = """
from sagemaker.core.workflow.pipeline_context import PipelineSession
from sagemaker.mlops.workflow.pipeline import Pipeline
from sagemaker.mlops.workflow.steps import TrainingStep

session = PipelineSession()
trainer = with_debugger(ModelTrainer)(**settings, sagemaker_session=session)
pipeline = Pipeline(
    name="chain", steps=[TrainingStep(name="Train", step_args=trainer.train())], sagemaker_session=session
)
pipeline.upsert(role_arn=settings["role"])
execution = pipeline.start()
try:
    execution.wait(delay=1, max_attempts=120)
except Exception as error:
    print("ended:", error)
for step in execution.list_steps():
    print(step["StepName"], step["StepStatus"])
    show(name_of(step["Metadata"]["TrainingJob"]["Arn"]))
"""

BATCH = """
import time

from sagemaker.train.aws_batch.training_queue import TrainingQueue

queued = TrainingQueue("queue").submit(with_debugger(ModelTrainer)(**settings), inputs=None)
while queued.describe()["status"] not in ("SUCCEEDED", "FAILED"):
    time.sleep(1)
print(queued.describe()["status"])
show(name_of(queued.describe()["latestAttempt"]["serviceResourceId"]["value"]))
"""
STOPPED = "job Stopped ('TreeDepth', 'IssuesFound')"


def test_train_when_a_rule_stops_the_job_then_script_and_command_say_so(tmp_path):
    """The start scripts of the SDK run as in a container."""
    report = submit_to_laptop(tmp_path, SUBMIT)
    assert report.returncode == 0, report.stderr
    assert "('TreeDepth', 'IssuesFound')" in report.stdout
    assert "Stopped" in report.stdout.splitlines()[-2]


def test_train_when_gradients_vanish_then_the_job_stops_at_the_step_of_the_service(tmp_path):
    """The local runner plays the service for the same script, hook and rule."""
    submit = SUBMIT.replace(
        'rule_configs.tree_depth(), rule_parameters={"depth": "0"}', "rule_configs.vanishing_gradient()"
    )
    submit = submit.replace(
        'CollectionConfig("trees", {"save_interval": "5"})', 'CollectionConfig("gradients", {"save_interval": 1})'
    )
    submit += "job = TrainingJob.describe(trainer._latest_job_name())\n"
    report = submit_to_laptop(tmp_path, submit + PRINT_FIRST_STEP, VANISHING)
    assert report.returncode == 0, report.stderr
    result = "Stopped first bad step 11"
    assert result in report.stdout.splitlines(), report.stdout
    assert result_on_the_service(tmp_path) == result


def test_train_when_a_processing_job_evaluates_the_rules_then_is_started_with_the_training_job(tmp_path):
    """Once, with the image that the settings name."""
    options = 'SelfManaged(poll_seconds=1, place="processing", rule_image_uri="my/rules:1")'
    submit = SUBMIT.replace("SelfManaged(poll_seconds=1)", options) + LIST_PROCESSING
    report = submit_to_laptop(tmp_path, submit)
    assert report.returncode == 0, report.stderr
    assert "('TreeDepth', 'IssuesFound')" in report.stdout
    (line,) = (line for line in report.stdout.splitlines() if line.startswith("watchers"))
    assert line.split()[1:] == ["my/rules:1", "processing"], report.stdout


def test_script_when_jobs_are_started_by_others_then_their_rules_stop_them(tmp_path):
    """Each job of a tuner, of a pipeline and of a queue is watched, and the SDK finds what it asks for."""
    report = submit_to_laptop(tmp_path, SETTINGS + SHOW_JOBS + TUNE + PIPELINE + BATCH)
    assert report.returncode == 0, report.stderr
    found = [line for line in report.stdout.splitlines() if line.startswith(("job ", "Train ", "FAILED"))]
    assert found == [STOPPED, STOPPED, "Train Stopped", STOPPED, "FAILED", STOPPED], report.stdout + report.stderr
