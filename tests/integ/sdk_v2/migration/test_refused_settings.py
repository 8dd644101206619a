"""Settings that the SDK refuses: code that catches its errors catches those of this package."""

import importlib

import pytest

PACKAGES = ["sagemaker.debugger", "sagemaker_debug_ext"]


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        ("FrameworkProfile", {"local_path": 3}, "INVALID_LOCAL_PATH"),
        ("FrameworkProfile", {"file_max_size": "large"}, "INVALID_FILE_MAX_SIZE"),
        ("FrameworkProfile", {"start_unix_time": 10**14}, "INVALID_START_UNIX_TIME"),
        ("FrameworkProfile", {"num_steps": 2, "duration": 9}, "FOUND_BOTH_STEP_AND_TIME_FIELDS"),
        ("DetailedProfilingConfig", {"start_step": 0.5}, "INVALID_START_STEP"),
        ("HorovodProfilingConfig", {"duration": "long"}, "INVALID_DURATION"),
        ("DataloaderProfilingConfig", {"metrics_regex": "["}, "INVALID_METRICS_REGEX"),
        ("PythonProfilingConfig", {"python_profiler": "perf"}, "INVALID_PYTHON_PROFILER"),
    ],
)
def test_framework_metrics_when_refused_then_the_named_message_is_that_of_the_error(package, kind, settings, message):
    """The SDK asserts; `ErrorMessages` holds what `match` finds."""
    messages = importlib.import_module(f"{package}.utils").ErrorMessages
    with pytest.raises(AssertionError, match=messages[message].value):
        getattr(importlib.import_module(package), kind)(**settings)


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize(
    ("profiler", "timer", "is_default", "expected"),
    [
        ("CPROFILE", "CPU_TIME", False, "CPU_TIME"),
        ("CPROFILE", "CPU_TIME", True, "DEFAULT"),
        ("PYINSTRUMENT", "CPU_TIME", False, None),
        ("PYINSTRUMENT", "CPU_TIME", True, None),
    ],
)
def test_python_profiling_when_made_then_the_timer_is_the_one_in_use(package, profiler, timer, is_default, expected):
    """The attribute is what the container gets, not the argument."""
    home = importlib.import_module(package)
    config = home.PythonProfilingConfig(
        python_profiler=home.PythonProfiler[profiler],
        cprofile_timer=home.cProfileTimer[timer],
        profile_default_steps=is_default,
    )
    assert config.cprofile_timer is (home.cProfileTimer[expected] if expected else None)
