"""The profiler's member."""

import pytest

from sagemaker_debug_ext.config import (
    DataloaderProfilingConfig,
    FrameworkProfile,
    Profiler,
    ProfilerConfig,
    PythonProfilingConfig,
)
from sagemaker_debug_ext.errors import RequestValidationError, SMDebugValueError
from sagemaker_debug_ext.requests.profiler import build_profiler_config, resolve_profiler
from support.pipelines import Variable

OFF = ProfilerConfig(disable_profiler=True)


@pytest.mark.parametrize(
    ("config", "disable", "has_rules", "resolved"),
    [
        (None, None, False, None),
        (None, None, True, ProfilerConfig()),
        (None, False, False, ProfilerConfig()),
        (None, True, False, OFF),
        (OFF, None, False, OFF),
        (OFF, True, False, OFF),
        (ProfilerConfig("s3://b"), None, True, ProfilerConfig("s3://b")),
    ],
)
def test_resolve_profiler_follows_who_asks_for_it(config, disable, has_rules, resolved):
    """Rules need the profiler; who says nothing leaves it to the service."""
    assert resolve_profiler(config, disable, has_rules) == resolved


@pytest.mark.parametrize(
    ("config", "disable", "has_rules", "match"),
    [
        (ProfilerConfig(), True, False, r"disable_profiler cannot be False when disable_profiler is True\."),
        (OFF, False, False, "is disabled"),
        (OFF, None, True, r"ProfilerRule cannot be set when profiler_config\.disable_profiler is True\."),
        (None, True, True, r"ProfilerRule cannot be set when disable_profiler is True\."),
    ],
)
def test_resolve_profiler_of_contradictions_is_refused(config, disable, has_rules, match):
    """Settings that cannot both hold."""
    with pytest.raises(SMDebugValueError, match=match):
        resolve_profiler(config, disable, has_rules)


def test_build_of_a_disabled_profiler_has_nothing_else():
    """The service refuses other members then."""
    assert build_profiler_config(ProfilerConfig("s3://b", disable_profiler=True), "s3://out") == {
        "DisableProfiler": True
    }


def test_build_of_a_profiler_has_what_was_asked_for():
    """A variable may decide whether it is on."""
    variable = Variable()
    assert build_profiler_config(ProfilerConfig(None, 500, disable_profiler=variable), "s3://out") == {
        "S3OutputPath": "s3://out",
        "DisableProfiler": variable,
        "ProfilingIntervalInMilliseconds": 500,
    }
    assert build_profiler_config(ProfilerConfig("s3://b", profile_params=Profiler(60)))["ProfilingParameters"] == {
        "CPUProfilingDuration": "60",
        "SMPFileRotationSecs": "600",
    }
    with pytest.raises(RequestValidationError, match="S3OutputPath: a location on S3"):
        build_profiler_config(ProfilerConfig())


def test_framework_parameters_are_python_literals():
    """The container evaluates them; a comma stands at the end."""
    profile = FrameworkProfile(
        dataloader_profiling_config=DataloaderProfilingConfig(start_unix_time=17, duration=1.5),
        python_profiling_config=PythonProfilingConfig(python_profiler="pyinstrument"),
    )
    assert profile.profiling_parameters == {
        "LocalPath": "/opt/ml/output/profiler",
        "RotateMaxFileSizeInBytes": "10485760",
        "RotateFileCloseIntervalInSeconds": "60",
        "FileOpenFailThreshold": "50",
        "DataloaderProfilingConfig": '{"StartTimeInSecSinceEpoch": 17, "Duration": 1.5, "MetricsRegex": ".*", }',
        "PythonProfilingConfig": '{"StartStep": 9, "NumSteps": 3, "ProfilerName": "pyinstrument", }',
    }
