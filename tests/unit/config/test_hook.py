"""The hook as the user asks for it, and where TensorBoard data go."""

import attrs
import pytest

from sagemaker_debug_ext.config import CollectionConfig, DebuggerHookConfig, TensorBoardOutputConfig
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError


def test_hook_takes_its_arguments_by_position_as_in_the_sdk():
    """Scripts written for the SDK keep working."""
    hook = DebuggerHookConfig("s3://b/p", "/local", {"save_interval": 5}, [CollectionConfig("weights")])
    assert (hook.s3_output_path, hook.container_local_output_path) == ("s3://b/p", "/local")
    assert hook.hook_parameters == {"save_interval": "5"}
    assert hook.collection_configs == (CollectionConfig("weights"),)
    assert DebuggerHookConfig() == DebuggerHookConfig(None, None, None, None)


def test_hook_is_a_value():
    """It cannot be changed, and equal ones have equal hashes."""
    hook = DebuggerHookConfig("s3://b", collection_configs=(CollectionConfig("weights"),))
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        hook.s3_output_path = "s3://other"
    assert hash(hook) == hash(DebuggerHookConfig("s3://b", collection_configs=[CollectionConfig("weights")]))


@pytest.mark.parametrize("path", ["bucket/prefix", "/local", "s3:/b", "gs://b/p", "s3:///p", "s3://b/" + "x" * 1024])
@pytest.mark.parametrize("kind", [DebuggerHookConfig, TensorBoardOutputConfig])
def test_output_path_that_is_not_on_s3_is_refused(kind, path):
    """The service takes locations on S3 of at most 1,024 characters."""
    with pytest.raises(SMDebugValueError, match=f"{kind.__name__}.s3_output_path"):
        kind(path)


@pytest.mark.parametrize("collections", ["losses", CollectionConfig("a"), [{"CollectionName": "a"}], 5])
def test_collections_that_are_no_list_of_collections_are_refused(collections):
    """A single one, a name or a dictionary is not a list of CollectionConfig."""
    with pytest.raises(SMDebugTypeError, match="list of CollectionConfig"):
        DebuggerHookConfig(collection_configs=collections)


@pytest.mark.parametrize(
    "path", ["/opt/ml/output", "/opt/ml/output/tensorboard/x", "/tmp", "/tmp/x", "/usr/local/nvidia/a"]
)
def test_tensorboard_in_a_reserved_folder_is_refused(path):
    """The service would refuse it after the job was submitted."""
    with pytest.raises(SMDebugValueError, match="refuses it"):
        TensorBoardOutputConfig("s3://b", path)


@pytest.mark.parametrize("path", [None, "/tb-logs", "/tmpfiles", "/opt/mlflow"])
def test_tensorboard_elsewhere_is_accepted(path):
    """Only the reserved folders themselves are refused."""
    assert TensorBoardOutputConfig("s3://b", path).container_local_output_path == path


@pytest.mark.parametrize("path", ["/opt/ml/output/tensorboard", "/opt/ml/output/tensorboard/"])
def test_tensorboard_in_its_default_folder_is_left_to_the_service(path):
    """Published scripts give it, and the service refuses it in a request although it is the default."""
    config = TensorBoardOutputConfig("s3://b", path)
    assert config.container_local_output_path == path
    assert config.to_request_dict() == {"S3OutputPath": "s3://b"}


def test_local_path_of_another_type_is_refused():
    """A path is text."""
    with pytest.raises(SMDebugTypeError, match="container_local_output_path must be a string"):
        DebuggerHookConfig(container_local_output_path=5)


def test_parameters_that_only_our_hooks_read_are_accepted():
    """A job takes the parameters that a hook of this package takes, and renders numbers as text."""
    given = {
        "statistics": "zero_fraction, histogram",
        "dry_run": "false",
        "handle_sigterm": "True",
        "memory_limit_bytes": 1000,
        "when_full": "spill",
        "spill_limit_bytes": "5000",
        "flight_recorder": 0,
    }
    rendered = {**given, "memory_limit_bytes": "1000", "flight_recorder": "0"}
    assert DebuggerHookConfig(hook_parameters=given).hook_parameters == rendered


@pytest.mark.parametrize(
    ("name", "wrong", "allowed"),
    [
        ("statistics", "zero_fractions", "zero_fraction"),
        ("memory_limit_bytes", 0, "at least 1"),
        ("flight_recorder", -1, "at least 0"),
        ("when_full", "wait", "block, drop, spill"),
    ],
    ids=["statistics", "memory_limit_bytes", "flight_recorder", "when_full"],
)
def test_parameters_that_only_our_hooks_read_are_checked(name, wrong, allowed):
    """A value that a hook would refuse is refused before the job is submitted."""
    with pytest.raises(SMDebugValueError, match=allowed):
        DebuggerHookConfig(hook_parameters={name: wrong})


@pytest.mark.parametrize("bucket", ["my bucket", "<bucket>", "{bucket}", "-b", "b" * 300])
@pytest.mark.parametrize("kind", [DebuggerHookConfig, TensorBoardOutputConfig])
def test_location_when_no_bucket_can_have_the_name_then_refused_where_it_is_written(kind, bucket):
    """Otherwise the job fails hours later, when it writes its first file."""
    with pytest.raises(SMDebugValueError, match=rf"{kind.__name__}.s3_output_path: the bucket of .* must be letters"):
        kind(s3_output_path=f"s3://{bucket}/prefix")


@pytest.mark.parametrize("bucket", ["b", "My_Old_Bucket", "arn:aws:s3:us-east-1:123456789012:accesspoint", "a.b-c"])
def test_location_when_a_bucket_or_access_point_has_the_name_then_accepted(bucket):
    """Buckets from before 2018 have capitals and underscores."""
    assert DebuggerHookConfig(f"s3://{bucket}/prefix").s3_output_path == f"s3://{bucket}/prefix"
