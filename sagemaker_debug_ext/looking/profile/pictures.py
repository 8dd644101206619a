"""Pictures over time: heat maps of cores and GPUs, lines, findings, and bars of where the time goes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Final

import numpy as np

from sagemaker_debug_ext.looking.codes import NOT_SAVED
from sagemaker_debug_ext.looking.page.axes import Scale
from sagemaker_debug_ext.looking.page.charts import table
from sagemaker_debug_ext.looking.page.heatmap import palette, png_address
from sagemaker_debug_ext.looking.page.legend import class_sample, color_sample, legend
from sagemaker_debug_ext.looking.page.markup import Child, Element, element, shortened
from sagemaker_debug_ext.looking.profile.history import PARTS, Floats, History, Worker
from sagemaker_debug_ext.profiler.rules.base import Finding

WIDTH: Final = 1200
_LABELS: Final = 150
_RIGHT: Final = 12
_TOP: Final = 6
_BOTTOM: Final = 24
_MAX_ROW_NAMES: Final = 40
_MAX_BARS: Final = 32
_INTERVALS: Final = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 43200, 86400, 7 * 86400)


def time_scale(history: History) -> Scale:
    """Return the scale of all pictures of a job: seconds since 1970 to places."""
    end = history.start + history.num_bins * history.seconds
    return Scale(history.start, end, _LABELS, WIDTH - _RIGHT)


def as_time(seconds: float, *, has_date: bool = False) -> str:
    """Return a time in UTC."""
    return dt.datetime.fromtimestamp(seconds, dt.timezone.utc).strftime("%Y-%m-%d %H:%M:%S" if has_date else "%H:%M:%S")


def time_axis(x: Scale, bottom: float) -> Child:
    """Return the ticks of an axis of time, below `bottom`."""
    span = x.high - x.low
    every = next((size for size in _INTERVALS if span / size <= 9), _INTERVALS[-1])
    first = -(-int(x.low) // every) * every
    ticks = range(first, int(x.high) + 1, every)
    form = "%m-%d %H:%M" if span > 86400 else "%H:%M" if every >= 60 else "%H:%M:%S"
    return [
        element("line", x1=x.begin, x2=x.end, y1=bottom, y2=bottom, class_="axis"),
        [
            [
                element("line", x1=x.place(tick), x2=x.place(tick), y1=bottom, y2=bottom + 4, class_="axis"),
                element(
                    "text",
                    dt.datetime.fromtimestamp(tick, dt.timezone.utc).strftime(form),
                    x=x.place(tick),
                    y=bottom + 17,
                    text_anchor="middle",
                ),
            ]
            for tick in ticks
        ],
    ]


def utilization_map(history: History, machine: str, x: Scale) -> Element:
    """Return the heat map of all GPUs and cores of a machine."""
    rows = history.rows_of(machine)
    means = np.vstack([history.sensors[sensor].means(history.num_bins) for sensor in rows])
    means = np.vstack([_bridge_samples(values) for values in means])
    codes = np.where(np.isnan(means), NOT_SAVED, _codes(means))
    size = 14 if len(rows) <= 24 else max(340 / len(rows), 2)
    inner = size * len(rows)
    every = max(1, -(-len(rows) // _MAX_ROW_NAMES))
    title = f"{shortened(machine)}: utilization of each GPU and core"
    return _picture(
        title,
        inner,
        x,
        element(
            "image",
            href=png_address(codes.astype(np.uint8), "share"),
            x=x.begin,
            y=_TOP,
            width=x.end - x.begin,
            height=inner,
            preserveAspectRatio="none",
            class_="cells",
        ),
        [
            _row_name(shortened(sensor.name), _TOP + (place + 0.5) * size)
            for place, sensor in enumerate(rows)
            if place % every == 0
        ],
        key=_utilization_legend(),
    )


def _codes(percents: Floats) -> Floats:
    """Return the colour of each percentage, by its number on the scale of shares."""
    return 1 + np.rint(np.clip(np.nan_to_num(percents), 0, 100) * 2.5)


def _bridge_samples(values: Floats) -> Floats:
    """Return values in which gaps between two samples hold the earlier one; longer gaps stay."""
    sampled = np.flatnonzero(np.isfinite(values))
    if len(sampled) < 2:
        return values
    usual = int(np.median(np.diff(sampled)))
    latest = np.maximum.accumulate(np.where(np.isfinite(values), np.arange(len(values)), -len(values)))
    is_bridged = np.arange(len(values)) - latest < usual
    return np.where(is_bridged, values[np.maximum(latest, 0)], np.nan)


def _utilization_legend() -> Element:
    colors = palette("share")
    entries = [(f"{percent} %", int(_codes(np.array([percent]))[0])) for percent in (0, 25, 50, 75, 100)]
    return legend((color_sample(colors[code]), text) for text, code in (*entries, ("not sampled", NOT_SAVED)))


def lines(title: str, unit: str, columns: Sequence[tuple[str, Floats]], history: History, x: Scale) -> Element | None:
    """Return lines of means over time; None if there are no values."""
    drawn = [(name, values) for name, values in columns if np.isfinite(values).any()]
    if not drawn:
        return None
    most = max(float(np.nanmax(values)) for _, values in drawn) or 1.0
    inner = 110.0
    y = Scale(0.0, most * 1.05, _TOP + inner, _TOP)
    drawings: list[Child] = [
        [
            element("line", x1=x.begin, x2=x.end, y1=y.place(tick), y2=y.place(tick), class_="grid"),
            _row_name(f"{tick:.3g} {unit}", y.place(tick)),
        ]
        for tick in y.ticks(3)
    ]
    for number, (name, values) in enumerate(drawn):
        finite = np.flatnonzero(np.isfinite(values))
        points = [
            (
                round(x.place(history.start + (place + 0.5) * history.seconds), 1),
                round(y.place(float(values[place])), 1),
            )
            for place in finite
        ]
        drawings.append(
            element(
                "polyline",
                element("title", shortened(name)),
                points=" ".join(f"{at},{height}" for at, height in points),
                class_=f"line c{number % 8}",
            )
            if len(points) > 1
            else element("circle", cx=points[0][0], cy=points[0][1], r=2.5, class_=f"dot c{number % 8}")
        )
    entries = [(class_sample(f"c{number % 8}"), shortened(name)) for number, (name, _) in enumerate(drawn)]
    return _picture(title, inner, x, drawings, key=legend(entries) if len(drawn) > 1 else None)


def finding_spans(findings: Sequence[Finding], x: Scale) -> Element:
    """Return one row for each rule with the spans of its findings."""
    names = list(dict.fromkeys(finding.rule for finding in findings))
    size = 18
    rows: list[Child] = []
    for place, name in enumerate(names):
        top = _TOP + place * size
        rows.append(_row_name(name, top + size / 2))
        for finding in findings:
            if finding.rule == name:
                begin, end = (min(max(x.place(at), x.begin), x.end) for at in (finding.start, finding.end))
                note = f"{as_time(finding.start)} to {as_time(finding.end)} UTC: {finding.message}"
                rows.append(
                    element(
                        "rect",
                        element("title", note),
                        x=begin,
                        y=top + 3,
                        width=max(end - begin, 2.0),
                        height=size - 6,
                        class_=f"dot c{place % 8}",
                    )
                )
    return _picture("when rules found something", float(size * len(names)), x, rows)


def time_bars(workers: Sequence[tuple[str, Worker]]) -> Element:
    """Return a stacked bar for each worker: where its time goes, from its first event to its last."""
    shown = workers[:_MAX_BARS]
    size, width = 24, WIDTH - _LABELS - _RIGHT
    used = [part for part in PARTS if any(worker.shares()[part] > 0.0005 for _, worker in shown)]
    drawings: list[Child] = []
    for place, (name, worker) in enumerate(shown):
        at, top = float(_LABELS), _TOP + place * size
        drawings.append(_row_name(shortened(name), top + size / 2))
        for part in used:
            share = worker.shares()[part]
            drawings.append(
                element(
                    "rect",
                    element("title", f"{part}: {100 * share:.1f} %"),
                    x=at,
                    y=top + 2,
                    width=share * width,
                    height=size - 4,
                    class_=f"dot c{PARTS.index(part) % 8}",
                )
            )
            if share > 0.05:
                drawings.append(
                    element(
                        "text",
                        f"{100 * share:.0f} %",
                        x=at + share * width / 2,
                        y=top + size / 2 + 4,
                        text_anchor="middle",
                        class_="note",
                    )
                )
            at += share * width
    height = _TOP + size * len(shown) + 4
    title = "share of the time of each worker"
    picture = element("svg", drawings, viewBox=f"0 0 {WIDTH} {height}", role="img", aria_label=title, class_="chart")
    entries = [(class_sample(f"c{PARTS.index(part) % 8}"), part) for part in used]
    rows = [
        (shortened(name), str(worker.num_steps), *(f"{100 * worker.shares()[part]:.1f}" for part in used))
        for name, worker in shown
    ]
    return element(
        "figure",
        element("figcaption", title),
        legend(entries),
        picture,
        element(
            "details",
            element("summary", "as table"),
            table(("worker", "training steps", *(f"{part} (%)" for part in used)), rows),
        ),
    )


def _picture(title: str, inner: float, x: Scale, *drawn: Child, key: Child = None) -> Element:
    bottom = _TOP + inner
    picture = element(
        "svg",
        drawn,
        time_axis(x, bottom),
        viewBox=f"0 0 {WIDTH} {bottom + _BOTTOM}",
        role="img",
        aria_label=title,
        class_="chart",
    )
    return element("figure", element("figcaption", title), key, picture)


def _row_name(text: str, y: float) -> Element:
    return element("text", text, x=_LABELS - 6, y=y + 4, text_anchor="end")
