"""Generated settings: the trainer and plain boto3 agree."""

from __future__ import annotations

import pytest
import sagemaker.core.debugger as core
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sagemaker.core.resources import TrainingJob as SdkTrainingJob

import sagemaker_debug_ext as ours
from sagemaker_debug_ext.sdk import debugger_request
from support.configurations import build, specs, typed
from support.requests import botocore_check, debugger_members

pytestmark = pytest.mark.filterwarnings("ignore::sagemaker_debug_ext.errors.DebugExtWarning")


def many(examples):
    return settings(
        max_examples=examples,
        derandomize=True,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


@pytest.fixture(scope="module")
def validate():
    """Botocore's own check of a request."""
    return botocore_check()


def plain(request, arguments):
    return debugger_request(
        job_name=request["TrainingJobName"],
        region="us-east-1",
        output_path=request["OutputDataConfig"]["S3OutputPath"],
        **arguments,
    )


@many(400)
@given(spec=specs(), as_typed=st.booleans(), api=st.sampled_from([ours, core]))
def test_generated_settings_give_the_same_members_as_boto3(spec, as_typed, api, make, validate):
    """With our objects or the SDK's, however they are spelt; and botocore takes them."""
    spell = typed if as_typed and api is ours else str
    request = make(**build(spec, api, spell))._create_training_job_args(boto3=True)
    assert validate(request) == ""
    assert debugger_members(request) == plain(request, build(spec, ours, spell))


@many(150)
@given(spec=specs())
def test_generated_settings_reach_the_service_through_the_sdks_shapes(spec, make, session, requests):
    """The SDK turns names in snake case into shapes, and these into the request."""
    arguments = make(**build(spec, ours))._create_training_job_args()
    SdkTrainingJob.create(session=session.boto_session, **arguments)
    request = requests[-1]
    assert debugger_members(request) == plain(request, build(spec, ours))
