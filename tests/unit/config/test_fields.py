"""Rendering of settings, and the map that holds them."""

import copy
import enum
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.config._fields import Parameters, is_pipeline_variable, render_parameters, render_value
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError, did_you_mean
from sagemaker_debug_ext.vocabulary import ModeKeys


class Colour(enum.Enum):
    RED = "red"


class PipelineParameter:
    """Behaves as the SDK's: computes `expr`, cannot be hashed, refuses to become text."""

    __hash__ = None

    def __eq__(self, other):
        return self is other

    @property
    def expr(self):
        raise AssertionError("must not be computed")

    def __str__(self):
        raise AssertionError("must not become text")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is", "as it is"),
        (True, "True"),
        (False, "False"),
        (500, "500"),
        (0.1, "0.1"),
        (1e-07, "1e-07"),
        (20.0, "20.0"),
        ([1, 2, 3], "1,2,3"),
        (("min", "max"), "min,max"),
        (range(0, 30, 10), "0,10,20"),
        ([], ""),
        (ModeKeys.EVAL, "EVAL"),
        (Colour.RED, "red"),
    ],
)
def test_render_value_of_a_setting_gives_what_the_container_reads(value, text):
    """Every kind of setting has one spelling."""
    assert render_value(value, "x") == text


def test_render_value_of_another_librarys_number_shows_the_digits_that_were_written():
    """A narrow float is not widened, and a wide one is not printed with its type."""
    numpy = pytest.importorskip("numpy")
    assert render_value(numpy.float32(0.1), "x") == "0.1"
    assert render_value(numpy.float64(0.1), "x") == "0.1"
    assert render_value(numpy.int64(7), "x") == "7"


@pytest.mark.parametrize("value", [object(), {"a": 1}, b"bytes", {1, 2}, None])
def test_render_value_of_another_type_is_refused(value):
    """What has no spelling is not turned into text by force."""
    with pytest.raises(SMDebugTypeError, match="x must be"):
        render_value(value, "x")


def test_render_value_of_an_item_with_a_comma_is_refused():
    """The container would split the item."""
    with pytest.raises(SMDebugValueError, match="without a comma"):
        render_value(["a{1,3}"], "x")


def test_render_value_of_a_list_with_a_pipeline_variable_is_refused():
    """A variable cannot be joined to text."""
    with pytest.raises(SMDebugTypeError, match="inside a list"):
        render_value([PipelineParameter()], "x")


@given(st.floats(allow_nan=False))
def test_render_value_of_a_float_reads_back_exactly(number):
    """No digit is lost."""
    assert float(render_value(number, "x")) == number


def test_pipeline_variable_passes_untouched():
    """A variable is neither computed, nor turned into text, nor hashed."""
    variable = PipelineParameter()
    parameters = render_parameters({"save_interval": variable, "start_step": 3}, "x")
    assert parameters["save_interval"] is variable
    assert hash(parameters) == hash(render_parameters({"start_step": "3", "save_interval": variable}, "x"))


def test_is_pipeline_variable_looks_at_expr_and_to_string():
    """Either name is enough; plain values are none."""
    by_instance = type("Thing", (), {})()
    by_instance.expr = {}
    assert is_pipeline_variable(by_instance)
    assert is_pipeline_variable(type("Thing", (), {"to_string": lambda self: self})())
    assert not any(map(is_pipeline_variable, ["text", 1, 1.0, None, [], {}, object()]))


@given(st.dictionaries(st.text(min_size=1, max_size=8), st.text(max_size=8)))
def test_parameters_behave_as_the_mapping_they_were_made_of(values):
    """Equality, hash and copies follow the content; the order does not count."""
    parameters = Parameters(values)
    assert parameters == values
    assert dict(parameters) == values
    turned = Parameters(dict(reversed(values.items())))
    assert turned == parameters
    assert hash(turned) == hash(parameters)
    assert pickle.loads(pickle.dumps(parameters)) == copy.deepcopy(parameters) == parameters


def test_parameters_do_not_follow_later_changes():
    """What the caller does with its dictionary afterwards has no effect."""
    values = {"a": "1"}
    parameters = render_parameters(values, "x")
    values["a"] = "2"
    assert parameters == {"a": "1"}


@pytest.mark.parametrize(
    ("values", "error", "match"),
    [
        ("text", SMDebugTypeError, "must be a mapping"),
        ({1: "x"}, SMDebugTypeError, "must be strings"),
        ({"": "x"}, SMDebugValueError, "1 to 256"),
        ({"k" * 257: "x"}, SMDebugValueError, "got 257"),
        ({"k": "x" * 257}, SMDebugValueError, "at most 256 characters .got 257"),
    ],
)
def test_render_parameters_of_what_aws_would_refuse_is_an_error(values, error, match):
    """Names and values have the lengths that the service takes."""
    with pytest.raises(error, match=match):
        render_parameters(values, "x")


def test_render_parameters_leaves_out_what_is_none():
    """None means not given."""
    assert render_parameters({"a": None, "b": 1}, "x") == {"b": "1"}
    assert render_parameters(None, "x") == {}


def test_did_you_mean_suggests_in_any_case():
    """A wrong case is a near miss; something else entirely is not."""
    assert did_you_mean("VANISHINGGRADIENT", ["VanishingGradient"]) == "; did you mean 'VanishingGradient'?"
    assert did_you_mean("xyz", ["VanishingGradient"]) == ""
