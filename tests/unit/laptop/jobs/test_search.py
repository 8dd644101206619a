"""What tuning jobs try, and what they read from printed lines."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.laptop.jobs.search import candidates, last_metric


def numbers(least, most, scaling):
    return {"ContinuousParameterRanges": [{"Name": "x", "MinValue": least, "MaxValue": most, "ScalingType": scaling}]}


@given(
    st.floats(0.001, 0.9),
    st.floats(0.001, 0.9),
    st.sampled_from(["Auto", "Linear", "Logarithmic", "ReverseLogarithmic"]),
    st.integers(0, 1000),
)
def test_candidates_when_drawn_then_lie_in_the_range(one, other, scaling, seed):
    """With every scaling, and equal for equal seeds."""
    least, most = sorted((one, other))
    config = {"Strategy": "Random", "RandomSeed": seed}
    ranges = numbers(str(least), str(most), scaling)
    drawn = [values["x"] for values in itertools.islice(candidates(config, ranges), 5)]
    assert all(least <= float(value) <= most for value in drawn)
    assert drawn == [values["x"] for values in itertools.islice(candidates(config, ranges), 5)]


def test_candidates_when_logarithmic_then_all_orders_of_magnitude_are_tried():
    """As many below the geometric mean as above it, which a linear scale does not give."""
    config = {"Strategy": "Bayesian", "RandomSeed": 0}
    ranges = {"IntegerParameterRanges": numbers("1", "10000", "Logarithmic")["ContinuousParameterRanges"]}
    drawn = [int(values["x"]) for values in itertools.islice(candidates(config, ranges), 400)]
    assert 150 < sum(value < 100 for value in drawn) < 250


def test_candidates_of_a_grid_are_all_combinations():
    """Each once."""
    ranges = {
        "CategoricalParameterRanges": [{"Name": "x", "Values": ["1", "2"]}, {"Name": "y", "Values": ["a", "b", "c"]}]
    }
    found = [(values["x"], values["y"]) for values in candidates({"Strategy": "Grid"}, ranges)]
    assert found == list(itertools.product("12", "abc"))


@pytest.mark.parametrize(
    ("least", "most", "scaling", "message"),
    [
        ("2", "1", "Linear", r"MinValue <= MaxValue \(got 2, 1\)"),
        ("nan", "1", "Linear", "MinValue <= MaxValue"),
        ("low", "1", "Linear", "numbers as limits"),
        ("0", "1", "Logarithmic", r"above 0 to be logarithmic \(got 0\)"),
        ("0", "1", "ReverseLogarithmic", "within 0 to 1"),
    ],
)
def test_range_when_it_cannot_be_searched_then_is_refused(least, most, scaling, message):
    """The message names the hyperparameter and the limits."""
    with pytest.raises(SMDebugValueError, match=f"'x'.*{message}"):
        candidates({"Strategy": "Random"}, numbers(least, most, scaling))


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        (["loss=2;", "loss=0.5; loss=0;", "done"], 0.0),
        (["loss=1e-3;", "loss=none;"], 0.001),
        (["accuracy=1;"], None),
        ([], None),
    ],
)
def test_metric_is_the_last_number_that_was_printed(lines, value):
    """Zero is a value, and words are none."""
    definitions = [{"Name": "loss", "Regex": "loss=([^;]+);"}, {"Name": "accuracy", "Regex": "accuracy=(.*);"}]
    assert last_metric(definitions, "loss", lines) == value
