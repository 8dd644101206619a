"""ModelTrainer with Debugger settings: in each kind of session, as fields and by methods."""

from __future__ import annotations

import copy
import json
import pickle
import warnings

import pytest
import sagemaker.core.debugger as core
from sagemaker.core.helper.session_helper import Session
from sagemaker.core.shapes import CollectionConfiguration, DebugHookConfig, DebugRuleConfiguration
from sagemaker.core.shapes import TensorBoardOutputConfig as TensorBoardShape
from sagemaker.core.workflow.execution_variables import ExecutionVariables
from sagemaker.core.workflow.functions import Join
from sagemaker.core.workflow.parameters import ParameterString
from sagemaker.mlops.workflow.pipeline import Pipeline
from sagemaker.mlops.workflow.steps import TrainingStep
from sagemaker.train import ModelTrainer
from sagemaker.train.configs import CheckpointConfig, Compute, SourceCode
from sagemaker.train.model_trainer import Mode
from sagemaker.train.sft_trainer import SFTTrainer

from sagemaker_debug_ext import (
    CollectionConfig,
    DebuggerHookConfig,
    ProfilerConfig,
    ProfilerRule,
    Rule,
    StopTraining,
    TensorBoardOutputConfig,
    rule_configs,
)
from sagemaker_debug_ext.errors import DebugExtWarning, RequestValidationError, SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.sdk import TrainerDebuggerMixin, TrainingJob, set_default_hook, with_debugger
from support.aws import ROLE
from support.requests import debugger_members

BUCKET = "s3://sagemaker-us-east-1-123456789012/job"
RULES = [Rule.sagemaker(rule_configs.vanishing_gradient(), actions=StopTraining())]


def settings():
    """Return settings of every kind."""
    return {
        "debugger_hook_config": DebuggerHookConfig(
            "s3://my-bucket/dbg", "/opt/t", {"save_interval": 10}, [CollectionConfig("losses", {"save_interval": 5})]
        ),
        "rules": [
            Rule.sagemaker(rule_configs.vanishing_gradient(), rule_parameters={"threshold": 1e-5}),
            ProfilerRule.sagemaker(rule_configs.LowGPUUtilization(), name="LowGpu"),
        ],
        "tensorboard_output_config": TensorBoardOutputConfig("s3://my-bucket/tb", "/tb"),
        "profiler_config": ProfilerConfig("s3://my-bucket/prof", 1000),
    }


def expected():
    """Return the members of these settings."""
    evaluator = "503895931360.dkr.ecr.us-east-1.amazonaws.com/sagemaker-debugger-rules:latest"
    return {
        "DebugHookConfig": {
            "S3OutputPath": "s3://my-bucket/dbg",
            "LocalPath": "/opt/t",
            "HookParameters": {"save_interval": "10"},
            "CollectionConfigurations": [
                {"CollectionName": "losses", "CollectionParameters": {"save_interval": "5"}},
                {"CollectionName": "gradients"},  # the hook's interval stands against the rule's default
            ],
        },
        "DebugRuleConfigurations": [
            {
                "RuleConfigurationName": "VanishingGradient",
                "RuleEvaluatorImage": evaluator,
                "RuleParameters": {"rule_to_invoke": "VanishingGradient", "threshold": "1e-05"},
            }
        ],
        "TensorBoardOutputConfig": {"S3OutputPath": "s3://my-bucket/tb", "LocalPath": "/tb"},
        "ProfilerConfig": {"S3OutputPath": "s3://my-bucket/prof", "ProfilingIntervalInMilliseconds": 1000},
        "ProfilerRuleConfigurations": [
            {
                "RuleConfigurationName": "LowGpu",
                "RuleEvaluatorImage": evaluator,
                "RuleParameters": {
                    "rule_to_invoke": "LowGPUUtilization", "threshold_p95": "70", "threshold_p5": "10",
                    "window": "500", "patience": "1000", "scan_interval_us": "60000000",
                },
            }
        ],
    }  # fmt: skip


def test_train_in_a_normal_session_carries_the_members(make, requests):
    """Captured where botocore is about to send them."""
    trainer = make(**settings())
    trainer.train(wait=False)
    (request,) = requests
    assert debugger_members(request) == expected()
    job = request["TrainingJobName"]
    assert trainer.latest_job_debugger_artifacts_path() == f"s3://my-bucket/dbg/{job}/debug-output"
    assert trainer.latest_job_tensorboard_artifacts_path() == f"s3://my-bucket/tb/{job}/tensorboard-output"
    assert trainer.latest_job_profiler_artifacts_path() == f"s3://my-bucket/prof/{job}/profiler-output"
    assert trainer.rule_output_path("LowGpu") == f"{BUCKET}/{job}/rule-output/LowGpu"
    assert trainer._latest_training_job.debug_hook_config.s3_output_path == "s3://my-bucket/dbg"
    assert TrainingJob.describe(trainer._latest_training_job, trainer.sagemaker_session).name == job
    assert [rule.name for rule in trainer.latest_job_rules()] == ["VanishingGradient"]


def test_train_for_plain_boto3_carries_the_members(make, aws):
    """Spelt as the service does, and the service takes them."""
    request = make(**settings())._create_training_job_args(boto3=True)
    assert debugger_members(request) == expected()
    aws.client("sagemaker").create_training_job(**request)
    described = aws.client("sagemaker").describe_training_job(TrainingJobName=request["TrainingJobName"])
    assert described["DebugHookConfig"] == expected()["DebugHookConfig"]


def arguments_of(trainer, **parameters):
    """Return the training step's arguments from the definition of a pipeline."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        step = TrainingStep(name="train", step_args=trainer.train())
    pipeline = Pipeline(name="pipeline", steps=[step], sagemaker_session=trainer.sagemaker_session, **parameters)
    return json.loads(pipeline.definition())["Steps"][0]["Arguments"]


def test_train_in_a_pipeline_carries_the_members(make, pipeline_session):
    """In its definition, which is the same each time."""
    arguments = arguments_of(make(sagemaker_session=pipeline_session, **settings()))
    assert debugger_members(arguments) == expected()
    assert "TrainingJobName" not in arguments
    assert arguments == arguments_of(make(sagemaker_session=pipeline_session, **settings()))


def test_pipeline_variables_pass_untouched(make, pipeline_session):
    """Through every field."""
    text = ParameterString("Text")
    joined = Join(on="/", values=["s3://my-bucket", ExecutionVariables.PIPELINE_EXECUTION_ID])
    trainer = make(
        sagemaker_session=pipeline_session,
        debugger_hook_config=DebuggerHookConfig(
            joined, text, {"save_interval": text}, [CollectionConfig("losses", {"start_step": text})]
        ),
        rules=[Rule.sagemaker(rule_configs.vanishing_gradient(), name="V", rule_parameters={"threshold": text})],
        tensorboard_output_config=TensorBoardOutputConfig(joined),
        profiler_config=ProfilerConfig(joined),
    )  # fmt: skip
    arguments = arguments_of(trainer, parameters=[text])
    where = {"Std:Join": {"On": "/", "Values": ["s3://my-bucket", {"Get": "Execution.PipelineExecutionId"}]}}
    get = {"Get": "Parameters.Text"}
    assert arguments["DebugHookConfig"]["S3OutputPath"] == where
    assert arguments["DebugHookConfig"]["HookParameters"] == {"save_interval": get}
    assert arguments["DebugHookConfig"]["CollectionConfigurations"][0]["CollectionParameters"] == {"start_step": get}
    assert arguments["DebugRuleConfigurations"][0]["RuleParameters"]["threshold"] == get
    assert arguments["TensorBoardOutputConfig"] == {"S3OutputPath": where}
    assert arguments["ProfilerConfig"] == {"S3OutputPath": where}


def test_stop_training_follows_the_job_and_needs_a_prefix_in_a_pipeline(make, pipeline_session, requests):
    """The trainer makes the job's name itself, at the last moment."""
    trainer = make(rules=RULES)
    trainer.train(wait=False)
    text = requests[0]["DebugRuleConfigurations"][0]["RuleParameters"]["action_json"]
    assert requests[0]["TrainingJobName"] in text
    with pytest.raises(RequestValidationError, match="must have a training_job_prefix"):
        arguments_of(make(sagemaker_session=pipeline_session, rules=RULES))


def test_methods_set_what_fields_set_and_return_the_trainer(make, requests):
    """As the trainer's own do."""
    given = settings()
    trainer = (
        make()
        .with_debugger_hook_config(given["debugger_hook_config"])
        .with_rules(given["rules"])
        .with_profiler_config(given["profiler_config"])
        .with_tensorboard_output_config(given["tensorboard_output_config"])
    )
    trainer.train(wait=False)
    assert debugger_members(requests[0]) == expected()
    trainer.with_debugger_hook_config(False).with_rules(None).with_profiler_config()
    trainer.tensorboard_output_config = None
    trainer.train(wait=False)
    output = requests[1]["OutputDataConfig"]["S3OutputPath"]
    assert debugger_members(requests[1]) == {"ProfilerConfig": {"S3OutputPath": output}}
    assert trainer.latest_job_debugger_artifacts_path() is None


def test_the_trainers_own_tensorboard_stays(make, requests):
    """With its default place, or as its own shape."""
    make().with_tensorboard_output_config().train(wait=False)
    assert requests[0]["TensorBoardOutputConfig"]["LocalPath"] == "/opt/ml/output/tensorboard"
    make().with_tensorboard_output_config(TensorBoardShape(s3_output_path="s3://my-bucket/tb")).train(wait=False)
    assert requests[1]["TensorBoardOutputConfig"] == {"S3OutputPath": "s3://my-bucket/tb"}


def test_defaults_are_the_hook_and_no_profiler(make, requests):
    """The same hook as on every surface; the profiler only when asked for."""
    make().train(wait=False)
    assert debugger_members(requests[0]) == {"DebugHookConfig": {"S3OutputPath": BUCKET}}
    before = set_default_hook(False)
    try:
        make().train(wait=False)
    finally:
        set_default_hook(before)
    assert debugger_members(requests[1]) == {}


def test_objects_of_the_sdk_are_taken(make, requests):
    """Those of its debugger module, which its trainer refuses, and its shapes; mixed with ours."""
    hook = core.DebuggerHookConfig(collection_configs=[core.CollectionConfig("losses", {"save_interval": "5"})])
    rules = [
        core.Rule.sagemaker(core.rule_configs.overfit()),
        *RULES,
        core.ProfilerRule.sagemaker(core.rule_configs.BatchSize()),
    ]
    make(debugger_hook_config=hook, rules=rules, profiler_config=core.ProfilerConfig()).train(wait=False)
    assert [rule["RuleConfigurationName"] for rule in requests[0]["DebugRuleConfigurations"]] == [
        "Overfit", "VanishingGradient",
    ]  # fmt: skip
    assert requests[0]["DebugHookConfig"]["CollectionConfigurations"][0]["CollectionName"] == "losses"
    assert hook.s3_output_path is None
    shape = DebugHookConfig(
        s3_output_path="s3://my-bucket/s", collection_configurations=[CollectionConfiguration(collection_name="losses")]
    )
    rule = DebugRuleConfiguration(
        rule_configuration_name="R", rule_evaluator_image="111122223333.dkr.ecr.us-east-1.amazonaws.com/mine:1",
        instance_type="ml.t3.medium", volume_size_in_gb=5, rule_parameters={"a": "b"},
    )  # fmt: skip
    make(debugger_hook_config=shape, rules=[rule]).train(wait=False)
    assert requests[1]["DebugHookConfig"] == {
        "S3OutputPath": "s3://my-bucket/s", "CollectionConfigurations": [{"CollectionName": "losses"}]
    }  # fmt: skip
    assert requests[1]["DebugRuleConfigurations"] == [
        {
            "RuleConfigurationName": "R",
            "RuleEvaluatorImage": "111122223333.dkr.ecr.us-east-1.amazonaws.com/mine:1",
            "InstanceType": "ml.t3.medium",
            "VolumeSizeInGB": 5,
            "RuleParameters": {"a": "b"},
        }
    ]


def test_local_sources_of_rules_are_uploaded(make, requests, aws, tmp_path):
    """In the session's default bucket."""
    file = tmp_path / "rule.py"
    file.write_text("class A: ...\n")
    make(rules=[Rule.custom("Mine", None, "ml.t3.medium", 5, source=str(file), rule_to_invoke="A")]).train(wait=False)
    uri = requests[0]["DebugRuleConfigurations"][0]["RuleParameters"]["source_s3_uri"]
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    assert aws.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read() == b"class A: ...\n"


def test_source_code_of_the_trainer_is_not_in_the_way(make, requests, tmp_path):
    """A whole job, with a script and a hook."""
    (tmp_path / "train.py").write_text("print('training')\n")
    make(source_code=SourceCode(source_dir=str(tmp_path), entry_script="train.py"), **settings()).train(wait=False)
    assert debugger_members(requests[0]) == expected()


def test_preview_of_paths_needs_no_job(make):
    """With the job's name, or a placeholder for it; before there is a job there is nothing else."""
    trainer = make(rules=RULES)
    assert trainer.preview_debugger_artifact_paths("next").debugger == f"{BUCKET}/next/debug-output"
    assert trainer.preview_debugger_artifact_paths().debugger == f"{BUCKET}/{{job_name}}/debug-output"
    with pytest.raises(SMDebugValueError, match="is not associated with a training job yet"):
        trainer.latest_job_debugger_artifacts_path()
    assert trainer.explain_debugger().can_all_evaluate


def test_copies_keep_the_settings_and_are_independent(make, requests):
    """As those of the trainer's own fields."""
    trainer = make(**settings())
    for copied in (trainer.model_copy(), copy.copy(trainer)):
        assert type(copied) is type(trainer)
        assert copied.rules == trainer.rules
        copied.debugger_hook_config = False
        copied.rules = None
    trainer.train(wait=False)
    assert debugger_members(requests[0]) == expected()


def without_session(trainer):
    """Leave out what cannot be pickled of any trainer: sessions, and the SDK's manager of its configuration."""
    trainer.__dict__.update(sagemaker_session=None, config_mgr=None)
    return trainer


def test_pickling_works_as_that_of_the_trainer(make):
    """Whatever of a trainer can be pickled."""
    plain = without_session(make(adapt=lambda cls: cls))
    assert pickle.loads(pickle.dumps(plain)).base_job_name == "job"
    trainer = without_session(make(**settings()))
    restored = pickle.loads(pickle.dumps(trainer))
    assert type(restored) is with_debugger(ModelTrainer)
    assert restored.base_job_name == "job"
    assert restored.debugger_hook_config == trainer.debugger_hook_config
    assert restored.rules == trainer.rules


def test_a_class_with_the_mixin_in_its_bases_does_the_same(session, requests):
    """For those who write classes themselves."""

    class Mine(TrainerDebuggerMixin, ModelTrainer):
        pass

    Mine(
        training_image="my-image", role=ROLE, base_job_name="mine", sagemaker_session=session, rules=RULES,
        compute=Compute(instance_type="ml.p3.2xlarge", instance_count=1),
    ).train(wait=False)  # fmt: skip
    assert "DebugRuleConfigurations" in requests[0]


def test_wrong_settings_are_refused_before_anything_is_sent(make, requests):
    """All at once, each with its path; unknown fields as ever."""
    with pytest.raises(RequestValidationError, match=r"DebugRuleConfigurations\[1\].RuleConfigurationName"):
        make(rules=RULES * 2).train(wait=False)
    with pytest.raises(RequestValidationError, match="rules must come with a hook"):
        make(rules=RULES, debugger_hook_config=False).train(wait=False)
    with pytest.raises(ValueError, match="debugger_hook_konfig"):
        make(debugger_hook_konfig=True)
    assert requests == []


def test_special_jobs_are_treated_as_by_estimators(make, requests, aws):
    """Checkpoints, Trainium, regions."""
    checkpoints = CheckpointConfig(s3_uri="s3://my-bucket/c", local_path="/opt/ml/checkpoints")
    make(checkpoint_config=checkpoints).train(wait=False)
    with pytest.warns(DebugExtWarning, match="distributed jobs that write checkpoints"):
        make(checkpoint_config=checkpoints, instance_count=2).train(wait=False)
    assert ["DebugHookConfig" in request for request in requests] == [True, False]
    with pytest.raises(SMDebugValueError, match="does not run on Trainium"):
        make(
            compute=Compute(instance_type="ml.trn1.2xlarge", instance_count=1), profiler_config=ProfilerConfig()
        ).train()
    session = Session(boto_session=aws.session("ca-west-1"), default_bucket=aws.default_bucket)
    session.sagemaker_config = {}
    with pytest.raises(RequestValidationError, match="no evaluator for built-in rules in region 'ca-west-1'"):
        make(sagemaker_session=session, rules=RULES).train(wait=False)


def test_local_containers_leave_all_out_with_a_word(make):
    """Nothing of Debugger runs there; the container is not started here, its arguments are only made."""
    trainer = make(training_mode=Mode.LOCAL_CONTAINER, rules=RULES)
    with pytest.warns(DebugExtWarning, match="run_training_job"):
        arguments = trainer._create_training_job_args()
    assert "debug_hook_config" not in arguments


def test_a_dry_run_checks_the_settings(make, requests):
    """And sends nothing."""
    make(rules=RULES).train(dry_run=True)
    with pytest.raises(RequestValidationError):
        make(rules=RULES * 2).train(dry_run=True)
    assert requests == []


def test_with_debugger_of_a_trainer_that_makes_its_requests_itself_says_why_not():
    """And what to do instead."""
    with pytest.raises(SMDebugTypeError, match="use attach_debugger on its boto3 session"):
        with_debugger(SFTTrainer)
