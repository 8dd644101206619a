"""Reductions computed from values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.testing.strategies import arrays
from sagemaker_debug_ext.trials.values.reductions import compute_reduction
from sagemaker_debug_ext.vocabulary import NORMS, REDUCTIONS

MATRIX = np.array([[1, -2, 3], [4, 5, -6]], np.float32)


@pytest.mark.parametrize(
    ("name", "plain", "absolute"),
    [
        ("min", -6, 1),
        ("max", 5, 6),
        ("mean", 5 / 6, 3.5),
        ("std", math.sqrt(91 / 6 - (5 / 6) ** 2), math.sqrt(91 / 6 - 3.5**2)),
        ("variance", 91 / 6 - (5 / 6) ** 2, 91 / 6 - 3.5**2),
        ("sum", 5, 21),
        ("prod", 720, 720),
        ("l1", 9, 9),
    ],
)
def test_reduction_when_of_a_matrix_then_has_its_numpy_meaning(name, plain, absolute):
    """Values are those of the definition: population variance, largest column sum."""
    assert compute_reduction(name, MATRIX) == pytest.approx(plain, rel=1e-6)
    assert compute_reduction(name, MATRIX, absolute=True) == pytest.approx(absolute, rel=1e-6)


@pytest.mark.parametrize("shape", [(), (6,), (1, 2, 3)])
def test_norm_when_of_neither_vector_nor_matrix_then_is_over_all_elements(shape):
    """Scalars and higher ranks have norms too."""
    value = np.resize(MATRIX, shape)
    assert compute_reduction("l1", value) == pytest.approx(np.abs(value).sum())
    assert compute_reduction("l2", value) == pytest.approx(math.sqrt((value**2).sum()))


@given(arrays())
def test_reduction_when_of_any_array_then_gives_one_number_or_a_named_error(value):
    """No dtype and no shape breaks a reduction; only the extremes of nothing are refused."""
    for name in (*REDUCTIONS, *NORMS):
        for absolute in (False, True):
            if name in ("min", "max") and not value.size:
                with pytest.raises(SMDebugValueError, match=rf"{name!r} needs at least one element"):
                    compute_reduction(name, value, absolute)
            else:
                assert np.shape(compute_reduction(name, value, absolute)) == ()


@pytest.mark.parametrize("name", ["mean", "std", "variance"])
def test_mean_when_of_nothing_then_is_not_a_number(name):
    """An average of nothing is NaN, without a warning."""
    assert math.isnan(compute_reduction(name, np.empty((0, 3))))


@pytest.mark.parametrize("name", ["l1", "l2", "sum", "max", "std"])
def test_reduction_when_there_is_nan_then_is_nan(name):
    """NaN goes through, in matrices too, without a warning."""
    assert math.isnan(compute_reduction(name, np.array([[1, np.nan], [0, 2]], np.float32)))


def test_norm_when_of_a_float16_matrix_then_is_computed_in_float32():
    """The singular value decomposition does not know half precision."""
    assert compute_reduction("l2", MATRIX.astype(np.float16)) == pytest.approx(np.linalg.norm(MATRIX, 2), rel=1e-6)


def test_reduction_when_of_bfloat16_then_is_computed_in_float32():
    """The small floats that numpy does not know itself are widened."""
    value = MATRIX.astype(pytest.importorskip("ml_dtypes").bfloat16)
    for name in (*REDUCTIONS, *NORMS):
        assert compute_reduction(name, value) == pytest.approx(compute_reduction(name, MATRIX), rel=1e-6)


def test_reduction_when_of_texts_then_refused():
    """Texts have no mean."""
    with pytest.raises(SMDebugTypeError, match="'mean' needs numbers"):
        compute_reduction("mean", np.array(["a"]))


def test_reduction_when_unknown_then_the_known_ones_are_listed():
    """A misspelt name is answered with the right ones."""
    with pytest.raises(SMDebugValueError, match=r"min, max, mean, std, variance, sum, prod, l1, l2 \(got 'median'\)"):
        compute_reduction("median", MATRIX)
