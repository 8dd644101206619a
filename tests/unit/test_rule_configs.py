"""The base configurations of built-in rules, compared with the original package."""

import inspect

import pytest
import smdebug_rulesconfig as original

from sagemaker_debug_ext import rule_configs
from sagemaker_debug_ext.catalog import list_rule_specs
from sagemaker_debug_ext.errors import SMDebugValueError

FUNCTIONS = [
    name
    for name, value in vars(original).items()
    if inspect.isfunction(value) and name not in ("get_collection", "is_valid_action_object")
]
PROFILER_RULES = [
    name
    for name, value in vars(original).items()
    if inspect.isclass(value) and value.__module__.startswith("smdebug_rulesconfig.profiler_rules")
]


def test_every_name_of_the_original_is_there():
    """An import is all that changes in a script."""
    assert len(FUNCTIONS) == 21
    assert len(PROFILER_RULES) == 10
    public = {
        name for name, value in vars(original).items() if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert public <= set(rule_configs.__all__)
    assert all(hasattr(rule_configs, name) for name in rule_configs.__all__)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("vanishing_gradients", r"; did you mean 'vanishing_gradient'\?"),
        ("CpuBottleneck", r"; did you mean 'CPUBottleneck'\?"),
        ("zzz", ""),
    ],
)
def test_a_misspelt_name_is_told_the_nearest(name, hint):
    """And what is like none of them gets no hint."""
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'{hint}$"):
        getattr(rule_configs, name)


def test_every_rule_of_the_catalog_is_there():
    """No rule is left out, and none is there twice."""
    assert {spec.function for spec in list_rule_specs() if spec.function} <= set(rule_configs.__all__)
    assert len(set(rule_configs.__all__)) == len(rule_configs.__all__)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_returns_what_the_original_returns(name):
    """Content and order, and a fresh dictionary each time."""
    function = getattr(rule_configs, name)
    ours, theirs = function(), getattr(original, name)()
    assert ours == theirs
    assert list(ours) == list(theirs)
    ours.clear()
    assert function() == theirs
    assert function.__name__ == name
    assert function.__doc__


@pytest.mark.parametrize("name", PROFILER_RULES)
def test_class_is_made_and_called_as_the_original(name):
    """Arguments, defaults, and the attributes that the SDK reads."""
    ours, theirs = getattr(rule_configs, name), getattr(original, name)
    assert ours().rule_name == theirs().rule_name == name
    assert ours().rule_parameters == theirs().rule_parameters
    arguments = [
        [
            (parameter.name, parameter.default, parameter.kind)
            for parameter in inspect.signature(kind).parameters.values()
        ]
        for kind in (ours, theirs)
    ]
    assert arguments[0] == arguments[1]


def test_class_takes_arguments_by_position_and_name():
    """A class takes the arguments of the original's signature."""
    assert (
        rule_configs.StepOutlier(4, "x", n_outliers=2).rule_parameters
        == original.StepOutlier(4, "x", n_outliers=2).rule_parameters
    )
    assert (
        repr(rule_configs.MaxInitializationTime(5)) == "MaxInitializationTime(threshold=5, scan_interval_us=60000000)"
    )


@pytest.mark.parametrize(
    ("positional", "named", "match"),
    [((1, 2, 3, 4, 5), {}, "too many positional arguments"), ((), {"tresh": 1}, "tresh")],
    ids=["one too many", "an unknown name"],
)
def test_class_refuses_arguments_that_are_not_in_its_signature(positional, named, match):
    """An argument too many, or of an unknown name, is a `TypeError` as for any call."""
    with pytest.raises(TypeError, match=match):
        rule_configs.StepOutlier(*positional, **named)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: rule_configs.BatchSize(window=0), "'window' of rule BatchSize must be above 0"),
        (lambda: rule_configs.CPUBottleneck(threshold=101), "at most 100"),
        (lambda: rule_configs.ProfilerReport(CPUBottleneck_tresh=5), "did you mean 'CPUBottleneck_threshold'"),
        (lambda: rule_configs.ProfilerReport(CPUBottleneck_threshold=101), "at most 100"),
        (lambda: rule_configs.ProfilerReport(window=1), "parameters of rule ProfilerReport"),
    ],
)
def test_class_with_a_wrong_value_is_refused(make, match):
    """Ranges are those of the catalog; ``except AssertionError`` around the original's class catches ours, too."""
    with pytest.raises(SMDebugValueError, match=match) as refused:
        make()
    assert isinstance(refused.value, AssertionError)


def test_profiler_report_spells_the_rules_names_in_one_way():
    """They are accepted in any case."""
    assert rule_configs.ProfilerReport(cpubottleneck_THRESHOLD=60).rule_parameters == {
        "CPUBottleneck_threshold": 60,
        "rule_to_invoke": "ProfilerReport",
    }


def test_default_profiler_rule_has_the_same_name_each_time():
    """A time in it would make every pipeline a new one."""
    assert rule_configs.get_default_profiler_rule() == rule_configs.get_default_profiler_rule()
    assert rule_configs.get_default_profiler_rule().name == "ProfilerReport"


def test_rules_that_the_original_does_not_export_are_there_too():
    """One is hidden in the original, one documented only."""
    assert rule_configs.Dataloader().rule_parameters["max_threshold"] == 200
    assert rule_configs.OverallFrameworkMetrics().rule_name == "OverallFrameworkMetrics"
