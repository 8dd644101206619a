"""Line charts as SVG: lines of last values, bands from lowest to highest, marks at steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import attrs
import numpy as np

from sagemaker_debug_ext.looking.numbers import as_number, as_step, as_tick
from sagemaker_debug_ext.looking.page.axes import Scale, value_scale
from sagemaker_debug_ext.looking.page.folding import AS_TABLE, Folding
from sagemaker_debug_ext.looking.page.legend import legend, line_sample
from sagemaker_debug_ext.looking.page.markup import Child, Element, element, shortened
from sagemaker_debug_ext.looking.thinning import ThinCurve

_LEFT: Final = 66
_RIGHT: Final = 12
_TOP: Final = 22
_BOTTOM: Final = 26
_DASHES: Final = (None, "6 4", "2 3", "8 3 2 3")
_TABLE_ROWS: Final = 60
_MOST_CROSSES: Final = 40
"""Limit of the crosses at steps that are not finite; of more, evenly spread ones are drawn."""


@attrs.frozen
class Mark:
    """A line at a step.

    Args:
        step: The step.
        text: Label of the mark, a word or a number.
        kind: ``onset`` or ``found``.
    """

    step: int
    text: str
    kind: str = "found"


@attrs.frozen(eq=False)
class Line:
    """A line of a chart.

    Args:
        label: Label of the line.
        curve: Its values.
        color: Number of its colour.
        dash: Number of its pattern.
        is_faint: Whether it is there for comparison only.
    """

    label: str
    curve: ThinCurve
    color: int = 0
    dash: int = 0
    is_faint: bool = False


def line_chart(
    title: str,
    lines: Sequence[Line],
    marks: Sequence[Mark] = (),
    *,
    limit: float | None = None,
    along: str = "step",
    steps: tuple[int, int] | None = None,
    width: int = 620,
    height: int = 230,
    folding: Folding | None = None,
) -> Element:
    """Return a chart as a figure.

    Args:
        title: What is drawn.
        lines: The lines.
        marks: Steps to mark.
        limit: A value to draw as a dashed line.
        along: What the horizontal axis counts.
        steps: First and last step of the axis; by default those of the lines.
        width: Width in pixels.
        height: Height in pixels.
        folding: How the numbers follow as a folded table; None for no table.
    """
    drawn = [line for line in lines if line.curve.steps]
    numbers = np.concatenate([part for line in drawn for part in (line.curve.low, line.curve.high)] or [np.empty(0)])
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers):
        broken = [f"{line.label}: all {line.curve.num_values} values are NaN or infinite" for line in drawn]
        return element("figure", element("figcaption", title), element("p", "; ".join(broken) or "nothing was saved"))
    least, most = float(numbers.min()), float(numbers.max())
    inside = [] if limit is None or not _is_near(limit, least, most) else [limit]
    bottom = height - _BOTTOM
    positive = numbers[numbers > 0].min(initial=math.inf)
    y = value_scale(min(least, *inside, most), max(most, *inside, least), bottom, _TOP, float(positive))
    ends = [step for line in drawn for step in (line.curve.steps[0], line.curve.steps[-1])]
    first, last = steps or (min(ends), max(ends))
    x = Scale(first, last if last > first else first + 1, _LEFT, width - _RIGHT)
    picture = element(
        "svg",
        element("title", title),
        _axes(x, y, width, height, along),
        [_limit_line(value, x, y) for value in inside],
        plot_area(
            x,
            _TOP,
            height - _BOTTOM,
            [_line(line, x, y) for line in drawn],
            mark_lines(marks, x, _TOP, height - _BOTTOM),
        ),
        [
            element("text", "✖", x=x.place(step), y=_TOP + 10, class_="bad", data_step=step)
            for line in drawn
            for step in line.curve.non_finite[:: max(math.ceil(len(line.curve.non_finite) / _MOST_CROSSES), 1)]
        ],
        mark_texts(marks, x, _TOP),
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_label=_in_words(title, drawn),
        class_="chart",
        data_x=f"{x.low} {x.high} {x.begin} {x.end}",
        data_y=f"{y.low} {y.high} {y.begin} {y.end} {y.is_log + y.has_zero}",
    )
    return element(
        "figure",
        element("figcaption", shortened(title)),
        _legend(drawn) if len(drawn) > 1 or drawn[0].label not in title or drawn[0].curve.non_finite else None,
        picture,
        element("p", class_="readout", aria_live="polite"),
        folding.part(f"table {title}", AS_TABLE, lambda: _table(drawn)) if folding else None,
    )


def _is_near(limit: float, least: float, most: float) -> bool:
    """Return whether a limit can be drawn without pressing the values into a line."""
    if least > 0:
        return least / 100 <= limit <= most * 100
    return least - (most - least) <= limit <= most + (most - least)


def _in_words(title: str, lines: Sequence[Line]) -> str:
    parts = []
    for line in lines:
        finite = line.curve.last[np.isfinite(line.curve.last)]
        ends = f"{as_number(float(finite[0]))} to {as_number(float(finite[-1]))}" if len(finite) else "no finite value"
        parts.append(
            f"{line.label}: {ends}"
            + (f", not finite at step {line.curve.non_finite[0]}" if line.curve.non_finite else "")
        )
    return f"{title}. {'; '.join(parts)}"


def _axes(x: Scale, y: Scale, width: int, height: int, along: str) -> Child:
    bottom = height - _BOTTOM
    return [
        [
            [
                element("line", x1=_LEFT, x2=width - _RIGHT, y1=y.place(tick), y2=y.place(tick), class_="grid"),
                element("text", as_tick(tick), x=_LEFT - 6, y=y.place(tick) + 4, text_anchor="end"),
            ]
            for tick in y.ticks(5)
        ],
        step_axis(x, bottom, along),
        _scale_name(y, (bottom + _TOP) / 2) if y.is_log else None,
    ]


def _scale_name(y: Scale, middle: float) -> Element:
    """Return what kind of scale the values have, along their axis."""
    text = "log scale, 0 at its foot" if y.has_zero else "log scale"
    return element(
        "text", text, x=10, y=middle, text_anchor="middle", transform=f"rotate(-90 10 {middle:g})", class_="kind"
    )


def plot_area(x: Scale, top: float, bottom: float, *drawn: Child) -> Element:
    """Return the part of a chart that shows the steps in sight, of which scripts may choose a part."""
    width, height = x.end - x.begin, bottom - top
    return element(
        "svg",
        drawn,
        x=x.begin,
        y=top,
        width=width,
        height=height,
        viewBox=f"{x.begin} {top} {width} {height}",
        preserveAspectRatio="none",
        class_="plot",
    )


def step_axis(x: Scale, bottom: float, along: str = "step") -> Child:
    """Return the ticks of an axis of steps, below `bottom`."""
    ticks = [tick for tick in x.ticks(6) if tick == int(tick)]
    return [
        element("line", x1=x.begin, x2=x.end, y1=bottom, y2=bottom, class_="axis"),
        element("text", along, x=x.begin - 26, y=bottom + 17, text_anchor="end", class_="kind"),
        element(
            "g",
            [
                [
                    element("line", x1=x.place(tick), x2=x.place(tick), y1=bottom, y2=bottom + 4, class_="axis"),
                    element("text", as_step(int(tick)), x=x.place(tick), y=bottom + 17, text_anchor="middle"),
                ]
                for tick in ticks
            ],
            class_="ticks",
            data_bottom=bottom,
        ),
    ]


def _line(line: Line, x: Scale, y: Scale) -> Child:
    curve = line.curve
    finite = np.isfinite(curve.last)
    places = [
        (round(x.place(step), 1), round(y.place(low), 1), round(y.place(high), 1), round(y.place(value), 1))
        if is_finite
        else None
        for step, low, high, value, is_finite in zip(
            curve.steps, curve.low.tolist(), curve.high.tolist(), curve.last.tolist(), finite.tolist(), strict=True
        )
    ]
    color = f"c{line.color % 8}" + (" faint" if line.is_faint else "")
    has_band = bool(np.any(curve.high[finite] > curve.low[finite]))
    drawn: list[Child] = []
    for run in _runs(places):
        if has_band:
            upper = " ".join(f"{at},{high}" for at, _, high, _ in run)
            lower = " ".join(f"{at},{low}" for at, low, _, _ in reversed(run))
            drawn.append(element("polygon", points=f"{upper} {lower}", class_=f"band {color}"))
        points = " ".join(f"{at},{value}" for at, _, _, value in run)
        if len(run) == 1:
            drawn.append(element("circle", cx=run[0][0], cy=run[0][3], r=2.5, class_=f"dot {color}"))
        drawn.append(
            element(
                "polyline",
                points=points,
                class_=f"line {color}",
                stroke_dasharray=_DASHES[line.dash % 4],
                data_label=shortened(line.label),
            )
        )
    return drawn


def _runs(places: Sequence[tuple[float, ...] | None]) -> list[list[tuple[float, ...]]]:
    """Return the parts of a line between gaps."""
    runs: list[list[tuple[float, ...]]] = [[]]
    for place in places:
        if place is not None:
            runs[-1].append(place)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def _limit_line(value: float, x: Scale, y: Scale) -> Element:
    return element(
        "g",
        element("line", x1=x.begin, x2=x.end, y1=y.place(value), y2=y.place(value), class_="limit"),
        element("text", f"limit {as_number(value)}", x=x.end - 4, y=y.place(value) - 4, text_anchor="end"),
    )


def mark_lines(marks: Sequence[Mark], x: Scale, top: float, bottom: float, *, has_halo: bool = False) -> Child:
    """Return a vertical line for each mark; with a halo in the colour of the page, no cell below hides it."""
    return [
        element("line", x1=x.place(mark.step), x2=x.place(mark.step), y1=top, y2=bottom, class_=class_)
        for mark in _within(marks, x)
        for class_ in (*(("halo",) if has_halo else ()), f"mark {mark.kind}")
    ]


def mark_texts(marks: Sequence[Mark], x: Scale, top: float) -> Child:
    """Return the text of each mark above its line, or right of the text before it, unless there is no room."""
    drawn: list[Child] = []
    end_of_text = -1e9
    for mark in _within(marks, x):
        at = x.place(mark.step)
        width = 8.4 * len(mark.text)
        begin = max(min(max(at - width / 2, x.begin - 8), x.end - width), end_of_text)
        if begin <= min(at + width, x.end - width):
            drawn.append(
                element(
                    "text",
                    mark.text,
                    x=begin,
                    y=top - 6,
                    class_=f"marked {mark.kind}",
                    data_step=mark.step,
                    data_shift=begin - at,
                )
            )
            end_of_text = begin + width + 8
    return drawn


def _within(marks: Sequence[Mark], x: Scale) -> list[Mark]:
    return sorted((mark for mark in marks if x.low <= mark.step <= x.high), key=lambda mark: mark.step)


def _legend(lines: Sequence[Line]) -> Element:
    entries: list[tuple[Child, str]] = [
        (
            line_sample(f"line c{line.color % 8}{' faint' if line.is_faint else ''}", _DASHES[line.dash % 4]),
            shortened(line.label),
        )
        for line in lines
    ]
    if any(line.curve.non_finite for line in lines):
        entries.append((element("span", "✖ ", class_="wrong"), "NaN or infinite"))
    return legend(entries)


def _table(lines: Sequence[Line]) -> Element:
    rows = []
    is_thin = any(len(line.curve.steps) < line.curve.num_values for line in lines)
    for line in lines:
        curve = line.curve
        every = max(1, -(-len(curve.steps) // _TABLE_ROWS))
        for place in range(0, len(curve.steps), every):
            numbers = [as_number(float(part[place])) for part in (curve.last, curve.low, curve.high)]
            rows.append((shortened(line.label), as_step(curve.steps[place]), *numbers[: 3 if is_thin else 1]))
    return table(("line", "step", "value", *(("lowest", "highest") if is_thin else ())), rows)


def table(head: Sequence[Child], rows: Sequence[Sequence[Child]], **attributes: str) -> Element:
    """Return a table with a row of headings."""
    return element(
        "div",
        element(
            "table",
            element("thead", element("tr", [element("th", cell, scope="col") for cell in head])),
            element("tbody", [element("tr", [element("td", cell) for cell in row]) for row in rows]),
            **attributes,
        ),
        class_="scrolls",
        tabindex="0",
    )
