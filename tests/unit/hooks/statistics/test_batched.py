"""Reductions of many small arrays at once are those of each array alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sagemaker_debug_ext.config.reductions import Reduction
from sagemaker_debug_ext.hooks.statistics.batched import reduce_arrays
from sagemaker_debug_ext.hooks.statistics.reductions import reduce_array
from sagemaker_debug_ext.vocabulary import NORMS, REDUCTIONS

ALL = tuple(Reduction(name, absolute) for name in (*REDUCTIONS, *NORMS) for absolute in (False, True))

SMALL_ARRAYS = arrays.arrays(
    st.sampled_from([np.float16, np.float32]),
    arrays.array_shapes(max_dims=3, max_side=4),
    elements=st.floats(-1000, 1000, width=16),
)


@given(st.lists(SMALL_ARRAYS, min_size=1, max_size=5), st.sampled_from([0, 1]))
def test_batch_when_arrays_differ_in_shape_then_each_row_is_that_array_s(batch, ddof):
    """Neither neighbours nor the order matter: a row holds what the array alone gives in double precision."""
    found = reduce_arrays(batch, ALL, ddof)
    for array, row in zip(batch, found, strict=True):
        alone = [float(reduce_array(array.astype(np.float64), reduction, ddof)) for reduction in ALL]
        assert row.tolist() == pytest.approx(alone, rel=1e-9, abs=1e-6, nan_ok=True)


def test_batch_when_numbers_are_extreme_then_no_digit_is_lost():
    """Squares of the largest and smallest numbers stay in range, and equal numbers have no spread."""
    batch = [np.full(4, value, np.float32) for value in (3e38, 1e-45, 0.1)]
    found = reduce_arrays(batch, [Reduction("l2"), Reduction("std")], 1)
    assert found[:, 0].tolist() == pytest.approx([2 * float(array[0]) for array in batch])
    assert found[:, 1].tolist() == [0, 0, 0]


def test_batch_when_an_array_holds_nan_or_one_number_then_others_do_not_mind():
    """NaN stays where it is, and the spread of one number does not exist."""
    batch = [np.array([np.nan, 1], np.float32), np.array([2], np.float32), np.array([3, 5], np.float32)]
    found = reduce_arrays(batch, [Reduction("max"), Reduction("std")], 1)
    np.testing.assert_allclose(found, [[np.nan, np.nan], [2, np.nan], [5, 2**0.5]])
