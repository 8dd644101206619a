from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sagemaker_debug_ext.config.reductions import Reduction
from sagemaker_debug_ext.hooks.statistics.reductions import can_reduce, reduce_array
from sagemaker_debug_ext.vocabulary import NORMS, REDUCTIONS

X = np.array([[1.0, -2.0], [3.0, -4.0]], dtype=np.float32)


@pytest.mark.parametrize(
    ("name", "plain", "absolute"),
    [
        ("min", -4, 1),
        ("max", 3, 4),
        ("mean", -0.5, 2.5),
        ("sum", -2, 10),
        ("prod", 24, 24),
        ("std", np.sqrt(7.25), np.sqrt(1.25)),
        ("variance", 7.25, 1.25),
        ("l1", 10, 10),
        ("l2", np.sqrt(30), np.sqrt(30)),
    ],
)
def test_reduce_array_when_given_a_matrix_then_treats_it_as_a_list(name, plain, absolute):
    """All reductions, norms included, are of the flattened array, in its own dtype."""
    results = [reduce_array(X, Reduction(name, absolute)) for absolute in (False, True)]
    assert results == pytest.approx([plain, absolute])
    assert {result.dtype.name for result in results} == {"float32"}
    assert {result.shape for result in results} == {()}


def test_reduce_array_when_ddof_is_one_then_spread_is_unbiased():
    """PyTorch divides by one less than the count."""
    assert reduce_array(X, Reduction("variance"), ddof=1) == pytest.approx(np.var(X, ddof=1))


def test_reduce_array_when_one_number_is_unbiased_then_is_nan():
    """There is no spread of a single number."""
    assert np.isnan(reduce_array(np.float32([1]), Reduction("std"), ddof=1))
    assert reduce_array(np.float32([1]), Reduction("std")) == 0


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "uint64"])
@pytest.mark.parametrize("name", [*REDUCTIONS, *NORMS])
def test_reduce_array_when_numbers_are_whole_then_every_reduction_exists(dtype, name):
    """Whole numbers and truth values can be reduced, also in absolute value."""
    values = np.array([0, 1, 1], dtype=dtype)
    reference = values.astype(np.float64)
    for absolute in (False, True):
        assert reduce_array(values, Reduction(name, absolute)) == reduce_array(reference, Reduction(name, absolute))


def test_reduce_array_when_floats_are_short_then_does_not_overflow():
    """Sums of half-precision numbers are formed in single precision."""
    assert reduce_array(np.full(4, 60000, np.float16), Reduction("sum")) == 240000


def test_reduce_array_when_sum_overflows_then_is_infinite_and_silent():
    """What overflows is a finding for a rule, never a warning in the script."""
    assert np.isinf(reduce_array(np.float32([3e38, 3e38]), Reduction("sum")))


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.zeros(2), True),
        (np.zeros((2, 0)), False),
        (np.array(["a"]), False),
        (np.array([True]), True),
        (np.array([1j]), True),
    ],
    ids=["numbers", "empty", "text", "bool", "complex"],
)
def test_can_reduce_when_there_are_numbers_then_is_true(array, expected):
    """Only numbers can be reduced."""
    assert can_reduce(array) is expected


@given(hnp.arrays(np.float64, st.integers(2, 20), elements=st.floats(-1e6, 1e6)))
def test_reduce_array_when_values_are_any_then_norms_and_spread_fit_together(values):
    """Identities that hold for all numbers."""
    get = {(name, a): float(reduce_array(values, Reduction(name, a))) for name in (*REDUCTIONS, *NORMS) for a in (0, 1)}
    assert get["l1", 0] == pytest.approx(get["sum", 1])
    assert get["std", 0] ** 2 == pytest.approx(get["variance", 0])
    assert get["l2", 0] ** 2 == pytest.approx(get["variance", 0] * values.size + get["mean", 0] ** 2 * values.size)
    assert get["min", 0] <= get["mean", 0] + 1e-6
    assert get["max", 1] == max(abs(get["min", 0]), abs(get["max", 0]))
