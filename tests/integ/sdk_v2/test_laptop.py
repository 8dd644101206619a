"""Unmodified scripts of SDK v2 on the server of this machine."""

from __future__ import annotations

import pytest

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

SETTINGS = """
from sagemaker_debug_ext import CollectionConfig, DebuggerHookConfig, Rule, SelfManaged, StopTraining, rule_configs
from sagemaker_debug_ext.sdk import TrainingJob, with_debugger
from sagemaker.pytorch import PyTorch

settings = dict(
    entry_point="train.py",
    source_dir="source",
    role="arn:aws:iam::123456789012:role/Trainer",
    framework_version="1.12.0",
    py_version="py38",
    instance_count=1,
    instance_type="ml.m5.large",
    rules=[Rule.sagemaker(rule_configs.tree_depth(), rule_parameters={"depth": "0"}, actions=StopTraining())],
    debugger_hook_config=DebuggerHookConfig(collection_configs=[CollectionConfig("trees", {"save_interval": "5"})]),
    self_managed=SelfManaged(poll_seconds=1),
)
"""

SUBMIT = f"""{SETTINGS}
estimator = with_debugger(PyTorch)(**settings)
estimator.fit(logs="All")
job = TrainingJob.describe(estimator.latest_training_job.name)
print(job.status, *((rule.name, rule.status) for rule in job.rules))
"""

TUNE = """
from sagemaker.tuner import ContinuousParameter, HyperparameterTuner

tuner = HyperparameterTuner(
    with_debugger(PyTorch)(**settings),
    objective_metric_name="loss",
    objective_type="Minimize",
    metric_definitions=[{"Name": "loss", "Regex": "loss=(.*);"}],
    hyperparameter_ranges={"eta": ContinuousParameter(0.1, 0.5)},
    max_jobs=2,
    max_parallel_jobs=2,
)
tuner.fit(wait=True)
for name in tuner.analytics().training_job_summaries():
    show(name["TrainingJobName"])
"""

PIPELINE = """
from sagemaker.processing import ProcessingInput, ProcessingOutput, ScriptProcessor
from sagemaker.workflow.pipeline import Pipeline
from sagemaker.workflow.pipeline_context import PipelineSession
from sagemaker.workflow.steps import ProcessingStep, TrainingStep

session = PipelineSession()
processor = ScriptProcessor(
    image_uri="123456789012.dkr.ecr.us-east-1.amazonaws.com/image:1",
    command=["python3"],
    role=settings["role"],
    instance_count=1,
    instance_type="ml.m5.large",
    sagemaker_session=session,
)
prepare = ProcessingStep(
    name="Prepare",
    step_args=processor.run(
        code="prepare.py",
        outputs=[ProcessingOutput(output_name="data", source="/opt/ml/processing/output")],
        arguments=["/opt/ml/processing/output"],
    ),
)
estimator = with_debugger(PyTorch)(**settings, sagemaker_session=session)
data = prepare.properties.ProcessingOutputConfig.Outputs["data"].S3Output.S3Uri
train = TrainingStep(name="Train", step_args=estimator.fit({"train": data}))
pipeline = Pipeline(name="chain", steps=[train, prepare], sagemaker_session=session)
for _ in range(2):
    pipeline.upsert(role_arn=settings["role"])
execution = pipeline.start()
try:
    execution.wait(delay=1, max_attempts=120)
except Exception as error:
    print("ended:", error)
for step in execution.list_steps():
    print(step["StepName"], step["StepStatus"])
    if "TrainingJob" in step["Metadata"]:
        show(name_of(step["Metadata"]["TrainingJob"]["Arn"]))
"""

BATCH = """
from sagemaker.aws_batch.training_queue import TrainingQueue
import time

queued = TrainingQueue("queue").submit(with_debugger(PyTorch)(**settings), inputs=None)
while queued.describe()["status"] not in ("SUCCEEDED", "FAILED"):
    time.sleep(1)
print(queued.describe()["status"])
show(name_of(queued.describe()["latestAttempt"]["serviceResourceId"]["value"]))
"""

PREPARE = "import pathlib, sys; pathlib.Path(sys.argv[1], 'data.txt').write_text('7')"
STOPPED = "job Stopped ('TreeDepth', 'IssuesFound')"


def test_fit_when_a_rule_stops_the_job_then_script_and_command_say_so(tmp_path):
    """The SDK uploads the source, follows the logs and describes the job."""
    report = submit_to_laptop(tmp_path, SUBMIT)
    assert report.returncode == 0, report.stderr
    assert "Stopped ('TreeDepth', 'IssuesFound')" in report.stdout
    assert "SAGEMAKER_DEBUG_EXT rule=TreeDepth status=IssuesFound" in report.stdout
    assert "asked to stop" not in report.stderr


def test_fit_when_gradients_vanish_then_the_job_stops_at_the_step_of_the_service(tmp_path):
    """The local runner plays the service for the same script, hook and rule."""
    submit = SUBMIT.replace(
        'rule_configs.tree_depth(), rule_parameters={"depth": "0"}', "rule_configs.vanishing_gradient()"
    )
    submit = submit.replace(
        'CollectionConfig("trees", {"save_interval": "5"})', 'CollectionConfig("gradients", {"save_interval": 1})'
    )
    report = submit_to_laptop(tmp_path, submit + PRINT_FIRST_STEP, VANISHING)
    assert report.returncode == 0, report.stderr
    result = "Stopped first bad step 11"
    assert result in report.stdout.splitlines(), report.stdout
    assert result_on_the_service(tmp_path) == result


def test_fit_when_a_processing_job_evaluates_the_rules_then_is_started_with_the_training_job(tmp_path):
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
    for package in ("sagemaker.aws_batch", "nest_asyncio"):
        pytest.importorskip(package)
    (tmp_path / "prepare.py").write_text(PREPARE)
    report = submit_to_laptop(tmp_path, SETTINGS + SHOW_JOBS + TUNE + PIPELINE + BATCH)
    assert report.returncode == 0, report.stderr
    found = [line for line in report.stdout.splitlines() if line.startswith(("job ", "Prepare", "Train ", "FAILED"))]
    tuned, in_order, queued = [STOPPED, STOPPED], ["Prepare Succeeded", "Train Stopped", STOPPED], ["FAILED", STOPPED]
    assert sorted(found[:2]) == tuned, report.stdout + report.stderr
    assert sorted(found[2:5]) == sorted(in_order), report.stdout + report.stderr
    assert found[5:] == queued, report.stdout + report.stderr
