"""The example of tumours is an ordinary script that trains, and runs as a job with rules on this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sagemaker_debug_ext
from sagemaker_debug_ext import rule_configs
from sagemaker_debug_ext.config.collection_config import CollectionConfig
from sagemaker_debug_ext.config.hook import DebuggerHookConfig
from sagemaker_debug_ext.config.rules import Rule
from sagemaker_debug_ext.local import describe_training_job, run_training_job, script_hyperparameters, upload_source
from sagemaker_debug_ext.requests import training_job_request
from sagemaker_debug_ext.trials import create_trial

pytest.importorskip("sklearn")

EXAMPLE = Path(__file__).parents[3] / "examples" / "xgboost_breast_cancer"
COLLECTIONS = ["metrics", "feature_importance", "average_shap", "predictions", "labels", "hyperparameters", "trees"]


@pytest.fixture
def run_job(tmp_path):
    """Return a function that runs the example as a job under rules, and returns its description and its trial."""

    def run(**hyperparameters):
        source = upload_source(EXAMPLE, "s3://bucket/code", tmp_path)
        request = training_job_request(
            job_name="tumours",
            role_arn="arn:aws:iam::111122223333:role/Role",
            image_uri="683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.7-1",
            region="us-east-1",
            output_path="s3://bucket/output",
            max_runtime_in_seconds=200,
            hyperparameters=script_hyperparameters("train.py", source, hyperparameters),
            environment={"PYTHONPATH": str(Path(sagemaker_debug_ext.__file__).parents[1])},
            debugger_hook_config=DebuggerHookConfig(
                hook_parameters={"save_interval": 5},
                collection_configs=[*map(CollectionConfig, COLLECTIONS), CollectionConfig("losses")],
            ),
            rules=[
                Rule.sagemaker(rule_configs.create_xgboost_report()),
                Rule.sagemaker(rule_configs.tree_depth(), rule_parameters={"depth": 3}),
                Rule.sagemaker(rule_configs.loss_not_decreasing(), rule_parameters={"num_steps": 10}),
                Rule.sagemaker(rule_configs.overfit(), rule_parameters={"ratio_threshold": 2, "patience": 3}),
            ],
        )
        run_training_job(request, tmp_path)
        return describe_training_job("tumours", tmp_path)

    return run


def statuses(description):
    return {
        status["RuleConfigurationName"]: status["RuleEvaluationStatus"]
        for status in description["DebugRuleEvaluationStatuses"]
    }


def find(folder, pattern):
    (found,) = folder.rglob(pattern)
    return found


def test_example_when_healthy_then_learns_and_is_reported(run_job, tmp_path):
    """No rule finds fault, the report is written, and the trial tells which measurements the trees go by."""
    description = run_job(**{"num-round": 30})
    assert description["TrainingJobStatus"] == "Completed"
    assert set(statuses(description).values()) == {"NoIssuesFound"}
    trial = create_trial(str(find(tmp_path / "s3", "index").parent))
    assert trial.steps() == [0, 5, 10, 15, 20, 25, 29]
    assert trial.tensor("scalar/accuracy").value(29).item() > 0.9
    areas = [value.item() for value in trial.tensor("validation-auc").values().values()]
    assert areas[-1] > 0.97
    mean = {
        name.removeprefix("average_shap/"): abs(trial.tensor(name).value(25).item())
        for name in trial.tensor_names(collection="average_shap")
    }
    assert len(mean) == 30
    assert {"worst area", "mean radius"} < set(mean)
    report = json.loads(find(tmp_path, "xgboost_report.json").read_text())
    assert report["task"] == "binary classification"
    assert report["classification"]["course"][-1]["accuracy"] > 0.9
    assert find(tmp_path, "xgboost_report.html").stat().st_size > 1000


def test_example_when_trees_are_deep_then_a_rule_says_so(run_job):
    """Deep trees fire a rule; the job goes on to its end."""
    description = run_job(**{"num-round": 6, "max-depth": 9, "subsample": 1.0, "eta": 0.8})
    assert description["TrainingJobStatus"] == "Completed"
    assert statuses(description)["CreateXgboostReport"] == "NoIssuesFound"
    assert statuses(description)["TreeDepth"] == "IssuesFound"
