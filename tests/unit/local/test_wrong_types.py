"""Whatever a request holds in place of a member, planning the job ends in an error of ours or succeeds."""

from __future__ import annotations

import copy
import sys

import pytest

from sagemaker_debug_ext.errors import DebugExtError, RequestValidationError, SMDebugTypeError
from sagemaker_debug_ext.local.plan import plan_job

ODD = [None, 7, 1.5, True, "", [], {}, [7], {"a": 7}, "a\0b", "x" * 3000, -1, b"x", {7: 7}, "\udc80"]


@pytest.fixture
def request_of_all_kinds(tmp_path):
    """A request with every member that the local runner reads."""
    (tmp_path / "source").mkdir()
    (tmp_path / "source/train.py").write_text("")
    return {
        "TrainingJobName": "job",
        "AlgorithmSpecification": {"TrainingImage": "image", "TrainingInputMode": "File"},
        "RoleArn": "arn:aws:iam::123456789012:role/x",
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/output"},
        "ResourceConfig": {"InstanceType": "ml.m5.large", "InstanceCount": 1, "VolumeSizeInGB": 1},
        "StoppingCondition": {"MaxRuntimeInSeconds": 60},
        "HyperParameters": {"sagemaker_program": "train.py", "sagemaker_submit_directory": str(tmp_path / "source")},
        "InputDataConfig": [
            {
                "ChannelName": "train",
                "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": str(tmp_path / "source")}},
            }
        ],
        "DebugHookConfig": {
            "S3OutputPath": "s3://bucket/debug",
            "HookParameters": {"save_interval": "1"},
            "CollectionConfigurations": [
                {"CollectionName": "mine", "CollectionParameters": {"include_regex": "x"}},
            ],
        },
        "DebugRuleConfigurations": [
            {
                "RuleConfigurationName": "rule",
                "RuleEvaluatorImage": "image",
                "RuleParameters": {"rule_to_invoke": "VanishingGradient"},
            }
        ],
        "TensorBoardOutputConfig": {"S3OutputPath": "s3://bucket/tensorboard"},
        "CheckpointConfig": {"S3Uri": "s3://bucket/checkpoints"},
        "Environment": {"A": "b"},
    }


def places(value, place=()):
    yield place
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        yield from places(item, (*place, key))


@pytest.mark.filterwarnings("ignore::sagemaker_debug_ext.errors.DebugExtWarning")
@pytest.mark.parametrize("odd", ODD, ids=lambda odd: repr(odd)[:20])
def test_plan_when_any_member_is_something_else_then_an_error_of_ours(request_of_all_kinds, tmp_path, odd):
    """With the checks of the service and without them."""
    for place in places(request_of_all_kinds):
        changed = copy.deepcopy(request_of_all_kinds)
        if place:
            member = changed
            for key in place[:-1]:
                member = member[key]
            member[place[-1]] = odd
        for check in (True, False):
            try:
                plan_job(changed if place else odd, tmp_path / "work", sys.executable, check)
            except DebugExtError:
                continue
            except Exception as error:
                raise AssertionError(f"{place}, check={check}: {error!r}") from error


def test_plan_when_a_type_is_wrong_then_the_member_is_named(request_of_all_kinds, tmp_path):
    """Without the checks of the service, the message still says what is expected where."""
    request_of_all_kinds["DebugRuleConfigurations"][0]["RuleConfigurationName"] = 7
    with pytest.raises(RequestValidationError, match=r"DebugRuleConfigurations\[0\]\.RuleConfigurationName: .* type"):
        plan_job(request_of_all_kinds, tmp_path, sys.executable, check=False)
    with pytest.raises(SMDebugTypeError, match="request must be a dictionary"):
        plan_job([], tmp_path, sys.executable, check=False)


@pytest.mark.parametrize("check", [True, False])
def test_plan_when_a_hyperparameter_has_a_nul_then_it_is_named(request_of_all_kinds, tmp_path, check):
    """No process can be given such an argument."""
    request_of_all_kinds["HyperParameters"]["name"] = "a\0b"
    with pytest.raises(RequestValidationError, match=r"HyperParameters\.name: must not contain NUL"):
        plan_job(request_of_all_kinds, tmp_path, sys.executable, check)


def test_plan_when_a_location_is_a_folder_then_accepted_without_the_checks(request_of_all_kinds, tmp_path):
    """The types are right, so nothing is refused that was accepted before."""
    request_of_all_kinds["OutputDataConfig"] = {"S3OutputPath": str(tmp_path / "output")}
    assert plan_job(request_of_all_kinds, tmp_path, sys.executable, check=False).name == "job"
