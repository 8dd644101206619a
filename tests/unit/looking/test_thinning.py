"""Thinning keeps what is extreme."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sagemaker_debug_ext.looking.codes import INFINITE, NAN, NOT_SAVED, ZERO, octaves_of, rounded
from sagemaker_debug_ext.looking.measures import MEASURES, LayerGrid
from sagemaker_debug_ext.looking.thinning import farthest, pool_grid, thin_curve, thin_grid


@given(
    values=arrays.arrays(
        np.float64, st.integers(1, 300), elements=st.floats(-1e9, 1e9) | st.sampled_from([np.nan, np.inf])
    ),
    buckets=st.integers(1, 40),
)
def test_thin_curve_when_thinned_then_extremes_and_flags_survive(values, buckets):
    """The lowest and highest finite value are drawn, and so is that some are not finite."""
    curve = thin_curve(range(len(values)), values, buckets)
    finite = values[np.isfinite(values)]
    assert len(curve.steps) <= buckets
    assert curve.steps[-1] == len(values) - 1
    assert bool(curve.non_finite) == (len(finite) < len(values))
    if len(finite):
        assert np.nanmin(curve.low) == finite.min()
        assert np.nanmax(curve.high) == finite.max()
    if curve.non_finite:
        assert curve.non_finite[0] == int(np.argmin(np.isfinite(values)))


@given(data=st.data(), rows=st.integers(1, 60), columns=st.integers(1, 60), limit=st.integers(1, 40))
def test_thin_grid_when_one_cell_stands_out_then_it_is_seen(data, rows, columns, limit):
    """A single NaN among all cells is in the picture, in the block that holds it."""
    steps = np.cumsum(data.draw(arrays.arrays(np.int64, columns, elements=st.integers(1, 9)))).tolist()
    codes = data.draw(arrays.arrays(np.uint8, (rows, columns), elements=st.integers(1, 252)))
    row, column = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, columns - 1))
    codes[row, column] = NAN
    cells = thin_grid(codes, steps, limit, limit)
    assert cells.codes.shape[0] <= limit
    assert cells.codes.shape[1] <= limit
    (found,) = np.argwhere(cells.codes == NAN)
    assert cells.row_edges[found[0]] <= row < cells.row_edges[found[0] + 1]
    assert found[1] == int((steps[column] - steps[0]) / cells.steps_per_column)


def test_thin_grid_when_steps_are_missing_then_the_gap_is_left_open():
    """A pause of saving is as wide as it was, and not filled with neighbours."""
    cells = thin_grid(np.full((1, 6), 9, np.uint8), [0, 10, 20, 30, 90, 100], 10, 100)
    assert cells.codes[0].tolist() == [9, 9, 9, 9, 0, 0, 0, 0, 0, 9, 9]


def grid(values, saved=None, measure="gradient_norm"):
    table = np.array(values, float)
    return LayerGrid(
        MEASURES[measure],
        tuple(f"t{row}" for row in range(len(table))),
        tuple(range(table.shape[1])),
        table,
        np.ones(table.shape, bool) if saved is None else np.array(saved),
        "",
    )


def codes_of(of, scale):
    """Return a code for each cell of a grid."""
    return pool_grid(of, scale, *of.values.shape).codes


EXTREMES = np.array([0, 1, 2e-38, 3e38, np.nan, np.inf], np.float32).tolist()


@given(
    values=arrays.arrays(
        np.float32,
        st.tuples(st.integers(1, 30), st.integers(1, 90)),
        elements=st.floats(0, 2.0**20, width=32) | st.sampled_from(EXTREMES),
    ),
    data=st.data(),
    limits=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    scale=st.sampled_from(["start", "others", "share"]),
)
def test_pool_grid_when_cells_are_pooled_then_as_if_each_had_been_coded(values, data, limits, scale):
    """The code of a block is the highest of those of its cells; cells that were not saved do not count."""
    saved = data.draw(arrays.arrays(np.bool_, values.shape, elements=st.sampled_from([True, True, False])))
    if data.draw(st.booleans()):
        saved[:] = True
    of = grid(np.where(saved, values, np.nan), saved)
    pooled, expected = pool_grid(of, scale, *limits), thin_grid(codes_of(of, scale), of.steps, *limits)
    np.testing.assert_array_equal(pooled.codes, expected.codes)
    assert (pooled.row_edges, pooled.first_step) == (expected.row_edges, expected.first_step)
    assert pooled.steps_per_column == expected.steps_per_column


def test_encode_when_against_own_start_then_by_octaves_and_flags():
    """Twice and half the start are an octave above and below; what is no number has a code of its own."""
    values = [[1, 1, 1, 2, 0.5, 64, 0, np.inf, np.nan, np.nan]]
    saved = [[True] * 9 + [False]]
    codes = codes_of(grid(values, saved), "start")[0]
    assert [round(octaves_of(code), 1) for code in codes[:6].tolist()] == [0, 0, 0, 1, -1, 6]
    assert codes[6:].tolist() == [ZERO, INFINITE, NAN, NOT_SAVED]


def test_rounded_when_codes_are_coarse_then_no_farther_than_half_a_step_and_flags_stay():
    """Half octaves differ from the codes by a quarter, on the same side of the reference."""
    codes = np.arange(256, dtype=np.uint8)
    coarse = rounded(codes, 0.5)
    distances = [abs(octaves_of(int(a)) - octaves_of(int(b))) for a, b in zip(codes[1:253], coarse[1:253], strict=True)]
    assert max(distances) <= 0.26
    assert len(np.unique(coarse[1:253])) <= 27
    assert ((codes - coarse) % 2 == 0).all()
    assert coarse[[NOT_SAVED, ZERO, INFINITE, NAN]].tolist() == [NOT_SAVED, ZERO, INFINITE, NAN]


def test_encode_when_against_others_then_by_the_median_of_the_step():
    """A layer that differs from the others at each step stands out, whatever all do together."""
    codes = codes_of(grid([[1, 10], [1, 10], [16, 160]]), "others")
    assert [round(octaves_of(code)) for code in codes.ravel().tolist()] == [0, 0, 0, 0, 4, 4]


@pytest.mark.parametrize("scale", ["start", "others"])
@given(factors=st.lists(st.floats(-6, 6), min_size=2, max_size=12))
def test_encode_when_farther_from_the_reference_then_a_higher_code(scale, factors):
    """The order of codes is that of distances, so that pooling by the highest keeps the farthest."""
    values = np.exp2(np.array(factors))
    table = np.concatenate([np.ones((3, 3)), np.tile(values, (3, 1))], axis=1)
    if scale == "others":
        table = np.concatenate([np.ones((9, len(factors))), values[np.newaxis]])
    codes = codes_of(grid(table), scale)[-1][-len(factors) :]
    reference = np.abs(np.array(factors))
    order = np.argsort(codes, kind="stable")
    assert np.all(np.diff(np.round(reference[order] * 125 / 6)) >= 0)


def test_farthest_when_columns_are_joined_then_what_is_unusual_stays():
    """A spike, a drop, a zero, a NaN and an infinity outlast the usual values beside them; unsaved cells never win."""
    values = np.ones((6, 12), "f4")
    values[0, 7], values[1, 9], values[2, 10], values[3, 11], values[4, 6] = 16, 1 / 16, 0, np.nan, np.inf
    saved = np.ones(values.shape, bool)
    values[5, 8:] = np.nan
    saved[5, 8:] = False
    found = farthest(values, saved, np.array([0, 4, 8]), is_share=False)
    expected = np.ones((6, 3), "f4")
    expected[0, 1], expected[1, 2], expected[2, 2], expected[3, 2], expected[4, 1] = 16, 1 / 16, 0, np.nan, np.inf
    expected[5, 2] = np.nan
    np.testing.assert_array_equal(found, expected)
    shares = np.array([[0, 0.5, 0.25, 0, 1, 0]], "f4")
    kept = farthest(shares, np.ones(shares.shape, bool), np.array([0, 3]), is_share=True)
    assert kept.tolist() == [[0.5, 1]]


def test_encode_when_compared_with_healthy_columns_then_what_differs_from_them():
    """Not the start counts; a row without numbers there counts by its start; zeros are usual values of a share."""
    values = [[4, 1, 1, 1, 8], [2, np.nan, 0, np.inf, 4]]
    codes = pool_grid(grid(values), "start", 2, 5, np.arange(1, 4)).codes
    assert [round(octaves_of(code), 1) for code in codes[0].tolist()] == [2, 0, 0, 0, 3]
    assert codes[1, 1:4].tolist() == [NAN, ZERO, INFINITE]
    shares = pool_grid(grid([[0, 0, 0, 0.25, 1]], measure="output_zeros"), "change", 1, 5, np.arange(3)).codes
    assert [round(octaves_of(code), 1) for code in shares[0].tolist()] == [0, 0, 0, 3, 6]
