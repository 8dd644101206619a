"""Layers over steps: a heat map for each measure, and the tensors in detail: how their values are distributed."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.looking.codes import Scale
from sagemaker_debug_ext.looking.material import Material
from sagemaker_debug_ext.looking.measures import LayerGrid
from sagemaker_debug_ext.looking.names import Labels
from sagemaker_debug_ext.looking.numbers import as_number, as_step
from sagemaker_debug_ext.looking.page.charts import Line, Mark, line_chart, table
from sagemaker_debug_ext.looking.page.folding import AS_TABLE, Folding
from sagemaker_debug_ext.looking.page.markup import Child, Element, element, shortened
from sagemaker_debug_ext.looking.thinning import thin_curve
from sagemaker_debug_ext.looking.views.grid_tables import grid_table
from sagemaker_debug_ext.looking.views.parts import Coloring, Content, grid_picture, marks_of

_MOST_BUCKETS: Final = 48
_FEWEST_BUCKETS: Final = 8
_RIDGES: Final = 8
_MAX_BYTES: Final = 256 << 20
_LINE_HEIGHT: Final = 26
_QUANTILES: Final = (0, 0.25, 0.5, 0.75, 1)
_HEAD: Final = ("step", "lowest", "25 %", "median", "75 %", "highest")


def layers_view(content: Content) -> Element:
    """Return the heat maps of all measures."""
    inner: list[Child] = []
    for number, material in enumerate(content.materials):
        inner.append(element("h3", content.title_of(number)) if content.title_of(number) else None)
        marks = marks_of(content.story, content.story.findings_of(number)[:3])
        for place, grid in enumerate(material.measures.grids.values()):
            scales: tuple[Scale, ...] = ("share",) if grid.measure.kind == "share" else ("start", "others")
            for scale in scales:
                words = {"start": "against its own start", "others": "against other layers", "share": ""}[scale]
                inner.append(
                    content.detail.folding.part(
                        f"{number} {grid.measure.name} {scale}",
                        f"{grid.measure.title} {words} ({grid.source})",
                        functools.partial(_grid, content, grid, scale, marks, material.labels),
                        is_open=place == 0 and scale == "start",
                    )
                )
        if not material.measures.grids:
            inner.append(_nothing_saved())
    return element("section", element("h2", "Layers × steps"), inner, id="layers")


def _grid(content: Content, grid: LayerGrid, scale: Scale, marks: Sequence[Mark], labels: Labels) -> Child:
    tables = content.detail.tables if scale != "others" else None
    coloring = Coloring(scale)
    picture = grid_picture(grid, coloring, content.detail, labels, marks, width=1200, label_width=260)
    return [picture, grid_table(grid, coloring, tables) if tables else None]


def _nothing_saved() -> Element:
    return element(
        "p",
        "No gradient, weight or layer output was saved. Save the collections gradients and weights, or their "
        "reduction l2.",
        class_="quiet",
    )


def tensors_view(content: Content) -> Child:
    """Return the tensors of the findings, and of the first layers, in detail."""
    inner: list[Child] = []
    for number, material in enumerate(content.materials):
        names = [name for finding in content.story.findings_of(number) for name in finding.tensors[:4]]
        for grid in material.measures.grids.values():
            names.extend(grid.tensors[:4])
        shown = list(dict.fromkeys(names))[: content.detail.tensors]
        inner.extend(_tensor(content, number, material, name) for name in shown)
    parts = [part for part in inner if part is not None]
    return element("section", element("h2", "Tensors"), parts, id="tensors") if parts else None


def _tensor(content: Content, number: int, material: Material, name: str) -> Child:
    grids = [(color, grid) for color, grid in enumerate(material.measures.grids.values()) if name in grid.tensors]
    ridges = _ridge_steps(material, name)
    if not grids and not ridges:
        return None
    title = content.title_of(number)
    return content.detail.folding.part(
        f"{number} {name}",
        f"{title + ': ' if title else ''}{shortened(name)}",
        functools.partial(_charts, content, number, name, grids, ridges),
    )


def _charts(
    content: Content, number: int, name: str, grids: Sequence[tuple[int, LayerGrid]], ridges: Sequence[int]
) -> Child:
    """Return the measures of a tensor over the steps, and its histograms at some steps."""
    marks = marks_of(
        content.story, [finding for finding in content.story.findings_of(number) if name in finding.tensors][:2]
    )
    charts = []
    for color, grid in grids:
        line = Line(name, thin_curve(*grid.series(name), content.detail.points), color)
        charts.append(
            line_chart(f"{grid.measure.title} of {name}", [line], marks, height=180, folding=content.detail.tables)
        )
    histograms = _ridges(content.materials[number], name, ridges, content.detail.tables)
    return element("div", charts, histograms, class_="pair")


def _ridge_steps(material: Material, name: str) -> list[int]:
    """Return some steps at which the values of a tensor were saved."""
    trial = material.trial
    with trial.index_reader.lock:
        size = trial.index_reader.index.smallest_value_bytes(name)
    steps = trial.tensor(name).steps() if trial.has_tensor(name) else []
    if not np.isfinite(size) or size > _MAX_BYTES or not steps:
        return []
    places = np.unique(np.linspace(0, len(steps) - 1, _RIDGES).astype(int))
    return [steps[place] for place in places.tolist()]


def _ridges(material: Material, name: str, steps: Sequence[int], folding: Folding | None) -> Element | None:
    """Return the histograms of a tensor at some steps, below each other; None if it has no numbers."""
    trial = material.trial
    values = {}
    for step in steps:
        try:
            value = trial.tensor(name).value(step)
        except (OSError, DebugExtError):  # noted as a problem of the trial
            continue
        if value.dtype.kind in "iuf" and value.size > 1:
            values[step] = value.reshape(-1).astype(np.float64)
    finite = [value[np.isfinite(value)] for value in values.values()]
    joined = np.concatenate(finite) if finite else np.empty(0)
    if not len(joined):
        return None
    low, high = float(joined.min()), float(joined.max())
    num_buckets = min(max(int(2 * (len(joined) / len(values)) ** 0.5), _FEWEST_BUCKETS), _MOST_BUCKETS)
    edges = np.linspace(low, high if high > low else low + 1, num_buckets + 1)
    rows = [_ridge(place, step, value, edges) for place, (step, value) in enumerate(values.items())]
    height = _LINE_HEIGHT * (len(rows) + 1) + 20
    picture = element(
        "svg",
        element("title", f"histograms of {shortened(name)}"),
        rows,
        element("text", as_number(low), x=90, y=height - 4),
        element("text", as_number(float(edges[-1])), x=600, y=height - 4, text_anchor="end"),
        viewBox=f"0 0 620 {height}",
        role="img",
        class_="chart",
    )
    quantiles = [
        (step, np.quantile(value, _QUANTILES)) for step, value in zip(values, finite, strict=True) if len(value)
    ]
    rows_of_table = [(as_step(step), *(as_number(float(number)) for number in found)) for step, found in quantiles]
    return element(
        "figure",
        element("figcaption", "histograms by step; heights are square roots of counts"),
        picture,
        folding.part(f"table histograms {name}", AS_TABLE, lambda: table(_HEAD, rows_of_table)) if folding else None,
    )


def _ridge(place: int, step: int, value: npt.NDArray[np.float64], edges: npt.NDArray[np.float64]) -> Child:
    counts = np.sqrt(np.histogram(value[np.isfinite(value)], edges)[0])
    top = counts.max(initial=1)
    base = _LINE_HEIGHT * (place + 1) + 14
    width = 510 / len(counts)
    points = [f"90,{base}"]
    for bucket, count in enumerate(counts.tolist()):
        at = f"{base - (_LINE_HEIGHT + 6) * count / top:.1f}"
        points += [f"{90 + bucket * width:.1f},{at}", f"{90 + (bucket + 1) * width:.1f},{at}"]
    points.append(f"600,{base}")
    return [
        element("text", f"step {as_step(step)}", x=84, y=base, text_anchor="end"),
        element("polygon", points=" ".join(points), class_="ridge c0"),
    ]
