"""Charts place every number, whatever it is."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sagemaker_debug_ext.looking.codes import NAN
from sagemaker_debug_ext.looking.numbers import as_number, as_step, as_tick
from sagemaker_debug_ext.looking.page.axes import Scale, value_scale
from sagemaker_debug_ext.looking.page.charts import Line, Mark, line_chart
from sagemaker_debug_ext.looking.page.folding import Folding
from sagemaker_debug_ext.looking.page.heatmap import heat_map
from sagemaker_debug_ext.looking.thinning import thin_curve, thin_grid

NUMBERS = st.floats(allow_nan=True, allow_infinity=True)


@example(values=[5e-324], limit=1.0, marks=[])
@example(values=[3e-323], limit=1.0, marks=[])
@given(values=st.lists(NUMBERS, min_size=1, max_size=40), limit=NUMBERS, marks=st.lists(st.integers(0, 60), max_size=3))
def test_line_chart_when_values_are_extreme_then_every_place_is_a_number(values, limit, marks):
    """No coordinate is missing or infinite, from the least to the largest float."""
    steps = range(len(values))
    lines = [Line("a", thin_curve(steps, np.array(values), 20))]
    text = str(line_chart("title", lines, [Mark(step, str(step)) for step in marks], limit=limit))
    places = re.findall(r' (?:x|y|x1|x2|y1|y2|cx|cy|points)="([^"]*)"', text)
    assert all(math.isfinite(float(number)) for place in places for number in re.split("[ ,]", place.strip()) if number)
    if not np.isfinite(values).any():
        assert "NaN or infinite" in text


@given(low=st.floats(-1e12, 1e12), span=st.floats(1e-3, 1e12), count=st.integers(2, 8))
def test_ticks_when_on_a_scale_then_within_it_and_not_many(low, span, count):
    """Ticks are round numbers within the scale, evenly spread."""
    scale = value_scale(low, low + span, 0, 100)
    ticks = scale.ticks(count)
    assert len(ticks) <= 2 * count + 1
    tolerance = 1e-6 * span + 1e-12 * abs(scale.high)
    assert all(scale.low - tolerance <= tick <= scale.high + tolerance for tick in ticks)


@given(number=st.floats(-1e6, 1e6))
def test_place_when_on_a_scale_then_in_proportion(number):
    """Both ends are where they were put, and what is between them is between them."""
    scale = Scale(-1e6, 1e6, 10, 30)
    assert scale.place(-1e6) == 10
    assert scale.place(1e6) == 30
    assert math.isclose(scale.place(number), 20 + number / 1e5, abs_tol=1e-9)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.41234, "0.412"), (1.234e-9, "1.23e-09"), (12345.6, "12346"), (0, "0"), (math.nan, "NaN"), (-math.inf, "-∞")],
)
def test_numbers_when_shown_then_with_three_digits(value, text):
    """Small and large numbers have an exponent, steps have groups of three digits."""
    assert as_number(value) == text
    assert as_step(1234567) == "1\u2009234\u2009567"


def test_line_chart_when_a_curve_is_not_finite_for_long_then_crosses_reach_its_end():
    """No more than a few dozen crosses are drawn, spread over all steps that are not finite."""
    values = np.where(np.arange(400) < 50, 1.0, np.nan)
    picture = str(line_chart("loss", [Line("TRAIN", thin_curve(range(400), values, 400))]))
    steps = [int(step) for step in re.findall(r'class="bad" data-step="(\d+)"', picture)]
    assert steps[0] == 50
    assert steps[-1] > 380
    assert len(steps) <= 40
    assert "NaN or infinite</li>" in picture
    assert "NaN or infinite</li>" not in str(line_chart("loss", [Line("TRAIN", thin_curve(range(9), np.ones(9), 9))]))


def test_heat_map_when_few_colors_occur_then_its_legend_has_no_others():
    """Each side has the colors up to its largest distance."""
    codes = np.full((4, 50), 1, np.uint8)
    codes[1, 9], codes[2, 5] = 1 + 2 * round(4 / 6 * 125) + 1, NAN  # four octaves above usual
    cells = thin_grid(codes, range(50), 4, 50)
    picture = str(heat_map("layers", cells, list("abcd"), "start"))
    assert re.findall(r"</svg>([^<]+)</li>", picture) == ["×4", "×16", "NaN"]


def test_line_chart_when_marks_are_close_then_both_texts_are_there_beside_each_other():
    """The step at which a rule found what began a little before."""
    line = Line("TRAIN", thin_curve(range(160), np.ones(160), 160))
    picture = str(line_chart("loss", [line], [Mark(91, "since 91", "onset"), Mark(93, "found 93")]))
    texts = re.findall(r'<text x="([\d.]+)"[^>]*>(since 91|found 93)</text>', picture)
    (first, _), (second, _) = texts
    assert float(second) - float(first) > 6.5 * len("since 91")


def test_line_chart_when_one_line_is_constant_then_named_and_told_in_few_numbers():
    """Its axis does not magnify nothing, its legend names it unless the title does, its table repeats no number."""
    line = Line("refund", thin_curve(range(3), np.ones(3), 3))
    picture = str(line_chart("importance", [line], folding=Folding()))
    assert "refund</li>" in picture
    assert "refund</li>" not in str(line_chart("importance of refund", [line]))
    assert ">0</text>" in picture
    assert ">0.6</text>" not in picture
    assert "lowest" not in picture
    assert "lowest" in str(
        line_chart("importance", [Line("a", thin_curve(range(3), np.ones(3), 2))], folding=Folding())
    )


@pytest.mark.parametrize(("tick", "text"), [(-1e-4, "-1e-4"), (1.5e5, "1.5e5"), (200_000, "2e5"), (20, "20"), (0, "0")])
def test_tick_when_large_or_small_then_short_enough_for_its_margin(tick, text):
    """A round number has no digits that say nothing."""
    assert as_tick(tick) == text


def test_line_chart_when_zeros_are_far_below_the_rest_then_a_log_scale_with_its_foot_for_them():
    """Three decades are not pressed into a line because a gradient is zero at times; less is no reason."""
    curve = thin_curve(range(4), np.array([1.0, 1e-6, 0, 1e-3]), 4)
    text = str(line_chart("title", [Line("a", curve)]))
    assert "log scale, 0 at its foot" in text
    assert value_scale(0, 1, 100, 0, 1e-6).place(0) == 100
    assert not value_scale(0, 1, 100, 0, 0.01).is_log
