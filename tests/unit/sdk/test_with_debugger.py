"""Classes that look like the SDK's get the settings, whatever SDK is installed."""

from __future__ import annotations

import importlib
import pickle
import sys

import pytest

from sagemaker_debug_ext import rule_configs
from sagemaker_debug_ext._imports import callbacks
from sagemaker_debug_ext.config import DebuggerHookConfig, Rule
from sagemaker_debug_ext.errors import SMDebugRuntimeError, SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.sdk import DebuggerMixin, TrainerDebuggerMixin, with_debugger
from sagemaker_debug_ext.sdk import plain_estimators as plain_module
from sagemaker_debug_ext.sdk.estimators import PreparedMember
from sagemaker_debug_ext.sdk.trainers import to_snake

RULE = Rule.sagemaker(rule_configs.overfit())


class Session:
    boto_region_name = "us-east-1"

    def default_bucket(self):
        return "bucket"


class Job:
    name = training_job_name = "job-1"


class Estimator:
    """The parts of an estimator of SDK v2 that the mixin meets."""

    instance_type = "ml.m5.xlarge"
    instance_count = 1
    latest_training_job = None

    def __init__(self, debugger_hook_config=None, rules=None, profiler_config=None, disable_profiler=False):
        self.sagemaker_session = Session()
        self.output_path = "s3://b/out"
        self.debugger_hook_config = {} if debugger_hook_config is True else debugger_hook_config
        self.rules = rules
        self.tensorboard_output_config = None
        self.profiler_config = profiler_config
        self.disable_profiler = disable_profiler

    def enable_network_isolation(self):
        return False

    def _prepare_rules(self):
        raise AssertionError("the SDK's own step must not run")

    def _prepare_debugger_for_training(self):
        raise AssertionError("the SDK's own step must not run")

    def fit(self):
        self._current_job_name = "job-1"
        self._prepare_rules()
        self._prepare_debugger_for_training()
        self.sent = {
            name: getattr(self, name)._to_request_dict()
            for name in ("debugger_hook_config", "profiler_config")
            if getattr(self, name)
        }
        self.latest_training_job = Job()


class Trainer:
    """The parts of a trainer of SDK v3 that the mixin meets."""

    _latest_training_job = None

    def __init__(self, **fields):
        self.sagemaker_session = Session()
        self.__dict__.update(fields)

    def _create_training_job_args(self, boto3=False):
        return dict(self.arguments)


def test_estimators_send_members_and_keep_settings():
    """The SDK sees finished members while it sends a job, the user the settings before and after."""
    hook = DebuggerHookConfig()
    estimator = with_debugger(Estimator)(debugger_hook_config=hook, rules=[RULE])
    assert estimator.debugger_hook_config is hook
    estimator.fit()
    assert estimator.sent["debugger_hook_config"] == {"S3OutputPath": "s3://b/out", "CollectionConfigurations": []}
    assert estimator.sent["profiler_config"] == {"S3OutputPath": "s3://b/out", "DisableProfiler": False}
    assert estimator.debugger_hook_config is hook
    assert estimator.profiler_config is None
    assert estimator.latest_job_debugger_artifacts_path() == "s3://b/out/job-1/debug-output"
    assert estimator.rule_output_path(RULE) == "s3://b/out/job-1/rule-output/Overfit"


def test_member_views_ask_the_setting_for_everything_else():
    """And give a new dictionary each time."""
    view = PreparedMember(
        {"S3OutputPath": "s3://b", "HookParameters": {"a": "1"}},
        DebuggerHookConfig(hook_parameters={"save_interval": 5}),
    )
    assert view.s3_output_path == "s3://b"
    assert view.hook_parameters == {"save_interval": "5"}
    view._to_request_dict()["HookParameters"].clear()
    assert view._to_request_dict()["HookParameters"] == {"a": "1"}
    with pytest.raises(AttributeError):
        _ = view._private


def test_adapted_classes_are_made_once_and_pickled_by_their_base():
    """No name in a module is needed."""
    kind = with_debugger(Estimator)
    assert kind is with_debugger(Estimator)
    assert kind is with_debugger(kind)
    assert issubclass(kind, DebuggerMixin)
    restored = pickle.loads(pickle.dumps(kind(debugger_hook_config=DebuggerHookConfig("s3://b"))))
    assert type(restored) is kind
    assert restored.debugger_hook_config == DebuggerHookConfig("s3://b")


def test_pickling_of_a_users_subclass_is_its_own_affair():
    """It can be imported by its name, or not."""

    class Mine(with_debugger(Estimator)):
        pass

    with pytest.raises((AttributeError, pickle.PicklingError), match="Mine"):
        pickle.dumps(Mine())


@pytest.mark.parametrize("what", [int, "Estimator", type("MyTuner", (), {}), type("SFTTrainer", (), {})])
def test_with_debugger_of_anything_else_is_refused(what):
    """It says what it takes."""
    with pytest.raises(SMDebugTypeError, match="with_debugger takes"):
        with_debugger(what)


class Output:
    s3_output_path = "s3://b"


SNAKE = {"algorithm_specification": object(), "training_job_name": "j", "output_data_config": Output()}
PASCAL = {"AlgorithmSpecification": {}, "OutputDataConfig": {"S3OutputPath": "s3://b"}}


@pytest.mark.parametrize(
    ("arguments", "members"),
    [
        (SNAKE, {"debug_hook_config": {"s3_output_path": "s3://b"}}),
        (PASCAL, {"DebugHookConfig": {"S3OutputPath": "s3://b"}}),
    ],
    ids=["snake", "pascal"],
)
def test_trainers_add_members_in_the_spelling_they_find(arguments, members):
    """Everything else stays."""
    trainer = with_debugger(Trainer)(arguments=arguments)
    assert isinstance(trainer, TrainerDebuggerMixin)
    assert trainer._create_training_job_args() == {**arguments, **members}


def test_trainers_of_a_release_that_works_otherwise_are_refused():
    """Rather than sending a job without the settings."""
    with pytest.raises(SMDebugRuntimeError, match=r"builds requests differently.*got the members spec"):
        with_debugger(Trainer)(arguments={"spec": 1})._create_training_job_args()


def test_trainers_before_their_first_job_have_no_paths():
    """There is nothing to ask about."""
    with pytest.raises(SMDebugValueError, match="is not associated with a training job yet"):
        with_debugger(Trainer)().latest_job_debugger_artifacts_path()


def test_to_snake_leaves_the_users_keys_alone():
    """Only members are spelt in another way."""
    member = {
        "S3OutputPath": "s3://b",
        "HookParameters": {"SaveInterval": "5"},
        "CollectionConfigurations": [{"CollectionName": "A"}],
    }
    assert to_snake(member) == {
        "s3_output_path": "s3://b",
        "hook_parameters": {"SaveInterval": "5"},
        "collection_configurations": [{"collection_name": "A"}],
    }  # fmt: skip


@pytest.fixture
def fake_sdk(tmp_path, monkeypatch):
    """A package like the SDK's, with a class of estimators that knows nothing of this package."""
    package = tmp_path / "sagemaker"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "estimator.py").write_text(
        "class EstimatorBase:\n"
        "    def _prepare_rules(self):\n"
        "        self.prepared_by = 'the SDK'\n"
        "    def _prepare_debugger_for_training(self):\n"
        "        pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [f for f in sys.meta_path if not isinstance(f, callbacks._Finder)])
    for name in [name for name in sys.modules if name.partition(".")[0] == "sagemaker"]:
        monkeypatch.delitem(sys.modules, name)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "sagemaker"]:
        sys.modules.pop(name)


@pytest.mark.parametrize("before", [True, False], ids=["already imported", "imported later"])
def test_support_plain_estimators_touches_those_with_our_settings_only(before, fake_sdk):
    """Whenever the SDK is imported, and however often it is asked for."""
    if before:
        importlib.import_module("sagemaker.estimator")
    plain_module.support_plain_estimators()
    plain_module.support_plain_estimators()
    base = importlib.import_module("sagemaker.estimator").EstimatorBase
    own = base()
    own.rules = ["not ours"]
    own._prepare_rules()
    assert own.prepared_by == "the SDK"

    class Plain(Estimator, base):
        _prepare_rules = base._prepare_rules

    estimator = Plain(rules=[RULE])
    estimator.fit()
    assert isinstance(estimator, DebuggerMixin)
    assert estimator.sent["debugger_hook_config"] == {"S3OutputPath": "s3://b/out", "CollectionConfigurations": []}
    assert estimator.latest_job_debugger_artifacts_path() == "s3://b/out/job-1/debug-output"


def test_support_plain_estimators_without_the_sdk_does_nothing(fake_sdk, tmp_path):
    """A module that is missing stays missing."""
    (tmp_path / "sagemaker" / "estimator.py").unlink()
    plain_module.support_plain_estimators()
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("sagemaker.estimator")
