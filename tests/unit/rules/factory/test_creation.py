from __future__ import annotations

import inspect

import numpy as np
import pytest

from sagemaker_debug_ext.catalog import ParameterSpec, RuleSpec, list_rule_specs
from sagemaker_debug_ext.catalog import registry as catalog_registry
from sagemaker_debug_ext.errors import (
    InsufficientInformationForRuleInvocation,
    SMDebugCustomerError,
    SMDebugValueError,
)
from sagemaker_debug_ext.rules import Rule, create_custom_rule, create_rule
from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule
from sagemaker_debug_ext.rules.factory.loading import load_rule_class
from sagemaker_debug_ext.testing.trials import write_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

STEPS = {(ModeKeys.TRAIN, 0): {"x": np.ones(1)}}

NEEDED = {
    "AllZero": {"tensor_regex": (".*",)},
    "TensorVariance": {"tensor_regex": (".*",)},
    "UnchangedTensor": {"tensor_regex": (".*",)},
    "SimilarAcrossRuns": {"other_trials": ("{trial}",)},
}
"""What some rules cannot do without."""

SOURCE = """
from sagemaker_debug_ext.rules.rule import Rule

class Limit(Rule):
    def __init__(self, base_trial, limit="10", clock=None):
        super().__init__(base_trial)
        self.limit = limit
        self.clock = clock

    def invoke_at_step(self, step):
        return False

class Comparing(Limit):
    def __init__(self, base_trial, action_str, other_trials, tolerance):
        Rule.__init__(self, base_trial, action_str, other_trials)
        self.tolerance = tolerance

class Forgetful(Limit):
    def __init__(self, base_trial):
        pass
"""


class Registered(Rule):
    """A rule of another package, with typed parameters."""

    def __init__(self, base_trial, limit):
        super().__init__(base_trial)
        self.limit = limit

    def invoke_at_step(self, step):
        return False


@pytest.fixture
def trial(make_trial):
    return make_trial(STEPS)


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "rules.py"
    path.write_text(SOURCE)
    return path


@pytest.mark.parametrize("spec", [spec for spec in list_rule_specs() if spec.rule_class], ids=lambda spec: spec.name)
def test_every_rule_with_code_is_made_by_name_and_knows_its_catalog_entry(trial, spec):
    """Class, name and parameters agree; the docstring names every parameter that is not shared by several rules."""
    needed = {
        name: tuple(value.format(trial=trial.path) for value in values)
        for name, values in NEEDED.get(spec.name, {}).items()
    }
    rule = create_rule(spec.name, trial, needed)
    assert isinstance(rule, BuiltinRule)
    assert type(rule) is load_rule_class(spec.rule_class)
    assert rule.rule_name == rule.spec_name == spec.name
    assert rule.parameters == {**{parameter.name: parameter.default for parameter in spec.parameters}, **needed}
    for parameter in spec.parameters:
        assert parameter.name == "unless_learnt" or f"\n    {parameter.name}: " in inspect.getdoc(type(rule))
    assert rule.advice or not spec.fires


def test_parameters_are_taken_as_text_or_typed(trial):
    """They become typed either way; what says which rule to run is left aside."""
    given = {"rule_to_invoke": "Overfit", "ratio_threshold": "0.5", "patience": 3, "tensor_regex": "a, b"}
    rule = create_rule("Overfit", trial, given)
    typed = {"tensor_regex": ("a", "b"), "start_step": 0, "patience": 3, "ratio_threshold": 0.5}
    assert rule.parameters == {**typed, "unless_falling": False}


@pytest.mark.parametrize(
    ("name", "parameters", "match"),
    [
        ("VanishingGradients", {}, "did you mean 'VanishingGradient'"),
        ("VanishingGradient", {"treshold": 1}, "did you mean 'threshold'"),
        ("VanishingGradient", {"threshold": "small"}, "must be a number"),
        ("LowGPUUtilization", {}, "evaluates profiler data, with sagemaker-debug profile show"),
        ("ExplodingTensor", {"tensor_regex": "("}, "tensor_regex"),
        ("ExplodingTensor", {"only_nan": "yes"}, "only_nan"),
    ],
)
def test_unknown_names_and_values_are_refused(trial, name, parameters, match):
    """At once, with what is allowed."""
    with pytest.raises(SMDebugValueError, match=match):
        create_rule(name, trial, parameters)


def test_actions_come_from_the_parameters_and_handlers_from_the_caller(trial):
    """As a request carries them."""
    calls = []
    rule = create_rule(
        "Overfit",
        trial,
        {"action_json": r"{\"name\": \"stoptraining\", \"training_job_prefix\": \"Job\"}"},
        action_handlers={"stoptraining": lambda *arguments: calls.append(arguments)},
    )
    rule.actions.invoke("hello")
    assert calls == [({"name": "stoptraining", "training_job_prefix": "Job"}, "Overfit", "hello")]


def test_clock_and_other_trials_reach_the_rule(trial, make_trial):
    """For rules that use them."""
    other = make_trial(STEPS)
    rule = create_rule("Overfit", trial, None, [other], clock=lambda: 7.0)
    assert (rule.other_trials, rule.clock()) == ([other], 7.0)


def test_other_trials_are_opened_by_path(trial, tmp_path):
    """In the order of their numbers."""
    for name in ("a", "b"):
        write_trial(tmp_path / name, STEPS)
    paths = {"other_trial_1": str(tmp_path / "b"), "other_trial_0": str(tmp_path / "a")}
    assert [other.name for other in create_rule("Overfit", trial, paths).other_trials] == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("other_trials", str),
        ("other_trials", lambda path: [path]),
        ("other_trial", str),
        ("other_trial", lambda path: [path]),
        ("other_trial_0", str),
    ],
)
def test_the_trial_to_compare_with_is_given_by_any_of_its_names(trial, tmp_path, name, given):
    """The rule gets the opened trial, and knows its path as a parameter."""
    write_trial(tmp_path / "a", STEPS)
    rule = create_rule("SimilarAcrossRuns", trial, {name: given(str(tmp_path / "a"))})
    assert [other.name for other in rule.other_trials] == ["a"]
    assert rule.parameters["other_trials"] == (str(tmp_path / "a"),)


def test_a_rule_that_compares_needs_a_trial_to_compare_with(trial):
    """Said at once."""
    with pytest.raises(SMDebugValueError, match="'other_trials' of rule SimilarAcrossRuns must be given"):
        create_rule("SimilarAcrossRuns", trial)


@pytest.mark.parametrize("name", ["AllZero", "TensorVariance", "UnchangedTensor"])
def test_rules_that_need_a_selection_say_so(trial, name):
    """With the parameters of which one must be given."""
    with pytest.raises(InsufficientInformationForRuleInvocation, match="one of collection_names, tensor_regex"):
        create_rule(name, trial)


def test_a_registered_rule_gets_typed_parameters(trial, monkeypatch):
    """Although its class knows nothing of the catalog."""
    spec = RuleSpec(
        name="Registered",
        kind="debugger",
        doc="A rule.",
        parameters=(ParameterSpec(name="limit", type="float", doc="A limit.", default=2.5),),
        rule_class="test_rule_module:Registered",
    )
    monkeypatch.setitem(catalog_registry._registered, "Registered", spec)
    monkeypatch.setattr("sagemaker_debug_ext.rules.factory.creation.load_rule_class", lambda _: Registered)
    assert create_rule("Registered", trial).limit == 2.5
    assert create_rule("Registered", trial, {"limit": "3"}).limit == 3.0


def test_a_custom_rule_gets_its_parameters_as_they_are(trial, source):
    """Text stays text, as on SageMaker; the clock is passed to those that take one."""
    given = {"rule_to_invoke": "Limit", "source_s3_uri": "s3://x/y.py", "limit": "20.0"}
    rule = create_custom_rule(source, "Limit", trial, given, clock=lambda: 7.0)
    assert (rule.limit, rule.clock(), rule.base_trial) == ("20.0", 7.0, trial)
    assert create_custom_rule(source, "Limit", trial).limit == "10"


def test_a_custom_rule_gets_actions_although_its_constructor_does_not_pass_them_on(trial, source):
    """They are part of the request, not of the class."""
    calls = []
    rule = create_custom_rule(
        source,
        "Limit",
        trial,
        {"action_json": '{"name": "note"}'},
        action_handlers={"note": lambda *_: calls.append(1)},
    )
    rule.actions.invoke()
    assert calls == [1]


def test_a_custom_rule_with_required_arguments_gets_them(trial, make_trial, source):
    """Action text, other trials and its own parameters."""
    other = make_trial(STEPS)
    rule = create_custom_rule(source, "Comparing", trial, {"tolerance": 0.5}, [other])
    assert (rule.other_trials, rule.tolerance) == ([other], 0.5)


@pytest.mark.parametrize(
    ("name", "parameters", "match"),
    [
        ("Limit", {"limt": 1}, "parameters of Limit: limit .*did you mean 'limit'"),
        ("Forgetful", {"limit": 1}, "parameters of Forgetful: none"),
        ("Comparing", {}, "needs the parameters tolerance"),
    ],
)
def test_parameters_that_a_custom_rule_does_not_take_are_refused(trial, source, name, parameters, match):
    """Like those of the catalog, with what it takes."""
    with pytest.raises(SMDebugValueError, match=match):
        create_custom_rule(source, name, trial, parameters)


def test_other_trials_for_a_custom_rule_without_use_for_them_are_refused(trial, make_trial, source):
    """Rather than dropped."""
    with pytest.raises(SMDebugValueError, match="takes no other_trials"):
        create_custom_rule(source, "Limit", trial, None, [make_trial(STEPS)])


def test_a_custom_rule_that_forgets_the_base_class_is_refused(trial, source):
    """With what it has to do."""
    with pytest.raises(SMDebugCustomerError, match=r"must call super\(\)"):
        create_custom_rule(source, "Forgetful", trial)
