"""Generated settings: the mixin, plain boto3 and, where it has no fault, the SDK itself agree."""

from __future__ import annotations

import functools
from importlib.metadata import version

import pytest
import sagemaker.debugger as sdk
import sagemaker.estimator
import sagemaker.image_uris
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sagemaker.estimator import Estimator, _TrainingJob

import sagemaker_debug_ext as ours
from sagemaker_debug_ext.requests import DEBUGGER_MEMBERS
from sagemaker_debug_ext.sdk import debugger_request, with_debugger
from support.aws import ROLE
from support.configurations import build, conflicts_with_hook, specs, typed
from support.requests import botocore_check, normalised

pytestmark = pytest.mark.filterwarnings("ignore::sagemaker_debug_ext.errors.DebugExtWarning")

IMAGE = "763104351884.dkr.ecr.us-east-1.amazonaws.com/pytorch-training:2.5.1-cpu-py311"
BRINGS = {"vanishing_gradient": ["gradients"], "weight_update_ratio": ["weights"], "loss_not_decreasing": ["losses"],
          "dead_relu": ["relu_output"]}  # fmt: skip
VERSION = tuple(int(part) for part in version("sagemaker").split(".")[:2])
MANY = settings(
    max_examples=400,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def validate():
    """Botocore's own check of a request."""
    return botocore_check()


@pytest.fixture(scope="module", autouse=True)
def quick_sdk():
    """Let the SDK do once what takes it long: read its tables of images, and make a client for each estimator."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("sagemaker.image_uris.retrieve", functools.cache(sagemaker.image_uris.retrieve))
        if hasattr(sagemaker.estimator, "TensorBoardApp"):
            monkeypatch.setattr(
                "sagemaker.estimator.TensorBoardApp", functools.cache(sagemaker.estimator.TensorBoardApp)
            )
        yield


@pytest.fixture
def request_of(session):
    """Return the requests that an estimator would send: ``request_of(cls, name, times, **arguments)``."""

    def request_of(cls, job_name, times=1, **arguments):
        estimator = cls(
            image_uri=IMAGE, role=ROLE, instance_count=1, instance_type="ml.g5.xlarge", sagemaker_session=session,
            output_path="s3://my-bucket/out", **arguments,
        )  # fmt: skip
        requests = []
        for _ in range(times):
            estimator._prepare_for_training(job_name)
            train_args = _TrainingJob._get_train_args(estimator, None, None)
            requests.append(session._get_train_request(**train_args))
        return requests

    return request_of


@MANY
@given(spec=specs(), as_typed=st.booleans())
def test_generated_settings_give_the_same_members_everywhere(spec, as_typed, request_of, validate):
    """Through the mixin and boto3, however they are spelt, each time they are serialised; and botocore takes them.

    The mixin also sends the service's defaults that the SDK sends.
    """
    spell = typed if as_typed else str
    once, twice = request_of(with_debugger(Estimator), "job-1", 2, **build(spec, ours, spell))
    assert once == twice
    assert validate(once) == ""
    arguments = build(spec, ours, spell)
    if arguments["profiler_config"] is None and not arguments["disable_profiler"] and not spec["profiler_rules"]:
        arguments["disable_profiler"] = False  # estimators profile by default
    plain = debugger_request(job_name="job-1", region="us-east-1", output_path="s3://my-bucket/out", **arguments)
    assert normalised(once) == normalised(plain)


@pytest.mark.skipif(VERSION < (2, 200), reason="older releases have other defaults, which ours do not follow")
@MANY
@given(spec=specs().filter(lambda spec: not conflicts_with_hook(spec, BRINGS)), api=st.sampled_from([ours, sdk]))
def test_generated_settings_give_what_the_sdk_itself_sends(spec, api, request_of):
    """With our objects or the SDK's, where the SDK has no fault."""
    by_sdk = request_of(Estimator, "job-1", **build(spec, sdk))[0]
    by_us = request_of(with_debugger(Estimator), "job-1", **build(spec, api))[0]
    assert normalised(by_us) == normalised(by_sdk)
    rest = [
        {name: value for name, value in request.items() if name not in DEBUGGER_MEMBERS} for request in (by_us, by_sdk)
    ]
    assert rest[0] == rest[1]
