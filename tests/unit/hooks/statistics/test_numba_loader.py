"""Compiled loops find what numpy finds, and are done without where they cannot be had."""

import logging
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sagemaker_debug_ext.hooks.statistics import numba_loader
from sagemaker_debug_ext.hooks.statistics.histograms import histogram

try:
    from sagemaker_debug_ext.hooks.statistics import numba_kernels
except ModuleNotFoundError:
    numba_kernels = None

needs_numba = pytest.mark.skipif(numba_kernels is None, reason="numba is not installed")

LARGE = numba_loader.WORTHWHILE + 12_345
"""Several chunks, and what is left of one."""


def check(values):
    """Compare what a compiled loop finds with what numpy finds in double precision."""
    found = numba_kernels.summarise(values)
    wide = values.astype(np.float64)
    for part, numbers in ((found.plain, wide), (found.absolute, np.abs(wide))):
        np.testing.assert_equal([part.least, part.greatest], [numbers.min(), numbers.max()])
        scale = np.abs(numbers).sum()
        assert part.total == pytest.approx(numbers.sum(), rel=1e-5, abs=1e-6 * scale, nan_ok=True)
        assert part.spread == pytest.approx(numbers.var() * numbers.size, rel=1e-4, nan_ok=True)
    assert found.squares == pytest.approx((wide * wide).sum(), rel=1e-5, nan_ok=True)
    assert found.is_exact


@needs_numba
@pytest.mark.parametrize("size", [1, 2, 2047, 2048, 2049, LARGE])
@pytest.mark.parametrize("mean", [0.0, -1.0, 1000.0])
def test_summarise_when_values_are_spread_then_agrees_with_double_precision(size, mean):
    """Chunks are put together without losing digits, even where the mean is far larger than the spread."""
    check((np.random.default_rng(size).standard_normal(size) + mean).astype(np.float32))


@needs_numba
@pytest.mark.parametrize("mean", [0.1, -1.3, 123456.7, 1e8])
@pytest.mark.parametrize("relative", [0.0, 1e-6, 1e-5])
def test_summarise_when_values_are_nearly_equal_then_spread_keeps_its_digits(mean, relative):
    """What a rounded mean is off by is not taken for spread."""
    values = (mean * (1 + relative * np.random.default_rng(1).standard_normal(LARGE))).astype(np.float32)
    check(values)
    assert numba_kernels.summarise(np.full(LARGE, mean, np.float32)).plain.spread == 0


@needs_numba
@given(arrays.arrays(np.float32, st.integers(1, 40), elements=st.floats(-1e9, 1e9, width=32)))
def test_summarise_when_values_are_any_then_extremes_and_sums_are_right(values):
    """Extremes are exact; sums are, as far as float32 goes, unless it is said that they are not."""
    found = numba_kernels.summarise(values)
    wide = values.astype(np.float64)
    magnitudes = np.abs(wide)
    assert (found.plain.least, found.plain.greatest) == (wide.min(), wide.max())
    assert (found.absolute.least, found.absolute.greatest) == (magnitudes.min(), magnitudes.max())
    assert found.plain.total == pytest.approx(wide.sum(), rel=1e-5, abs=1e-5 * magnitudes.sum())
    assert found.absolute.total == pytest.approx(magnitudes.sum(), rel=1e-5)
    if found.is_exact:
        assert found.squares == pytest.approx((wide * wide).sum(), rel=1e-5)
        assert found.plain.spread == pytest.approx(wide.var() * wide.size, rel=1e-3, abs=1e-6 * (wide * wide).sum())


@needs_numba
@pytest.mark.parametrize("at", [0, 5, LARGE - 1])
@pytest.mark.parametrize("sign", [1, -1])
def test_summarise_when_there_is_nan_then_everything_is(at, sign):
    """NaN is never swallowed, wherever it stands and whatever its sign bit."""
    values = np.ones(LARGE, np.float32)
    values[at] = math.copysign(math.nan, sign)
    found = numba_kernels.summarise(values)
    assert all(math.isnan(number) for number in (*found.plain, *found.absolute, found.squares))


@needs_numba
@pytest.mark.parametrize("value", [math.inf, -math.inf, 1e30, 1e-30])
def test_summarise_when_squares_leave_the_range_then_says_so(value):
    """Extremes are right all the same; beside larger numbers, those with too small a square do not count."""
    values = np.zeros(LARGE, np.float32)
    values[7] = value
    assert numba_kernels.summarise(np.append(values, np.float32(1))).is_exact == (abs(value) < 1)
    found = numba_kernels.summarise(values)
    assert not found.is_exact
    assert {found.plain.least, found.plain.greatest} == {0.0, float(np.float32(value))}


@needs_numba
def test_summarise_when_all_is_zero_then_is_exact():
    """Zeros of either sign have squares that are right."""
    for zero in (0.0, -0.0):
        found = numba_kernels.summarise(np.full(LARGE, zero, np.float32))
        assert found.is_exact
        assert [*found.plain, *found.absolute, found.squares] == [0.0] * 9


@needs_numba
@pytest.mark.parametrize("size", [0, 1, 3, 4, LARGE])
def test_count_leading_bits_when_asked_then_counts_like_numpy(size):
    """Every value is counted once, also in pieces."""
    values = np.random.default_rng(size).standard_normal(size).astype(np.float32)
    wanted = np.bincount(values.view(np.uint32) >> np.uint32(20), minlength=4096)
    np.testing.assert_array_equal(numba_kernels.count_leading_bits(values, 20), wanted)


@needs_numba
def test_count_leading_bits_when_a_table_is_full_then_goes_on_with_the_next(monkeypatch):
    """What is counted at a time is bounded, the counts are not."""
    monkeypatch.setattr(numba_kernels, "_MOST_COUNTED", 1000)
    counts = numba_kernels.count_leading_bits(np.ones(LARGE, np.float32), 20)
    assert counts.sum() == counts[np.float32(1).view(np.uint32) >> 20] == LARGE


@needs_numba
def test_loops_when_arrays_may_not_be_written_to_then_nothing_is_compiled_for_them():
    """One compiled loop serves all arrays."""
    values = np.ones(LARGE, np.float32)
    numba_kernels.summarise(values)
    numba_kernels.count_leading_bits(values, 20)
    values.flags.writeable = False
    assert numba_kernels.summarise(values).plain.total == LARGE
    assert numba_kernels.count_leading_bits(values, 20).sum() == LARGE
    assert len(numba_kernels._summarise.signatures) == len(numba_kernels._count.signatures) == 1


FORKED_WHILE_LOADING = """
import os, threading, time
import numpy as np
from sagemaker_debug_ext.hooks.statistics import numba_loader
values = np.ones(100_000, np.float32)
thread = threading.Thread(target=numba_loader.kernels_for, args=(values,))
thread.start()
time.sleep(0.3)
child = os.fork()
if not child:
    os._exit(0 if numba_loader.kernels_for(values).summarise(values).plain.total == 100_000 else 1)
assert os.waitpid(child, 0)[1] == 0
thread.join()
"""


@needs_numba
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_kernels_for_when_forked_while_they_are_compiled_then_child_has_them(tmp_path):
    """A data loader that is forked meanwhile does not wait for a thread that it does not have."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}  # nothing is compiled so far
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED_WHILE_LOADING]
    subprocess.run(command, check=True, env=environment, timeout=60)


@needs_numba
def test_histogram_when_loops_are_compiled_then_is_the_one_of_numpy(monkeypatch):
    """Buckets and counts are the same; sums agree within what float32 holds."""
    values = np.random.default_rng(0).standard_normal(LARGE).astype(np.float32)
    values[:3] = math.nan, math.inf, -math.inf
    compiled = histogram(values)
    monkeypatch.setattr(numba_loader, "_load", lambda: None)
    plain = histogram(values)
    assert compiled[:3] == plain[:3] == (plain.least, plain.greatest, LARGE - 3)
    assert compiled.total == pytest.approx(plain.total, abs=1e-2)
    assert compiled.squares == pytest.approx(plain.squares, rel=1e-6)
    np.testing.assert_array_equal(compiled.limits, plain.limits)
    np.testing.assert_array_equal(compiled.counts, plain.counts)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(numba_loader.WORTHWHILE - 1, np.float32),
        np.zeros(LARGE, np.float64),
        np.zeros(2 * LARGE, np.float32)[::2],
    ],
    ids=["small", "double", "with gaps"],
)
def test_kernels_for_when_loops_do_not_suit_then_are_not_looked_for(array, monkeypatch):
    """Small arrays, other dtypes and arrays with gaps are left to numpy."""
    monkeypatch.setattr(numba_loader, "_load", lambda: pytest.fail("looked for"))
    assert numba_loader.kernels_for(array) is None


def test_kernels_for_when_numba_does_not_work_then_numpy_does_the_work(monkeypatch, caplog):
    """A missing or broken Numba is told of once, in the log, and nothing else comes of it."""
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.delitem(sys.modules, "sagemaker_debug_ext.hooks.statistics.numba_kernels", raising=False)
    numba_loader._load.cache_clear()
    try:
        with caplog.at_level(logging.INFO):
            assert histogram(np.ones(LARGE, np.float32)).num == LARGE
            assert numba_loader.kernels_for(np.ones(LARGE, np.float32)) is None
        assert len([record for record in caplog.records if "because Numba is unavailable" in record.message]) == 1
    finally:
        numba_loader._load.cache_clear()
