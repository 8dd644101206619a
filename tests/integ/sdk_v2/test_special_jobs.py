"""Jobs in which Debugger, or a part of it, does not work: what is left out, with a word, and what is refused."""

from __future__ import annotations

import pytest
from sagemaker.debugger import Rule as SdkRule
from sagemaker.debugger import rule_configs as sdk_rule_configs
from sagemaker.estimator import Estimator
from sagemaker.huggingface import HuggingFace, TrainingCompilerConfig
from sagemaker.instance_group import InstanceGroup
from sagemaker.local import LocalSession
from sagemaker.mxnet import MXNet
from sagemaker.pytorch import PyTorch
from sagemaker.tensorflow import TensorFlow
from sagemaker.tuner import ContinuousParameter, HyperparameterTuner
from sagemaker.workflow.parameters import ParameterInteger

from sagemaker_debug_ext import DebuggerHookConfig, ProfilerConfig, ProfilerRule, Rule, rule_configs
from sagemaker_debug_ext.errors import DebugExtWarning, RequestValidationError, SMDebugValueError
from sagemaker_debug_ext.sdk import with_debugger
from support.aws import ROLE

HOOK = DebuggerHookConfig("s3://my-bucket/dbg")
RULES = [Rule.sagemaker(rule_configs.overfit())]
IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.5.1-cpu-py311"
CHECKPOINTS = {"checkpoint_s3_uri": "s3://my-bucket/ckpt", "checkpoint_local_path": "/opt/ml/checkpoints"}
FRAMEWORKS = {
    "pytorch": (PyTorch, {"framework_version": "1.12.0", "py_version": "py38"}),
    "tensorflow": (TensorFlow, {"framework_version": "2.9", "py_version": "py39"}),
    "mxnet": (MXNet, {"framework_version": "1.9.0", "py_version": "py38"}),
    "huggingface": (
        HuggingFace,
        {"transformers_version": "4.17.0", "pytorch_version": "1.10.2", "py_version": "py38"},
    ),
}


@pytest.fixture
def make(session, script):
    """Make an estimator with the mixin: ``make(framework, **arguments)``."""

    def make(framework="pytorch", **arguments):
        cls, own = FRAMEWORKS[framework]
        basic = {"role": ROLE, "entry_point": script, "instance_count": 1, "instance_type": "ml.p3.2xlarge"}
        return with_debugger(cls)(**{**basic, "sagemaker_session": session, **own, **arguments})

    return make


@pytest.fixture
def generic(session):
    """Make a generic estimator with the mixin."""

    def generic(adapt=with_debugger, **arguments):
        basic = {"image_uri": IMAGE, "role": ROLE, "instance_count": 1, "instance_type": "ml.g5.xlarge"}
        return adapt(Estimator)(**{**basic, "sagemaker_session": session, **arguments})

    return generic


@pytest.mark.parametrize("framework", ["pytorch", "tensorflow", "mxnet"])
def test_checkpoints_on_one_instance_keep_the_hook(framework, make, requests):
    """The SDK loses it for frameworks whose distribution is an empty dictionary."""
    make(framework, rules=RULES, **CHECKPOINTS).fit(wait=False, job_name="ckpt-one")
    assert "DebugHookConfig" in requests[0]
    assert "DebugRuleConfigurations" in requests[0]


@pytest.mark.parametrize("framework", ["pytorch", "tensorflow", "mxnet"])
def test_checkpoints_on_several_instances_leave_the_hook_out(framework, make, requests):
    """As the SDK does, but with a word."""
    estimator = make(framework, instance_count=2, debugger_hook_config=HOOK, **CHECKPOINTS)
    with pytest.warns(DebugExtWarning, match="no DebugHookConfig is sent: .*distributed jobs that write checkpoints"):
        estimator.fit(wait=False, job_name="ckpt-two")
    assert "DebugHookConfig" not in requests[0]
    assert estimator.latest_job_debugger_artifacts_path() is None
    assert estimator.debugger_hook_config is HOOK


def test_checkpoints_on_several_instances_leave_rules_out(make, requests):
    """The SDK sends rules that never see data; the job trains all the same."""
    with pytest.warns(DebugExtWarning, match=r"neither DebugHookConfig nor rules are sent.*Overfit"):
        make(instance_count=2, rules=RULES, **CHECKPOINTS).fit(wait=False, job_name="ckpt-rules")
    assert "DebugRuleConfigurations" not in requests[0]
    forced = make(instance_count=2, rules=RULES, allow_rules_without_hook=True, **CHECKPOINTS)
    with pytest.warns(DebugExtWarning):
        forced.fit(wait=False, job_name="ckpt-forced")
    assert "DebugRuleConfigurations" in requests[1]


@pytest.mark.parametrize("arguments", [{"checkpoint_s3_uri": "s3://my-bucket/c"}, {"checkpoint_local_path": "/ckpt"}])
def test_one_checkpoint_argument_keeps_the_hook(arguments, make, requests):
    """Only both together turn it off."""
    make(instance_count=2, **arguments).fit(wait=False, job_name="ckpt-half")
    assert "DebugHookConfig" in requests[0]


def test_checkpoints_of_other_estimators_keep_the_hook(make, generic, requests):
    """Whatever the number of instances."""
    make("huggingface", instance_count=2, **CHECKPOINTS).fit(wait=False, job_name="ckpt-hf")
    generic(instance_count=2, **CHECKPOINTS).fit(wait=False, job_name="ckpt-generic")
    assert all("DebugHookConfig" in request for request in requests)


def test_instance_groups_are_counted(make, requests):
    """The SDK fails with a type error."""
    groups = [InstanceGroup("a", "ml.p3.2xlarge", 1), InstanceGroup("b", "ml.c5.xlarge", 2)]
    arguments = {"instance_groups": groups, "instance_count": None, "instance_type": None}
    make(**arguments).fit(wait=False, job_name="groups")
    assert "DebugHookConfig" in requests[0]
    with pytest.warns(DebugExtWarning, match="distributed jobs that write checkpoints"):
        make(**arguments, **CHECKPOINTS).fit(wait=False, job_name="groups-ckpt")
    assert "DebugHookConfig" not in requests[1]


def test_a_number_of_instances_that_a_pipeline_decides_counts_as_several(make, requests):
    """It may become any number."""
    estimator = make(
        instance_count=ParameterInteger("Count", default_value=1), debugger_hook_config=HOOK, **CHECKPOINTS
    )
    with pytest.warns(DebugExtWarning, match="distributed jobs that write checkpoints"):
        estimator._prepare_for_training("job")
    assert estimator.debugger_hook_config is None


def test_parameter_server_leaves_the_hook_and_rules_out(make, requests):
    """The SDK drops both without a word, and the path of TensorBoard data with them."""
    distribution = {"parameter_server": {"enabled": True}}
    estimator = make("tensorflow", distribution=distribution, instance_count=2)
    with pytest.warns(DebugExtWarning, match="no DebugHookConfig is sent: .*parameter server"):
        estimator.fit(wait=False, job_name="ps")
    assert "DebugHookConfig" not in requests[0]
    assert estimator.latest_job_debugger_artifacts_path() is None
    with pytest.warns(DebugExtWarning, match="neither DebugHookConfig nor rules are sent: .*parameter server"):
        make("tensorflow", distribution=distribution, rules=RULES).fit(wait=False, job_name="ps-rules")
    assert "DebugRuleConfigurations" not in requests[1]


def test_trainium_switches_the_profiler_off_and_refuses_a_wanted_one(generic, requests):
    """As the SDK does."""
    generic(instance_type="ml.trn1.2xlarge").fit(wait=False, job_name="trn")
    assert requests[0]["ProfilerConfig"] == {"DisableProfiler": True}
    assert "DebugHookConfig" in requests[0]
    with pytest.raises(SMDebugValueError, match="does not run on Trainium"):
        generic(instance_type="ml.trn1.2xlarge", profiler_config=ProfilerConfig()).fit(job_name="trn-wanted")
    with pytest.raises(SMDebugValueError, match="does not run on Trainium"):
        rules = [ProfilerRule.sagemaker(rule_configs.ProfilerReport())]
        generic(instance_type="ml.trn1.2xlarge", rules=rules).fit(job_name="trn-rule")


def test_training_compiler_leaves_the_default_hook_out(make, requests):
    """None is what the SDK recommends for it, and means off here; True insists."""
    arguments = {
        "compiler_config": TrainingCompilerConfig(), "transformers_version": "4.21.1", "pytorch_version": "1.11.0",
        "instance_type": "ml.p3.2xlarge", "disable_profiler": True,
    }  # fmt: skip
    with pytest.warns(DebugExtWarning, match="Training Compiler"):
        make("huggingface", **arguments).fit(wait=False, job_name="compiled")
    make("huggingface", debugger_hook_config=True, **arguments).fit(wait=False, job_name="compiled-insist")
    assert ["DebugHookConfig" in request for request in requests] == [False, True]


@pytest.mark.parametrize("region", ["ap-southeast-3", "ca-west-1", "il-central-1"])
def test_regions_without_debugger_leave_the_defaults_out(region, generic, make_session):
    """A list of regions that have it, not of those that have it not: new ones are not taken for supported."""
    session = make_session(region=region)
    estimator = generic(sagemaker_session=session)
    with pytest.warns(DebugExtWarning, match=f"no DebugHookConfig is sent: .*'{region}', only in"):
        estimator.fit(wait=False, job_name="region")
    assert estimator.latest_job_debugger_artifacts_path() is None
    assert estimator.latest_job_profiler_artifacts_path() is None
    with pytest.raises(RequestValidationError, match="Current region does not support debugger but"):
        generic(sagemaker_session=session, debugger_hook_config=HOOK).fit(job_name="region-hook")
    with pytest.raises(RequestValidationError, match="no evaluator for built-in rules"):
        generic(sagemaker_session=session, rules=RULES).fit(job_name="region-rules")


def test_regions_without_debugger_can_be_insisted_on(generic, make_session):
    """For what is not known yet, and for images of one's own."""
    session = make_session(region="ca-west-1")
    generic(sagemaker_session=session, debugger_hook_config=HOOK, allow_region=True).fit(wait=False, job_name="insist")
    estimator = generic(sagemaker_session=session, rules=RULES, rule_image_account="111122223333")
    estimator.fit(wait=False, job_name="insist-rules")
    image = estimator.debugger_rule_configs[0]["RuleEvaluatorImage"]
    assert image == "111122223333.dkr.ecr.ca-west-1.amazonaws.com/sagemaker-debugger-rules:latest"


@pytest.mark.parametrize(
    ("region", "host"),
    [("cn-north-1", "618459771430.dkr.ecr.cn-north-1.amazonaws.com.cn"),
     ("us-gov-west-1", "515509971035.dkr.ecr.us-gov-west-1.amazonaws.com")],
)  # fmt: skip
def test_partitions_have_their_own_hosts_of_images(region, host, generic, make_session):
    """And one rule may be used in several regions; the SDK keeps the first image."""
    rule = SdkRule.sagemaker(sdk_rule_configs.overfit())
    rule.image_uri = "503895931360.dkr.ecr.us-east-1.amazonaws.com/sagemaker-debugger-rules:latest"
    estimator = generic(sagemaker_session=make_session(region=region), rules=[rule])
    estimator._prepare_for_training("job")
    assert estimator.debugger_rule_configs[0]["RuleEvaluatorImage"] == f"{host}/sagemaker-debugger-rules:latest"


def test_an_image_of_another_region_is_refused(generic):
    """The service would."""
    image = "864354269164.dkr.ecr.us-east-1.amazonaws.com/sagemaker-debugger-rule-evaluator:latest"
    rule = Rule.custom("Mine", image.replace("us-east-1", "eu-west-1"), "ml.t3.medium", 5)
    with pytest.raises(RequestValidationError, match="must be in the region of the job"):
        generic(rules=[rule]).fit(job_name="image")


def tune(estimator, name="tune"):
    ranges = {"lr": ContinuousParameter(0.1, 0.2)}
    metrics = [{"Name": "loss", "Regex": "loss: (.*)"}]
    HyperparameterTuner(estimator, "loss", ranges, metric_definitions=metrics).fit(wait=False, job_name=name)


def test_tuning_of_a_default_estimator_warns(generic):
    """Tuning jobs cannot carry the hook."""
    with pytest.warns(DebugExtWarning, match="tuning jobs cannot carry Debugger settings"):
        tune(generic())
    tune(generic(debugger_hook_config=False), "tune-off")


@pytest.mark.parametrize(
    "settings", [{"debugger_hook_config": HOOK}, {"rules": RULES}, {"profiler_config": ProfilerConfig()}]
)
def test_tuning_of_an_estimator_with_settings_is_refused(settings, generic):
    """The SDK drops them."""
    with pytest.raises(SMDebugValueError, match="make a hook in the training script"):
        tune(generic(**settings))


def test_local_mode_leaves_all_out_with_a_word(aws, script, monkeypatch):
    """The SDK drops it without one; here its container is not started, only prepared."""
    session = LocalSession(boto_session=aws.session(), default_bucket=aws.default_bucket)
    session.sagemaker_config = {}
    estimator = with_debugger(PyTorch)(
        entry_point=script, role=ROLE, instance_type="local", instance_count=1, framework_version="1.12.0",
        py_version="py38", sagemaker_session=session, rules=RULES,
    )  # fmt: skip
    with pytest.warns(DebugExtWarning, match="run_training_job"):
        estimator._prepare_for_training("local-job")
    assert estimator.debugger_hook_config is None
    assert estimator.debugger_rule_configs == []


def test_network_isolation_with_actions_warns(generic):
    """Actions need the network."""
    rules = [Rule.sagemaker(rule_configs.overfit(), actions=rule_configs.StopTraining())]
    with pytest.warns(DebugExtWarning, match="network isolation"):
        generic(rules=rules, enable_network_isolation=True).fit(wait=False, job_name="isolated")


def test_names_with_capitals_are_never_stopped_and_warned_of(generic):
    """The service's container looks for them in lower case."""
    rules = [Rule.sagemaker(rule_configs.overfit(), actions=rule_configs.StopTraining())]
    with pytest.warns(DebugExtWarning, match="lower case"):
        generic(rules=rules).fit(wait=False, job_name="Capital")
