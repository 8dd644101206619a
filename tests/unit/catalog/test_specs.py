"""Rules and their parameters as data."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.catalog import (
    ParameterSpec,
    RuleConfig,
    RuleSpec,
    get_rule_spec,
    list_rule_specs,
    other_trials,
)
from sagemaker_debug_ext.config._fields import render_value
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.vocabulary import ModeKeys
from support.pipelines import Variable


def spec(kind, **fields):
    return ParameterSpec(name="x", type=kind, doc="A test.", **fields)


VALUES = {
    "bool": st.booleans(),
    "int": st.integers(),
    "float": st.floats(allow_nan=False),
    "str": st.text(min_size=1).filter(lambda text: text != "None"),
    "str_list": st.lists(st.from_regex(r"\A[a-z_/]{1,6}\Z"), min_size=1).map(tuple).filter(lambda t: t != ("None",)),
    "regex_list": st.lists(st.from_regex(r"\A[a-z.*|]{1,6}\Z"), min_size=1)
    .map(tuple)
    .filter(lambda t: "*" not in "".join(t)),
    "float_list": st.lists(st.floats(allow_nan=False), min_size=1).map(tuple),
}


@pytest.mark.parametrize("kind", VALUES)
@given(data=st.data())
def test_parse_undoes_rendering(kind, data):
    """A typed value comes back from the text that the request carries, and from itself."""
    value = data.draw(VALUES[kind])
    assert spec(kind).parse(render_value(value, "x")) == value
    assert spec(kind).parse(value) == value


@pytest.mark.parametrize(
    ("kind", "value", "parsed"),
    [
        ("bool", "true", True),
        ("bool", "False", False),
        ("int", " 5 ", 5),
        ("float", 3, 3.0),
        ("float", "1e-07", 1e-07),
        ("str", ModeKeys.EVAL, "EVAL"),
        ("str_list", " a, ,b ", ("a", "b")),
        ("str_list", ["a", "b"], ("a", "b")),
        ("regex_list", "a|b, c.*", ("a|b", "c.*")),
        ("float_list", "0, 1.5", (0.0, 1.5)),
        ("float_list", [0, 1], (0.0, 1.0)),
    ],
)
def test_parse_of_text_or_value_gives_the_type(kind, value, parsed):
    """Text and typed values are both accepted."""
    result = spec(kind).parse(value)
    assert result == parsed
    assert repr(result) == repr(parsed)


@pytest.mark.parametrize("value", [None, "", "None", [], (), ","])
def test_parse_of_an_unset_value_gives_the_default(value):
    """Nothing, an empty text or list, and the word None mean unset."""
    assert spec("str_list", default=("a",)).parse(value) == ("a",)
    assert spec("str_list").parse(value) is None
    with pytest.raises(SMDebugValueError, match="must be given"):
        spec("str_list", required=True).parse(value)


@pytest.mark.parametrize(
    ("parameter", "value", "match"),
    [
        (spec("bool"), "1", "True, true, False, false"),
        (spec("bool"), 1, "boolean"),
        (spec("bool"), "Flase", "did you mean 'false'"),
        (spec("bool"), "TRUE", "did you mean 'true'"),
        (spec("int"), "1.0", "whole number"),
        (spec("int"), True, "whole number"),
        (spec("float"), "much", "must be a number"),
        (spec("float"), "nan", "compared"),
        (spec("float_list"), "1,x", "must be a number"),
        (spec("regex_list"), "(", "regular expressions"),
        (spec("regex_list"), "a{1,2}", "comma inside a pattern"),
        (spec("float", min=0), -0.5, r"at least 0 \(got -0.5\)"),
        (spec("float", max=1), "1.5", "at most 1"),
        (spec("int", exclusive_min=0, exclusive_max=100), 0, "above 0 and below 100"),
        (spec("int", exclusive_min=0, exclusive_max=100), 100, "above 0 and below 100"),
        (spec("float_list", min=0, max=100), "50,101", "at least 0 and at most 100"),
        (spec("str", choices=("EVAL", "TRAIN")), "eval", "one of EVAL, TRAIN .*did you mean 'EVAL'"),
    ],
)
def test_parse_of_a_wrong_value_is_refused(parameter, value, match):
    """The error names rule, parameter, what is allowed and what came."""
    with pytest.raises(SMDebugValueError, match=rf"parameter 'x' of rule R.*{match}"):
        parameter.parse(value, "R")


def test_parse_of_a_strange_type_is_refused():
    """No parameter is an object."""
    with pytest.raises(SMDebugTypeError, match="parameter 'x'"):
        spec("int").parse(object())


@pytest.mark.parametrize("rule", list_rule_specs(), ids=lambda rule: rule.name)
def test_to_dict_and_from_dict_are_inverse(rule):
    """An entry of the catalog says all of a rule."""
    assert RuleSpec.from_dict(rule.to_dict()) == rule


def test_parse_parameters_fills_defaults_in_the_order_of_the_spec():
    """Rules get all their parameters, typed."""
    parsed = get_rule_spec("LossNotDecreasing").parse_parameters({"num_steps": "5", "use_losses_collection": "false"})
    assert parsed == {
        "collection_names": None,
        "tensor_regex": None,
        "use_losses_collection": False,
        "num_steps": 5,
        "diff_percent": 0.1,
        "increase_threshold_percent": 5.0,
        "mode": None,
    }


def test_parse_parameters_leaves_out_what_all_rules_are_sent():
    """Names that SageMaker adds are not the rule's own."""
    sent = {"rule_to_invoke": "Overfit", "action_json": "{}", "base_trial": object(), "other_trial_0": "s3://b"}
    assert get_rule_spec("Overfit").parse_parameters(sent) == get_rule_spec("Overfit").parse_parameters({})


def test_parse_parameters_gathers_other_trials_by_number():
    """The order of the numbers counts, not that of the names."""
    sent = {f"other_trial_{number}": f"s3://{number}" for number in (10, 2, 0)}
    assert other_trials(sent) == ["s3://0", "s3://2", "s3://10"]
    rule = get_rule_spec("SimilarAcrossRuns")
    assert rule.parse_parameters(sent)["other_trials"] == ("s3://0", "s3://2", "s3://10")
    assert rule.parse_parameters({"other_trial": "s3://x"})["other_trials"] == ("s3://x",)
    with pytest.raises(SMDebugValueError, match="'other_trials' of rule SimilarAcrossRuns must be given"):
        rule.parse_parameters({})


@pytest.mark.parametrize("check", ["parse_parameters", "check_parameters"])
@pytest.mark.parametrize(
    ("rule", "parameters", "match"),
    [
        ("Overfit", {"patients": 1}, "did you mean 'patience'"),
        ("CreateXgboostReport", {"x": 1}, "rule CreateXgboostReport takes no parameters"),
    ],
    ids=["a near miss", "a rule without parameters"],
)
def test_parameters_with_unknown_names_are_refused(check, rule, parameters, match):
    """The error has the nearest name, or that the rule takes no parameters."""
    with pytest.raises(SMDebugValueError, match=match):
        getattr(get_rule_spec(rule), check)(parameters)


def test_check_parameters_looks_only_at_what_is_there():
    """Missing ones are the rule's business; pipeline variables are not known yet."""
    get_rule_spec("SimilarAcrossRuns").check_parameters({"tensor_regex": Variable(), "other_trials": ""})
    with pytest.raises(SMDebugValueError, match="at least 1"):
        get_rule_spec("Overfit").check_parameters({"patience": "0"})


def test_at_least_one_of_is_told():
    """Rules check it themselves."""
    assert get_rule_spec("AllZero").at_least_one_of == (("collection_names", "tensor_regex"),)
    assert get_rule_spec("Overfit").at_least_one_of == ()


def test_rule_config_stays_what_it_is_in_copies():
    """A copy, also from another process, still knows its rule, and keeps what a user changed."""
    config = RuleConfig(get_rule_spec("DeadRelu"))
    config["DebugRuleConfiguration"]["RuleConfigurationName"] = "Mine"
    for twin in (copy.deepcopy(config), pickle.loads(pickle.dumps(config))):
        assert twin == config
        with pytest.raises(SMDebugValueError, match="DeadRelu"):
            twin.check_parameters({"threshold": 1})
