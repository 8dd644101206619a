"""Where artifacts go."""

import pytest

from sagemaker_debug_ext.config import TensorBoardOutputConfig
from sagemaker_debug_ext.errors import RequestValidationError, SMDebugTypeError
from sagemaker_debug_ext.requests import (
    artifact_paths,
    debugger_artifacts_path,
    profiler_artifacts_path,
    rule_output_path,
    tensorboard_artifacts_path,
)
from sagemaker_debug_ext.requests.outputs import build_tensorboard_output_config
from support.pipelines import Variable


@pytest.mark.parametrize("base", ["s3://b/p", "s3://b/p/"])
def test_artifacts_path_is_job_and_kind_below_the_output_path(base):
    """One slash at the end makes no difference."""
    assert debugger_artifacts_path(base, "job") == "s3://b/p/job/debug-output"
    assert tensorboard_artifacts_path(base, "job") == "s3://b/p/job/tensorboard-output"
    assert profiler_artifacts_path(base, "job") == "s3://b/p/job/profiler-output"
    assert rule_output_path(base, "job", "Overfit") == "s3://b/p/job/rule-output/Overfit"


def test_artifacts_path_of_nothing_is_none():
    """A job without a hook has no tensors."""
    assert debugger_artifacts_path(None, "job") is None


def test_artifacts_path_of_a_pipeline_variable_is_refused():
    """It is not known before the pipeline runs."""
    with pytest.raises(SMDebugTypeError, match="pipeline variable"):
        debugger_artifacts_path(Variable(), "job")


def test_artifact_paths_are_read_from_a_request_or_description():
    """Each from its own member; a disabled profiler has none."""
    job = {
        "TrainingJobName": "job",
        "OutputDataConfig": {"S3OutputPath": "s3://out"},
        "DebugHookConfig": {"S3OutputPath": "s3://dbg"},
        "ProfilerConfig": {"DisableProfiler": True, "S3OutputPath": "s3://prof"},
        "DebugRuleConfigurations": [{"RuleConfigurationName": "A"}],
        "ProfilerRuleConfigurations": [{"RuleConfigurationName": "B", "S3OutputPath": "s3://rules"}],
    }
    paths = artifact_paths(job)
    assert (paths.debugger, paths.tensorboard, paths.profiler) == ("s3://dbg/job/debug-output", None, None)
    assert paths.rules == {"A": "s3://out/job/rule-output/A", "B": "s3://rules/job/rule-output/B"}


def test_build_of_tensorboard_output_takes_the_jobs_path_where_it_has_none():
    """Unset members are left out."""
    assert build_tensorboard_output_config(TensorBoardOutputConfig(), "s3://out") == {"S3OutputPath": "s3://out"}
    assert build_tensorboard_output_config(TensorBoardOutputConfig("s3://tb", "/tb"), "s3://out") == {
        "S3OutputPath": "s3://tb",
        "LocalPath": "/tb",
    }
    with pytest.raises(RequestValidationError, match="S3OutputPath: a location on S3"):
        build_tensorboard_output_config(TensorBoardOutputConfig())
