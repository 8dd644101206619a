"""Pipelines: variables stay variables, and building one twice gives the same definition."""

from __future__ import annotations

import json
import warnings

import pytest
from sagemaker.debugger import Rule as SdkRule
from sagemaker.debugger import rule_configs as sdk_rule_configs
from sagemaker.estimator import Estimator
from sagemaker.pytorch import PyTorch
from sagemaker.workflow.execution_variables import ExecutionVariables
from sagemaker.workflow.functions import Join
from sagemaker.workflow.parameters import ParameterInteger, ParameterString
from sagemaker.workflow.pipeline import Pipeline
from sagemaker.workflow.pipeline_context import PipelineSession
from sagemaker.workflow.steps import TrainingStep

from sagemaker_debug_ext import (
    CollectionConfig,
    DebuggerHookConfig,
    ProfilerConfig,
    Rule,
    StopTraining,
    TensorBoardOutputConfig,
    rule_configs,
)
from sagemaker_debug_ext.errors import DebugExtWarning, RequestValidationError, SMDebugValueError
from sagemaker_debug_ext.sdk import with_debugger
from support.aws import ROLE

IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.5.1-cpu-py311"
TEXT = ParameterString("Text")
NUMBER = ParameterInteger("Number")
JOINED = Join(on="/", values=["s3://my-bucket", ExecutionVariables.PIPELINE_EXECUTION_ID])
GET_TEXT, GET_NUMBER = {"Get": "Parameters.Text"}, {"Get": "Parameters.Number"}

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{UserWarning.__name__}", f"error::{DebugExtWarning.__module__}.DebugExtWarning"
)


@pytest.fixture
def pipeline_session(make_session, recording):
    """A session in which fit starts nothing."""
    return make_session(PipelineSession, boto_session=recording[0])


def estimator_with(session, cls=Estimator, **arguments):
    basic = {"role": ROLE, "instance_count": 1, "instance_type": "ml.g5.xlarge", "sagemaker_session": session}
    return with_debugger(cls)(**{**({"image_uri": IMAGE} if cls is Estimator else {}), **basic, **arguments})


def arguments_of(session, step):
    """Return the training step's arguments from the definition of a pipeline with only that step."""
    pipeline = Pipeline("pipeline", parameters=[TEXT, NUMBER], steps=[step], sagemaker_session=session)
    return json.loads(pipeline.definition())["Steps"][0]["Arguments"]


def test_variables_pass_untouched_through_every_field(pipeline_session):
    """Paths, names, values, images, numbers."""
    rule = Rule.custom(
        TEXT, TEXT, TEXT, NUMBER,
        source=TEXT, rule_to_invoke=TEXT, container_local_output_path=TEXT, s3_output_path=JOINED,
        other_trials_s3_input_paths=[JOINED], rule_parameters={"threshold": TEXT},
        collections_to_save=[CollectionConfig(TEXT, {"save_interval": TEXT})],
    )  # fmt: skip
    estimator = estimator_with(
        pipeline_session,
        debugger_hook_config=DebuggerHookConfig(
            JOINED, TEXT, {"include_workers": TEXT}, [CollectionConfig("losses", {"start_step": TEXT})]
        ),
        rules=[rule, Rule.sagemaker(rule_configs.vanishing_gradient(), name="V", rule_parameters={"threshold": TEXT})],
        tensorboard_output_config=TensorBoardOutputConfig(JOINED, TEXT),
        profiler_config=ProfilerConfig(JOINED, NUMBER),
    )  # fmt: skip
    arguments = arguments_of(pipeline_session, TrainingStep("train", step_args=estimator.fit()))
    joined = {"Std:Join": {"On": "/", "Values": ["s3://my-bucket", {"Get": "Execution.PipelineExecutionId"}]}}
    assert arguments["DebugHookConfig"] == {
        "S3OutputPath": joined,
        "LocalPath": GET_TEXT,
        "HookParameters": {"include_workers": GET_TEXT},
        "CollectionConfigurations": [
            {"CollectionName": "losses", "CollectionParameters": {"start_step": GET_TEXT}},
            {"CollectionName": GET_TEXT, "CollectionParameters": {"save_interval": GET_TEXT}},
            {"CollectionName": "gradients", "CollectionParameters": {"save_interval": "500"}},
        ],
    }
    custom, built_in = arguments["DebugRuleConfigurations"]
    assert custom == {
        "RuleConfigurationName": GET_TEXT,
        "RuleEvaluatorImage": GET_TEXT,
        "InstanceType": GET_TEXT,
        "VolumeSizeInGB": GET_NUMBER,
        "LocalPath": GET_TEXT,
        "S3OutputPath": joined,
        "RuleParameters": {
            "other_trial_0": joined, "source_s3_uri": GET_TEXT, "rule_to_invoke": GET_TEXT, "threshold": GET_TEXT
        },
    }  # fmt: skip
    assert built_in["RuleParameters"] == {"rule_to_invoke": "VanishingGradient", "threshold": GET_TEXT}
    assert arguments["TensorBoardOutputConfig"] == {"S3OutputPath": joined, "LocalPath": GET_TEXT}
    assert arguments["ProfilerConfig"] == {
        "S3OutputPath": joined,
        "DisableProfiler": False,
        "ProfilingIntervalInMilliseconds": GET_NUMBER,
    }


def test_building_a_pipeline_twice_gives_the_same_definition(pipeline_session, script, tmp_path):
    """With uploaded rules as well; and from one estimator or from another."""
    (tmp_path / "rule.py").write_text("class A: ...\n")

    def definition(estimator):
        step = TrainingStep("train", step_args=estimator.fit())
        return Pipeline("pipeline", steps=[step], sagemaker_session=pipeline_session).definition()

    def make():
        return estimator_with(
            pipeline_session, PyTorch, entry_point=script, framework_version="1.12.0", py_version="py38",
            debugger_hook_config=DebuggerHookConfig(collection_configs=[CollectionConfig("losses")]),
            rules=[
                Rule.sagemaker(rule_configs.vanishing_gradient(), actions=StopTraining("nightly")),
                SdkRule.sagemaker(sdk_rule_configs.overfit()),
                Rule.custom("Mine", None, "ml.t3.medium", 5, source="rule.py", rule_to_invoke="A"),
            ],
            profiler_config=ProfilerConfig(profile_params=None),
        )  # fmt: skip

    one = make()
    assert definition(one) == definition(one) == definition(make())


def test_stop_training_in_a_pipeline_needs_a_prefix(pipeline_session):
    """The name of the job is made when the pipeline runs."""
    rules = [Rule.sagemaker(rule_configs.overfit(), actions=StopTraining())]
    step = TrainingStep("train", step_args=estimator_with(pipeline_session, rules=rules).fit())
    with pytest.raises(RequestValidationError, match="must have a training_job_prefix if the name of the job"):
        arguments_of(pipeline_session, step)


def test_paths_of_a_pipelines_job_are_known_only_to_the_job(pipeline_session):
    """The estimator does not know its name."""
    estimator = estimator_with(pipeline_session)
    arguments_of(pipeline_session, TrainingStep("train", step_args=estimator.fit()))
    with pytest.raises(SMDebugValueError, match="a pipeline names its jobs when it runs"):
        estimator.latest_job_debugger_artifacts_path()


def test_a_step_made_from_an_estimator_is_a_pipelines_too(session):
    """The old way, with an ordinary session."""
    rules = [Rule.sagemaker(rule_configs.overfit(), actions=StopTraining())]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        step = TrainingStep("train", estimator=estimator_with(session, rules=rules))
        prefixed = [Rule.sagemaker(rule_configs.overfit(), actions=StopTraining("nightly"))]
        good = TrainingStep("train", estimator=estimator_with(session, rules=prefixed))
    with pytest.raises(RequestValidationError, match="must have a training_job_prefix"):
        arguments_of(session, step)
    assert "nightly" in arguments_of(session, good)["DebugRuleConfigurations"][0]["RuleParameters"]["action_json"]
