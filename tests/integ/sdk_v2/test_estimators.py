"""Every kind of estimator, and what users do with one."""

from __future__ import annotations

import copy
import inspect
import pickle

import pytest
import sagemaker.debugger as sdk
from sagemaker.amazon.amazon_estimator import RecordSet
from sagemaker.amazon.kmeans import KMeans
from sagemaker.estimator import Estimator
from sagemaker.huggingface import HuggingFace
from sagemaker.mxnet import MXNet
from sagemaker.pytorch import PyTorch
from sagemaker.sklearn import SKLearn
from sagemaker.tensorflow import TensorFlow
from sagemaker.xgboost import XGBoost

import sagemaker_debug_ext as ours
from sagemaker_debug_ext import CollectionConfig, DebuggerHookConfig, ProfilerConfig, Rule, StopTraining, rule_configs
from sagemaker_debug_ext.errors import DebugExtWarning, RequestValidationError, SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.sdk import DebuggerMixin, TrainingJob, set_default_hook, with_debugger
from support.aws import ROLE

BUCKET = "s3://sagemaker-us-east-1-123456789012/"
IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.5.1-cpu-py311"
KINDS = {
    "generic": (Estimator, {"image_uri": IMAGE}),
    "pytorch": (PyTorch, {"framework_version": "1.12.0", "py_version": "py38"}),
    "tensorflow": (TensorFlow, {"framework_version": "2.9", "py_version": "py39"}),
    "mxnet": (MXNet, {"framework_version": "1.9.0", "py_version": "py38"}),
    "huggingface": (
        HuggingFace,
        {"transformers_version": "4.17.0", "pytorch_version": "1.10.2", "py_version": "py38"},
    ),
    "xgboost": (XGBoost, {"framework_version": "1.3-1"}),
    "sklearn": (SKLearn, {"framework_version": "1.0-1"}),
    "kmeans": (KMeans, {"k": 3}),
}


@pytest.fixture
def make(session, script):
    """Make an estimator with the mixin: ``make(kind, **arguments)``."""

    def make(kind="generic", adapt=with_debugger, **arguments):
        cls, own = KINDS[kind]
        basic = {"role": ROLE, "instance_count": 1, "instance_type": "ml.g5.xlarge", "sagemaker_session": session}
        if kind not in ("generic", "kmeans"):
            basic["entry_point"] = script
        if kind in ("sklearn", "kmeans", "mxnet", "huggingface"):
            basic["instance_type"] = "ml.p3.2xlarge" if kind in ("mxnet", "huggingface") else "ml.m5.xlarge"
        return adapt(cls)(**{**basic, **own, **arguments})

    return make


def fit(estimator, name):
    if isinstance(estimator, KMeans):
        records = RecordSet("s3://my-bucket/records", num_records=10, feature_dim=2)
        estimator.fit(records, mini_batch_size=5, wait=False, job_name=name)
    else:
        estimator.fit(wait=False, job_name=name)


@pytest.mark.parametrize("kind", KINDS)
def test_fit_of_every_kind_sends_the_default_hook_and_profiler(kind, make, requests):
    """As the SDK does today, whatever it does tomorrow."""
    estimator = make(kind)
    fit(estimator, f"kind-{kind}")
    (request,) = requests
    assert request["DebugHookConfig"] == {"S3OutputPath": BUCKET, "CollectionConfigurations": []}
    assert request["ProfilerConfig"] == {"S3OutputPath": BUCKET, "DisableProfiler": False}
    assert estimator.latest_job_debugger_artifacts_path() == f"{BUCKET}kind-{kind}/debug-output"
    assert estimator.latest_job_profiler_artifacts_path() == f"{BUCKET}kind-{kind}/profiler-output"
    assert estimator.latest_job_tensorboard_artifacts_path() is None


@pytest.mark.parametrize("kind", KINDS)
def test_fit_of_every_kind_sends_what_is_configured(kind, make, requests):
    """Ours and the SDK's objects, mixed."""
    hook = DebuggerHookConfig(
        "s3://my-bucket/dbg", collection_configs=[sdk.CollectionConfig("metrics", {"save_interval": "5"})]
    )
    rules = [
        Rule.sagemaker(rule_configs.loss_not_decreasing(), rule_parameters={"num_steps": 5}, actions=StopTraining()),
        sdk.Rule.sagemaker(sdk.rule_configs.overfit(), actions=sdk.rule_configs.StopTraining()),
        sdk.ProfilerRule.sagemaker(sdk.rule_configs.ProfilerReport()),
    ]
    estimator = make(
        kind,
        debugger_hook_config=hook,
        rules=rules,
        tensorboard_output_config=sdk.TensorBoardOutputConfig("s3://my-bucket/tb"),
        profiler_config=sdk.ProfilerConfig(system_monitor_interval_millis=1000),
    )
    fit(estimator, f"all-{kind}")
    (request,) = requests
    assert request["DebugHookConfig"] == {
        "S3OutputPath": "s3://my-bucket/dbg",
        "CollectionConfigurations": [
            {"CollectionName": "metrics", "CollectionParameters": {"save_interval": "5"}},
            {"CollectionName": "losses", "CollectionParameters": {"save_interval": "500"}},
        ],
    }
    names = [rule["RuleConfigurationName"] for rule in request["DebugRuleConfigurations"]]
    assert names == ["LossNotDecreasing", "Overfit"]
    for rule in request["DebugRuleConfigurations"]:
        assert f"all-{kind}" in rule["RuleParameters"]["action_json"]
    assert request["TensorBoardOutputConfig"] == {"S3OutputPath": "s3://my-bucket/tb"}
    assert request["ProfilerConfig"] == {
        "S3OutputPath": BUCKET,
        "DisableProfiler": False,
        "ProfilingIntervalInMilliseconds": 1000,
    }
    (report,) = request["ProfilerRuleConfigurations"]
    assert report["RuleParameters"] == {"rule_to_invoke": "ProfilerReport"}


def test_arguments_of_an_estimator_with_the_mixin_are_the_estimators(make):
    """Signatures and names stay, so help and editors show what they did."""
    cls = with_debugger(PyTorch)
    assert issubclass(cls, (PyTorch, DebuggerMixin))
    assert cls.__name__ == "PyTorch"
    assert inspect.signature(cls.fit) == inspect.signature(PyTorch.fit)
    assert with_debugger(PyTorch) is cls
    assert with_debugger(cls) is cls


def test_a_class_with_the_mixin_in_its_bases_does_the_same(session, script, requests):
    """For those who write classes themselves."""

    class Mine(DebuggerMixin, PyTorch):
        pass

    estimator = Mine(
        entry_point=script, role=ROLE, instance_type="ml.g5.xlarge", instance_count=1, framework_version="1.12.0",
        py_version="py38", sagemaker_session=session, debugger_hook_config=False,
    )  # fmt: skip
    estimator.fit(wait=False, job_name="mine")
    assert "DebugHookConfig" not in requests[0]
    assert estimator.latest_job_debugger_artifacts_path() is None


def shown(item):
    """Return all that an object of the SDK holds, as text."""
    return repr({name: getattr(value, "__dict__", value) for name, value in sorted(vars(item).items())})


def test_fit_changes_nothing_that_was_passed(make, requests):
    """Neither our objects nor the SDK's, and two estimators may share them."""
    hook = sdk.DebuggerHookConfig(collection_configs=[sdk.CollectionConfig("losses", {"save_interval": "5"})])
    rules = [
        sdk.Rule.sagemaker(sdk.rule_configs.vanishing_gradient(), actions=sdk.rule_configs.StopTraining()),
        sdk.ProfilerRule.sagemaker(sdk.rule_configs.LowGPUUtilization()),
        Rule.sagemaker(rule_configs.overfit(), actions=StopTraining()),
    ]
    profiler = sdk.ProfilerConfig()
    passed = (hook, *rules[:2], profiler)
    before = [shown(item) for item in passed]
    first = make(debugger_hook_config=hook, rules=rules, profiler_config=profiler, output_path="s3://my-bucket/one")
    second = make(debugger_hook_config=hook, rules=rules, profiler_config=profiler, output_path="s3://my-bucket/two")
    first.fit(wait=False, job_name="first")
    second.fit(wait=False, job_name="second")
    first.fit(wait=False, job_name="again")
    assert [shown(item) for item in passed] == before
    assert first.debugger_hook_config is hook
    assert first.rules is rules
    assert first.profiler_config is profiler
    assert [request["DebugHookConfig"]["S3OutputPath"] for request in requests] == [
        "s3://my-bucket/one", "s3://my-bucket/two", "s3://my-bucket/one",
    ]  # fmt: skip
    prefixes = [request["DebugRuleConfigurations"][0]["RuleParameters"]["action_json"] for request in requests]
    assert [name in text for name, text in zip(["first", "second", "again"], prefixes, strict=True)] == [True] * 3
    assert (
        requests[0]["DebugHookConfig"]["CollectionConfigurations"]
        == requests[2]["DebugHookConfig"]["CollectionConfigurations"]
    )


def test_settings_can_be_changed_between_fits(make, requests):
    """Attributes hold the user's objects and are read at each fit."""
    estimator = make()
    estimator.fit(wait=False, job_name="before")
    estimator.debugger_hook_config = False
    estimator.disable_profiler = True
    estimator.fit(wait=False, job_name="after")
    assert "DebugHookConfig" in requests[0]
    assert "DebugHookConfig" not in requests[1]
    assert requests[1]["ProfilerConfig"] == {"DisableProfiler": True}
    assert estimator.latest_job_debugger_artifacts_path() is None
    assert estimator.latest_job_profiler_artifacts_path() is None


@pytest.mark.parametrize(("setting", "has_hook"), [(None, False), (True, True), ({}, True), (False, False)])
def test_default_hook_switched_off_leaves_it_to_those_who_ask(setting, has_hook, make, requests):
    """For those who prefer to opt in."""
    before = set_default_hook(False)
    try:
        make(debugger_hook_config=setting).fit(wait=False, job_name="opt-in")
        make(rules=[Rule.sagemaker(rule_configs.overfit())]).fit(wait=False, job_name="opt-in-rules")
    finally:
        set_default_hook(before)
    assert ("DebugHookConfig" in requests[0]) == has_hook
    assert "DebugHookConfig" in requests[1]


def test_paths_before_the_first_job_are_refused(make):
    """There is no job to ask about."""
    estimator = make()
    for question in (
        estimator.latest_job_debugger_artifacts_path,
        estimator.latest_job_tensorboard_artifacts_path,
        estimator.latest_job_profiler_artifacts_path,
        estimator.rule_job_summary,
        estimator.latest_job_trial,
        estimator.disable_profiling,
    ):
        with pytest.raises(SMDebugValueError, match="is not associated with a training job yet"):
            question()


def test_preview_of_paths_needs_no_job(make):
    """With the job's name, or a placeholder for it."""
    estimator = make(rules=[Rule.sagemaker(rule_configs.overfit(), actions=StopTraining())])
    assert estimator.preview_debugger_artifact_paths("next").debugger == f"{BUCKET}next/debug-output"
    assert estimator.preview_debugger_artifact_paths().rules == {"Overfit": f"{BUCKET}{{job_name}}/rule-output/Overfit"}


def test_attach_takes_the_settings_of_the_job_over(make, session, requests):
    """Paths are there at once, and a refit has the same members."""
    rules = [Rule.sagemaker(rule_configs.vanishing_gradient(), actions=StopTraining())]
    hook = DebuggerHookConfig(
        "s3://my-bucket/dbg", collection_configs=[CollectionConfig("losses", {"save_interval": 5})]
    )
    make(debugger_hook_config=hook, rules=rules).fit(wait=False, job_name="attach-me")
    attached = with_debugger(Estimator).attach("attach-me", sagemaker_session=session)
    assert attached.latest_job_debugger_artifacts_path() == "s3://my-bucket/dbg/attach-me/debug-output"
    assert attached.latest_job_tensorboard_artifacts_path() is None
    assert attached.rule_output_path(rules[0]) == f"{BUCKET}attach-me/rule-output/VanishingGradient"
    attached.fit(wait=False, job_name="refit")
    assert requests[1]["DebugHookConfig"] == requests[0]["DebugHookConfig"]
    text = requests[0]["DebugRuleConfigurations"][0]["RuleParameters"]["action_json"]
    assert requests[1]["DebugRuleConfigurations"][0]["RuleParameters"]["action_json"] == text.replace(
        "attach-me", "refit"
    )


def test_attach_to_a_job_without_debugger_has_none(make, session):
    """What the job had not, the attached estimator has not."""
    make(debugger_hook_config=False).fit(wait=False, job_name="attach-off")
    attached = with_debugger(Estimator).attach("attach-off", sagemaker_session=session)
    assert attached.debugger_hook_config is False
    assert attached.latest_job_debugger_artifacts_path() is None


def test_rules_of_the_latest_job_are_a_table(make, session):
    """By way of the estimator, and by the job's name alone."""
    estimator = make(rules=[Rule.sagemaker(rule_configs.overfit())])
    estimator.fit(wait=False, job_name="table")
    assert [rule.name for rule in estimator.latest_job_rules()] == ["Overfit"]
    assert estimator.rule_job_summary() == []
    job = TrainingJob.describe("table", session)
    assert job.artifact_paths.debugger == f"{BUCKET}table/debug-output"
    assert TrainingJob.describe(estimator.latest_training_job).name == "table"


def test_local_sources_of_rules_are_uploaded_under_their_content(make, aws, requests, tmp_path):
    """Really to S3; the same content has the same key, another content another."""
    file = tmp_path / "rule.py"
    file.write_text("class A: ...\n")
    rule = Rule.custom("Mine", None, "ml.t3.medium", 10, source="rule.py", rule_to_invoke="A")
    estimator = make(rules=[rule])
    estimator.fit(wait=False, job_name="upload-1")
    estimator.fit(wait=False, job_name="upload-2")
    file.write_text("class A: 'changed'\n")
    estimator.fit(wait=False, job_name="upload-3")
    members = [request["DebugRuleConfigurations"][0] for request in requests]
    assert members[0]["RuleEvaluatorImage"].startswith("864354269164.dkr.ecr.us-east-1")
    uris = [member["RuleParameters"]["source_s3_uri"] for member in members]
    assert uris[0] == uris[1] != uris[2]
    bucket, _, key = uris[2].removeprefix("s3://").partition("/")
    body = aws.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read()
    assert body == b"class A: 'changed'\n"
    with pytest.raises(FileNotFoundError):
        make(rules=[Rule.custom("M", None, "ml.t3.medium", 1, source="gone.py", rule_to_invoke="A")]).fit(job_name="x")


def test_wrong_settings_are_refused_before_anything_is_sent(make, requests):
    """All at once, each with its path."""
    rules = [Rule.sagemaker(rule_configs.overfit()), Rule.sagemaker(rule_configs.overfit())]
    estimator = make(rules=rules, profiler_config=ProfilerConfig(), disable_profiler=True)
    with pytest.raises(RequestValidationError) as caught:
        estimator.fit(wait=False, job_name="wrong")
    assert [line.partition(":")[0] for line in caught.value.problems] == [
        "DebugRuleConfigurations[1].RuleConfigurationName", "ProfilerConfig",
    ]  # fmt: skip
    with pytest.raises(RequestValidationError, match="at most 20 items"):
        collections = [CollectionConfig(f"c{number}", {"include_regex": "x"}) for number in range(21)]
        make(debugger_hook_config=DebuggerHookConfig(collection_configs=collections)).fit(job_name="many")
    with pytest.raises(SMDebugTypeError, match="rules must be a list"):
        make(rules=[rule_configs.overfit()]).fit(job_name="raw")
    with pytest.raises(RequestValidationError, match="rules must come with a hook"):
        make(rules=rules[:1], debugger_hook_config=False).fit(job_name="no-hook")
    assert requests == []


def test_rules_without_a_hook_are_sent_if_forced(make, requests):
    """With a warning all the same."""
    estimator = make(
        rules=[Rule.sagemaker(rule_configs.overfit())], debugger_hook_config=False, allow_rules_without_hook=True
    )
    with pytest.warns(DebugExtWarning, match="no DebugHookConfig"):
        estimator.fit(wait=False, job_name="forced")
    assert "DebugRuleConfigurations" in requests[0]


def test_rules_that_never_evaluate_are_warned_of(make, requests):
    """With the remedy."""
    estimator = make(rules=[Rule.sagemaker(rule_configs.saturated_activation())])
    assert not estimator.explain_debugger().can_all_evaluate
    with pytest.warns(DebugExtWarning, match="SaturatedActivation.*will never give a verdict.*include_regex"):
        estimator.fit(wait=False, job_name="silent")


@pytest.mark.skipif(not hasattr(sdk, "Profiler"), reason="this release of the SDK does not know it")
def test_profiler_of_sagemaker_profiler_brings_its_processing_rule(make, requests):
    """Under a name that never changes."""
    make(profiler_config=sdk.ProfilerConfig(profile_params=sdk.Profiler(cpu_profiling_duration=60))).fit(
        wait=False, job_name="deep"
    )
    (rule,) = requests[0]["ProfilerRuleConfigurations"]
    assert rule["RuleConfigurationName"] == "DetailedProfilerProcessingJobConfig"
    assert rule["RuleEvaluatorImage"].endswith("/detailed-profiler-processing:latest")
    assert (rule["InstanceType"], rule["VolumeSizeInGB"]) == ("ml.m5.4xlarge", 128)
    assert requests[0]["ProfilerConfig"]["ProfilingParameters"]["CPUProfilingDuration"] == "60"


def test_copies_of_an_estimator_are_independent(make, requests):
    """Shallow and deep."""
    estimator = make(debugger_hook_config=DebuggerHookConfig("s3://my-bucket/a"))
    other = copy.copy(estimator)
    other.debugger_hook_config = False
    estimator.fit(wait=False, job_name="original")
    other.fit(wait=False, job_name="copied")
    assert "DebugHookConfig" in requests[0]
    assert "DebugHookConfig" not in requests[1]
    assert type(other) is type(estimator)


def test_pickling_needs_no_name_of_the_class(make):
    """Whatever of an estimator can be pickled; sessions cannot."""
    estimator = make(debugger_hook_config=DebuggerHookConfig("s3://my-bucket/a"))
    estimator.sagemaker_session = None
    for name in ("tensorboard_app",):
        estimator.__dict__.pop(name, None)
    restored = pickle.loads(pickle.dumps(estimator))
    assert type(restored) is type(estimator)
    assert restored.debugger_hook_config == DebuggerHookConfig("s3://my-bucket/a")


def test_with_debugger_of_a_tuner_says_why_not():
    """And what to do instead."""
    from sagemaker.tuner import HyperparameterTuner

    with pytest.raises(SMDebugTypeError, match="make a hook in the training script"):
        with_debugger(HyperparameterTuner)


def test_names_of_the_package_are_those_of_the_sdk():
    """Whatever a script imports from the SDK's module is here."""
    names = {name for name in vars(sdk) if not name.startswith("_")} - {"absolute_import"}
    missing = {name for name in names if not hasattr(ours, name)}
    assert missing == set()
