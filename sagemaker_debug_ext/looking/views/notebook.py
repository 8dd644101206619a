"""A trial in a notebook: a table, the loss, and gradient norms over the steps, without scripts and styles.

So it shows in notebooks that are not trusted, and wherever a notebook is only displayed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.looking.curves import Curve, CurveReader
from sagemaker_debug_ext.looking.measures import LayerGrid
from sagemaker_debug_ext.looking.measuring import MeasureReader
from sagemaker_debug_ext.looking.numbers import as_number, as_step
from sagemaker_debug_ext.looking.page.axes import Scale, value_scale
from sagemaker_debug_ext.looking.page.heatmap import png_address
from sagemaker_debug_ext.looking.page.markup import Child, Element, element, shortened
from sagemaker_debug_ext.looking.thinning import pool_grid, thin_curve

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial

_SECONDS: Final = 0.3
_MAX_TENSORS: Final = 500
_MAX_STEP_BYTES: Final = 8 << 20
"""Limit of the values that are read at a step."""

_MAX_CURVE_STEPS: Final = 20_000
_WIDTH: Final = 420
_HEIGHT: Final = 110
_COLORS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
_DASHES: Final = {"EVAL": "6 4", "PREDICT": "2 3"}


def trial_pictures(trial: Trial) -> str:
    """Return the loss and the layers of a trial as HTML; empty if there is nothing to draw.

    At most 500 tensors are read, for about 0.3 seconds; the result is at most 50 kB.
    """
    try:
        drawn = [_losses(trial), _layers(trial)]
    except (OSError, DebugExtError):  # noted as a problem of the trial, which the table counts
        return ""
    return str(element("div", drawn)) if any(drawn) else ""


def _losses(trial: Trial) -> Child:
    if len(trial.steps()) > _MAX_CURVE_STEPS:
        return None
    losses = [curve for curve in CurveReader(trial, 1).read() if curve.is_loss]
    finite = [value for curve in losses for value in curve.values.tolist() if np.isfinite(value)]
    if not finite:
        return None
    x = Scale(min(c.steps[0] for c in losses), max(c.steps[-1] for c in losses) or 1, 60, _WIDTH - 4)
    y = value_scale(min(finite), max(finite), _HEIGHT - 16, 6)
    ends = (
        (as_number(max(finite)), 4, y.place(max(finite)) + 8, "start"),
        (as_number(min(finite)), 4, y.place(min(finite)), "start"),
        (as_step(int(x.low)), x.begin, _HEIGHT - 2, "start"),
        (as_step(int(x.high)), x.end, _HEIGHT - 2, "end"),
    )
    picture = element(
        "svg",
        [_line(curve, x, y, number) for number, curve in enumerate(losses)],
        [
            element("text", text, x=at, y=below, text_anchor=anchor, font_size=11, fill="currentColor")
            for text, at, below, anchor in ends
        ],
        xmlns="http://www.w3.org/2000/svg",
        width=_WIDTH,
        height=_HEIGHT,
        role="img",
        aria_label="loss over steps",
    )
    named = ", ".join(f"{curve.mode.name} {as_number(float(curve.values[-1]))}" for curve in losses)
    return [element("p", f"{shortened(losses[0].name)}: {named}"), picture]


def _line(curve: Curve, x: Scale, y: Scale, number: int) -> Element:
    thin = thin_curve(curve.steps, curve.values, 200)
    points = " ".join(
        f"{x.place(step):.1f},{y.place(value):.1f}"
        for step, value in zip(thin.steps, thin.last.tolist(), strict=True)
        if np.isfinite(value)
    )
    color, dash = _COLORS[number % len(_COLORS)], _DASHES.get(curve.mode.name)
    return element("polyline", points=points, fill="none", stroke=color, stroke_width=1.5, stroke_dasharray=dash)


def _layers(trial: Trial) -> Child:
    reader = MeasureReader(trial, select=lambda groups: _some(trial, groups))
    reader.read((), _SECONDS)
    grids = list(reader.measures().grids.values())
    if not grids:
        return None
    return _strip(grids[0])


def _some(trial: Trial, groups: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return some tensors of the first group that has any, evenly spread, as many as can be read quickly."""
    group = next((group for group, names in groups.items() if names), None)
    if group is None:
        return {}
    names = list(groups[group])
    chosen = names[:: max(1, -(-len(names) // _MAX_TENSORS))]
    index = trial.index_reader.index
    with trial.index_reader.lock:
        sizes = {name: index.smallest_value_bytes(name) for name in chosen}
    found, total = [], 0.0
    for name in chosen:
        total += sizes[name] if np.isfinite(sizes[name]) else 0
        if total > _MAX_STEP_BYTES:
            break
        found.append(name)
    return {group: found}


def _strip(grid: LayerGrid) -> Child:
    cells = pool_grid(grid, "share" if grid.measure.kind == "share" else "start", 80, 160)
    rows = len(cells.codes)
    image = element(
        "img",
        src=png_address(cells.codes, "start"),
        width=_WIDTH,
        height=max(min(6 * rows, 240), 12),
        style="image-rendering:pixelated",
        alt=f"{grid.measure.title} of {len(grid.tensors)} tensors over steps",
    )
    steps = f"steps {as_step(grid.steps[0])} to {as_step(grid.steps[-1])}"
    tensors = f"{len(grid.tensors)} tensors, {shortened(grid.tensors[0])} on top"
    colors = "blue is smaller and orange larger than at the layer's own start, magenta is NaN or infinite"
    return [element("p", f"{grid.measure.title}, {steps}, {tensors}; {colors}"), image]
