"""What the profiler collects, as the user asks for it."""

import attrs
import pytest

from sagemaker_debug_ext.config import (
    DataloaderProfilingConfig,
    DetailedProfilingConfig,
    FrameworkProfile,
    HorovodProfilingConfig,
    Profiler,
    ProfilerConfig,
    PythonProfiler,
    PythonProfilingConfig,
    SMDataParallelProfilingConfig,
    cProfileTimer,
)
from sagemaker_debug_ext.config.profiler import ErrorMessages, StepRange, TimeRange
from sagemaker_debug_ext.errors import DebugExtWarning, SMDebugTypeError, SMDebugValueError

KINDS = [
    DetailedProfilingConfig,
    DataloaderProfilingConfig,
    PythonProfilingConfig,
    HorovodProfilingConfig,
    SMDataParallelProfilingConfig,
]


@pytest.mark.parametrize(("kind", "steps"), list(zip(KINDS, [(5, 1), (7, 1), (9, 3), (13, 1), (15, 1)], strict=True)))
def test_metrics_config_without_a_range_has_that_of_its_kind(kind, steps):
    """The defaults are the SDK's."""
    assert kind().range == kind(profile_default_steps=True).range == StepRange(*steps)


@pytest.mark.parametrize(
    ("arguments", "steps"),
    [
        ((3, 2), (3, 2)),
        ((3,), (3, 1)),
        ((None, 2), (0, 2)),
        ((None, None, 1700000000), None),
        ((None, None, None, 1.5), None),
    ],
)
def test_metrics_config_with_half_a_range_fills_the_other(arguments, steps):
    """One step from the given one, or from the first; a range by time has no steps."""
    assert DetailedProfilingConfig(*arguments).range == (StepRange(*steps) if steps else TimeRange(*arguments[2:]))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"start_step": -1}, SMDebugValueError),
        ({"start_step": 1.5}, SMDebugTypeError),
        ({"num_steps": 0}, SMDebugValueError),
        ({"start_unix_time": -1}, SMDebugValueError),
        ({"duration": 0}, SMDebugValueError),
        ({"duration": "1"}, SMDebugTypeError),
        ({"start_step": 1, "duration": 2}, SMDebugValueError),
    ],
)
@pytest.mark.parametrize("kind", [FrameworkProfile, *KINDS])
def test_range_that_makes_no_sense_is_refused(kind, arguments, error):
    """Also where it holds for all kinds of metrics."""
    with pytest.raises(error, match=kind.__name__):
        kind(**arguments)


def test_metrics_config_with_default_steps_and_a_range_is_refused():
    """One of them would be ignored."""
    with pytest.raises(SMDebugValueError, match="profile_default_steps = True"):
        PythonProfilingConfig(start_step=3, profile_default_steps=True)


def test_framework_profile_with_chosen_metrics_collects_only_those():
    """The common range is not looked at then."""
    detailed = DetailedProfilingConfig(3)
    assert FrameworkProfile(detailed_profiling_config=detailed, start_step=9).metrics_configs == (detailed,)


def test_framework_profile_without_choice_collects_all():
    """Over the common range, or each over its own."""
    assert [type(config) for config in FrameworkProfile().metrics_configs] == KINDS
    assert {config.range for config in FrameworkProfile(start_step=4).metrics_configs} == {StepRange(4, 1)}


def test_python_profiling_measures_each_time_in_turn_over_the_default_steps():
    """As the SDK does; Pyinstrument has no choice of time."""
    assert PythonProfilingConfig(profile_default_steps=True).cprofile_timer is cProfileTimer.DEFAULT
    assert PythonProfilingConfig().cprofile_timer is cProfileTimer.TOTAL_TIME
    assert PythonProfilingConfig(3, cprofile_timer="cpu_time").cprofile_timer is cProfileTimer.CPU_TIME
    pyinstrument = PythonProfilingConfig(python_profiler=PythonProfiler.PYINSTRUMENT)
    assert pyinstrument.cprofile_timer is None
    assert attrs.evolve(pyinstrument, python_profiler="cprofile").cprofile_timer is cProfileTimer.TOTAL_TIME


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FrameworkProfile(local_path=10), ErrorMessages.INVALID_LOCAL_PATH),
        (lambda: FrameworkProfile(file_max_size=0), ErrorMessages.INVALID_FILE_MAX_SIZE),
        (lambda: FrameworkProfile(file_close_interval=0), ErrorMessages.INVALID_FILE_CLOSE_INTERVAL),
        (lambda: FrameworkProfile(file_open_fail_threshold=1.5), ErrorMessages.INVALID_FILE_OPEN_FAIL_THRESHOLD),
        (lambda: DetailedProfilingConfig(profile_default_steps=1), ErrorMessages.INVALID_PROFILE_DEFAULT_STEPS),
        (lambda: DetailedProfilingConfig(-1), ErrorMessages.INVALID_START_STEP),
        (lambda: HorovodProfilingConfig(num_steps="1"), ErrorMessages.INVALID_NUM_STEPS),
        (lambda: FrameworkProfile(start_unix_time=10**13), ErrorMessages.INVALID_START_UNIX_TIME),
        (lambda: FrameworkProfile(duration=-2), ErrorMessages.INVALID_DURATION),
        (lambda: FrameworkProfile(num_steps=1, duration=2), ErrorMessages.FOUND_BOTH_STEP_AND_TIME_FIELDS),
        (lambda: DataloaderProfilingConfig(metrics_regex="("), ErrorMessages.INVALID_METRICS_REGEX),
        (lambda: PythonProfilingConfig(python_profiler="perf"), ErrorMessages.INVALID_PYTHON_PROFILER),
        (lambda: PythonProfilingConfig(cprofile_timer="wall"), ErrorMessages.INVALID_CPROFILE_TIMER),
    ],
)
def test_framework_metrics_when_a_setting_is_refused_then_code_for_the_sdk_catches_it(make, message):
    """The SDK raises `AssertionError`; the kind of the error is kept beside it."""
    with pytest.raises(AssertionError, match=message.value) as caught:
        make()
    assert isinstance(caught.value, (SMDebugTypeError, SMDebugValueError))


@pytest.mark.parametrize("field", ["python_profiler", "cprofile_timer"])
def test_python_profiling_with_an_unknown_word_is_refused(field):
    """The error lists the words."""
    with pytest.raises(SMDebugValueError, match="must be one of"):
        PythonProfilingConfig(**{field: "perf"})


def test_data_loader_profiling_with_a_broken_pattern_is_refused():
    """It would fail in the container."""
    with pytest.raises(SMDebugValueError, match="regular expression"):
        DataloaderProfilingConfig(metrics_regex="(")


def test_framework_profile_with_the_wrong_metrics_is_refused():
    """Each field has its class."""
    with pytest.raises(SMDebugTypeError, match="detailed_profiling_config must be a DetailedProfilingConfig or None"):
        FrameworkProfile(detailed_profiling_config=HorovodProfilingConfig())


@pytest.mark.parametrize("interval", [100, 200, 500, 1000, 5000, 60000, None])
def test_profiler_config_with_a_known_interval_is_accepted(interval):
    """The service has six."""
    assert ProfilerConfig("s3://b", interval).system_monitor_interval_millis == interval


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"system_monitor_interval_millis": 123}, SMDebugValueError, "must be one of 100"),
        ({"system_monitor_interval_millis": "500"}, SMDebugTypeError, "whole number"),
        ({"system_monitor_interval_millis": True}, SMDebugTypeError, "whole number"),
        ({"disable_profiler": "yes"}, SMDebugTypeError, "True or False"),
        ({"disable_profiler": True, "system_monitor_interval_millis": 500}, SMDebugValueError, "no other setting"),
        ({"framework_profile_params": {}}, SMDebugTypeError, "FrameworkProfile"),
        ({"framework_profile_params": FrameworkProfile(), "profile_params": Profiler()}, SMDebugValueError, "not both"),
    ],
)
def test_profiler_config_with_a_wrong_argument_is_refused(arguments, error, match):
    """Settings that contradict each other are refused where they are written."""
    with pytest.raises(error, match=match):
        ProfilerConfig(**arguments)


def test_profiler_config_with_framework_metrics_says_where_they_still_work():
    """Most containers of today ignore them."""
    with pytest.warns(DebugExtWarning, match="before 2.11"):
        ProfilerConfig(framework_profile_params=FrameworkProfile())
