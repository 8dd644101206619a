"""The limits of requests that self-managed jobs can exceed: each is refused with member, limit and number."""

from __future__ import annotations

import hashlib

import pytest

from sagemaker_debug_ext import CollectionConfig, DebuggerHookConfig, SelfManaged
from sagemaker_debug_ext.config.job_spec import JobSpec, encode_job_spec
from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.requests.checks import longest_processing_seconds
from sagemaker_debug_ext.requests.processing import watcher_job_request
from sagemaker_debug_ext.requests.self_managed import MAX_TUNING_ENTRIES, self_managed_request
from sagemaker_debug_ext.rules.evaluation.status import MAX_DETAILS

OUTPUT = {"OutputDataConfig": {"S3OutputPath": "s3://bucket/output"}}
LONG = {"OutputDataConfig": {"S3OutputPath": f"s3://bucket/{'p' * 985}"}}
CHANNELS = [{"ChannelName": f"c{number}"} for number in range(20)]
LARGE = DebuggerHookConfig(
    collection_configs=[
        CollectionConfig(f"c{number}", {"include_regex": hashlib.sha512(str(number).encode()).hexdigest()})
        for number in range(200)
    ]
)
"""Settings that no environment holds."""
ROLE = "arn:aws:iam::123456789012:role/Watcher"


def submit(request, **settings):
    """Return what calls `self_managed_request`."""
    return lambda: self_managed_request({**OUTPUT, **request}, **settings)


def watch(**settings):
    """Return what calls `watcher_job_request`."""
    job = {"training_job_name": "digits-1", "image_uri": "my/rules:1", "role_arn": ROLE}
    return lambda: watcher_job_request(**{**job, **settings})


def variables(number):
    return {f"V{index}": "" for index in range(number)}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (submit({"Environment": variables(99)}), r"Environment: must have at most 100 entries \(got 101"),
        (
            submit({"Environment": variables(47)}, max_entries=MAX_TUNING_ENTRIES),
            r"Environment: must have at most 48 entries \(got 49",
        ),
        (
            submit({"Environment": {"V" * 513: ""}}),
            r"Environment: names must have at most 512 letters, digits and _, .*\(got 513 characters, 'VVV",
        ),
        (submit({"Environment": {"a-b": ""}}), r"Environment: names must have .*\(got 3 characters, 'a-b'\)"),
        (
            submit({"Tags": [{"Key": str(number)} for number in range(50)]}, self_managed=SelfManaged(tag=True)),
            r"Tags: must have at most 50 items, one of them 'sagemaker-debug-ext' \(got 51\)",
        ),
        (submit({"Environment": {"V": "x" * 513}}), r"Environment.V: must have at most 512 characters \(got 513\)"),
        (
            submit({}, debugger_hook_config=LARGE),
            r"Environment: the job spec must fit into 16 environment variables of 512 characters \(got \d\d\)",
        ),
        (
            submit({"InputDataConfig": CHANNELS}, debugger_hook_config=LARGE, upload=lambda *_: None),
            r"InputDataConfig: must have at most 20 channels, .*\(got 20 others\)",
        ),
        (
            submit(LONG, self_managed=SelfManaged(config="channel"), upload=lambda *_: None),
            r"InputDataConfig: must have at most 1024 characters \(got 1070",
        ),
        (
            submit({**LONG, "EnableNetworkIsolation": True, "TrainingJobName": "j" * 63}),
            r"CheckpointConfig.S3Uri: must have at most 1024 characters \(got 1075",
        ),
        (watch(environment=variables(101)), r"Environment: must have at most 100 entries \(got 101\)"),
        (watch(environment={"V": "x" * 257}), r"Environment.V: must have at most 256 characters \(got 257"),
        (watch(image_uri="i" * 256), r"AppSpecification.ImageUri: must have at most 255 characters"),
        (watch(max_runtime_in_seconds=777_601), r"max_runtime_in_seconds must be 1 to [67]\d{5} \(got 777601\)"),
    ],
)
def test_limit_when_exceeded_then_is_refused(make, message):
    """Before anything is sent or uploaded."""
    with pytest.raises(DebugExtError, match=message):
        make()


@pytest.mark.parametrize(
    "make",
    [
        submit({"Environment": variables(98)}),
        submit({"Environment": variables(46)}, max_entries=MAX_TUNING_ENTRIES),
        submit({"Environment": {"V": "x" * 512, "_" + "v" * 511: ""}}),
        submit({"Tags": [{"Key": str(number)} for number in range(49)]}, self_managed=SelfManaged(tag=True)),
        submit({"InputDataConfig": CHANNELS[1:]}, debugger_hook_config=LARGE, upload=lambda *_: None),
        submit({"InputDataConfig": CHANNELS}),
        watch(environment=variables(100)),
        watch(environment={"V": "x" * 256}, training_job_name="j" * 63, number=9),
        watch(max_runtime_in_seconds=longest_processing_seconds()),
    ],
)
def test_limit_when_reached_then_is_accepted(make):
    """To the last entry and character."""
    make()


def test_two_hundred_typical_collections_fit_into_the_variables():
    """With the patterns of layers of a large network."""
    collections = [
        {
            "CollectionName": f"block_{number}",
            "CollectionParameters": {
                "include_regex": rf"encoder\.layers\.{number}\..*(weight|bias)$",
                "save_interval": str(number % 7 + 1),
            },
        }
        for number in range(200)
    ]
    spec = JobSpec(hook={"S3OutputPath": "s3://bucket/output", "CollectionConfigurations": collections})
    environment = encode_job_spec(spec)
    assert len(environment) <= 16
    assert max(map(len, environment.values())) <= 512


def test_details_of_statuses_have_the_length_of_the_service():
    """Longer ones are cut."""
    assert MAX_DETAILS == 1024
