"""Charts that several views share: losses with marks, and the heat map of a measure."""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final

import attrs
import numpy as np

from sagemaker_debug_ext.catalog import RuleSpec, list_rule_specs
from sagemaker_debug_ext.looking.codes import INFINITE, MOST_START, Columns, Scale, rounded
from sagemaker_debug_ext.looking.curves import Curve
from sagemaker_debug_ext.looking.material import Material
from sagemaker_debug_ext.looking.measures import LayerGrid
from sagemaker_debug_ext.looking.names import Labels
from sagemaker_debug_ext.looking.numbers import as_step
from sagemaker_debug_ext.looking.page.charts import Line, Mark, line_chart
from sagemaker_debug_ext.looking.page.folding import Folding
from sagemaker_debug_ext.looking.page.heatmap import heat_map
from sagemaker_debug_ext.looking.page.markup import Element, element, shortened
from sagemaker_debug_ext.looking.story import Finding, Sentence, Story
from sagemaker_debug_ext.looking.telling import matching_rows
from sagemaker_debug_ext.looking.thinning import ThinGrid, pool_grid, thin_curve
from sagemaker_debug_ext.vocabulary import ModeKeys

FIRST_ROWS: Final = 16
"""Highest number of rows of the heat map on the first screen."""

_HEIGHT: Final = 230
"""Usual height of a chart in pixels."""

_FEWEST_HEALTHY: Final = 3
"""Lowest number of steps whose median says what is usual."""

_LETTERS: Final = "ABCDEFGH"
_FEW_CELLS: Final = 16_000
"""Largest heat map whose colours are never rounded."""

_LOSS_OF_MODE: Final = {"TRAIN": "training loss", "EVAL": "evaluation loss", "PREDICT": "loss of predictions"}
_DASH_OF_MODE: Final = {"TRAIN": 0, "EVAL": 1, "PREDICT": 2, "GLOBAL": 0}


@attrs.frozen
class Detail:
    """Level of detail of charts, chosen so that the page keeps its size.

    Args:
        rows: Highest number of rows of a heat map.
        columns: Highest number of columns.
        points: Highest number of points of a curve.
        curves: Highest number of charts of curves, by trial.
        tensors: Highest number of tensors with histograms, by trial.
        has_tables: Whether the numbers of charts follow as tables.
        folding: How parts of the page are folded.
        octaves: Colours of large heat maps are rounded to so many octaves; 0 for the finest ones.
    """

    rows: int = 400
    columns: int = 640
    points: int = 400
    curves: int = 24
    tensors: int = 12
    has_tables: bool = True
    folding: Folding = attrs.field(factory=Folding)
    octaves: float = 0

    @property
    def tables(self) -> Folding | None:
        """How tables are folded; None without tables."""
        return self.folding if self.has_tables else None


@attrs.frozen(eq=False, kw_only=True)
class Content:
    """The content of a page.

    Args:
        story: The story.
        materials: The data of each trial of the story.
        detail: Level of detail.
        samples: Number of samples of the input data to show.
        is_whole: Whether all views are on the page, below each other.
    """

    story: Story
    materials: tuple[Material, ...]
    detail: Detail
    samples: int = 0
    is_whole: bool = True

    @property
    def worst(self) -> int:
        """Number of the trial with the most findings, which the first screen is about."""
        return max(range(len(self.materials)), key=lambda number: (len(self.story.findings_of(number)), -number))

    def title_of(self, number: int) -> str:
        """Return the heading of a trial within a view; empty if there is one trial only."""
        if len(self.materials) == 1:
            return ""
        return f"{_LETTERS[number]} {shortened(self.story.trials[number].name)}"


def sentence(marked: Sentence, tag: str = "p", **attributes: str) -> Element:
    """Return a sentence as an element, its parts marked."""
    parts = [
        part.text
        if part.kind == "text"
        else element("span", shortened(part.text), class_=f"is-{part.kind}", title=part.name or None)
        for part in marked.parts
    ]
    return element(tag, parts, **attributes)


def marks_of(story: Story, findings: Sequence[Finding]) -> list[Mark]:
    """Return marks at the onset of findings and at the steps at which they were found, with their numbers."""
    marks = []
    for finding in findings:
        number = story.findings_of(finding.trial).index(finding) + 1
        onset = finding.onset.step if finding.onset else None
        if onset is not None and onset != finding.found_at:
            marks.append(Mark(onset, f"{circled(number)} from {as_step(onset)}", "onset"))
        word = "from" if onset == finding.found_at else "found"
        marks.append(Mark(finding.found_at, f"{circled(number)} {word} {as_step(finding.found_at)}", "found"))
    return marks


def rules_of(finding: Finding) -> list[RuleSpec]:
    """Return what the catalog says of the rules of a finding, of those that are in it."""
    specs = {spec.name: spec for spec in list_rule_specs("debugger")}
    return [specs[name] for name in finding.rules if name in specs]


def circled(number: int) -> str:
    """Return the mark of a finding, by its number from 1."""
    return chr(0x245F + number) if number <= 20 else f"({number})"


def loss_chart(
    content: Content,
    numbers: Sequence[int],
    marks: Sequence[Mark] = (),
    height: int = _HEIGHT,
    steps: tuple[int, int] | None = None,
) -> Element | None:
    """Return the losses of trials in one chart; None if no loss was saved."""
    lines = []
    for number in numbers:
        losses = [curve for curve in content.materials[number].curves if curve.is_loss][:4]
        names = list(dict.fromkeys(curve.name for curve in losses))
        for curve in losses:
            letter = _LETTERS[number] if len(content.materials) > 1 else ""
            label = _loss_label(curve, letter, is_only=len(names) == 1)
            color = number if len(numbers) > 1 else names.index(curve.name)
            lines.append(curve_line(curve, label, color, content.detail.points))
    if not lines:
        return None
    return line_chart("loss", lines, marks, steps=steps, height=height, folding=content.detail.tables)


def evaluated_curve(
    content: Content, number: int, finding: Finding, height: int = _HEIGHT, steps: tuple[int, int] | None = None
) -> Element | None:
    """Return the curve of the first tensor of a finding, as its first rule evaluated it; None if there is none."""
    material = content.materials[number]
    evidence = finding.evidence[0] if finding.evidence else None
    if evidence is None or not evidence.tensors:
        return None
    name = evidence.tensors[0]
    if evidence.subject == "curves":
        return named_curve(content, number, name, finding, height, steps)
    grid = material.measures.grids.get(evidence.subject)
    if grid is None:
        return None
    points = content.detail.points
    label = material.labels.of(name)
    lines = [
        Line(label, thin_curve(*grid.series(name), points), 0),
        Line("median layer", thin_curve(*grid.median(), points), 7, 1, is_faint=True),
    ]
    direct = next((issue for issue in finding.issues if issue.rule == finding.rules[0]), finding.issues[0])
    limit = direct.threshold if evidence.subject == "update_ratio" else None
    title = f"{grid.measure.title} of {label}"
    marks = marks_of(content.story, [finding])
    return line_chart(title, lines, marks, limit=limit, steps=steps, height=height, folding=content.detail.tables)


def named_curve(
    content: Content,
    number: int,
    name: str,
    finding: Finding,
    height: int = _HEIGHT,
    steps: tuple[int, int] | None = None,
) -> Element | None:
    """Return a curve of a trial with the marks of a finding; None if there is no curve of that name."""
    material = content.materials[number]
    lines = [
        curve_line(curve, curve_label(curve), 0, content.detail.points)
        for curve in material.curves
        if curve.name == name
    ]
    title = material.labels.of(name)
    marks = marks_of(content.story, [finding])
    return line_chart(title, lines, marks, steps=steps, height=height, folding=content.detail.tables) if lines else None


def _loss_label(curve: Curve, letter: str, *, is_only: bool) -> str:
    mode = _LOSS_OF_MODE.get(curve.mode.name)
    return " ".join(filter(None, (letter, mode))) if is_only and mode else curve_label(curve, letter, curve.name)


def curve_label(curve: Curve, *words: str) -> str:
    """Return the label of a curve: some words, and its mode if it has one; its name if there is neither."""
    mode = "" if curve.mode is ModeKeys.GLOBAL else curve.mode.name
    return " ".join(filter(None, (*words, mode))) or curve.name


def curve_line(curve: Curve, label: str, color: int, points: int) -> Line:
    """Return the line of a curve."""
    return Line(label, thin_curve(curve.steps, curve.values, points), color, _DASH_OF_MODE[curve.mode.name])


@attrs.frozen(eq=False)
class Coloring:
    """The meaning of the colours of a heat map.

    Args:
        scale: Scale of the codes.
        healthy: The columns that a row is compared with; None for its start.
        reference: What a cell is compared with, in words; empty for that of the scale.
    """

    scale: Scale
    healthy: Columns | None = None
    reference: str = ""


def coloring_for(grid: LayerGrid, finding: Finding | None) -> Coloring:
    """Return the colours that show a finding: since when, or in which layer if it was there from the first step on.

    Cells are compared with the median of their row before the onset, or in the middle half of a run in which nothing
    was found.
    """
    is_share = grid.measure.kind == "share"
    onset = finding.onset.step if finding is not None and finding.onset is not None else None
    if finding is not None and onset is None:
        return Coloring("share" if is_share else "others")
    count = len(grid.steps)
    begin, end = (count // 4, count - count // 4) if onset is None else (0, bisect_left(grid.steps, onset))
    if end - begin < _FEWEST_HEALTHY:
        return Coloring("share" if is_share else "start")
    healthy = np.unique(np.linspace(begin, end - 1, min(end - begin, MOST_START)).astype(np.intp))
    ends = f"at steps {as_step(grid.steps[begin])} to {as_step(grid.steps[end - 1])}"
    when = ends if onset is None else f"before step {as_step(onset)}"
    return Coloring("change" if is_share else "start", healthy, f"the layer's own median {when}")


def grid_picture(
    grid: LayerGrid,
    coloring: Coloring,
    detail: Detail,
    names: Labels,
    marks: Sequence[Mark] = (),
    named: Sequence[str] = (),
    title: str | None = None,
    *,
    width: int = 620,
    height: int | None = None,
    label_width: int = 200,
) -> Element:
    """Return the heat map of a measure.

    Args:
        grid: The measure.
        coloring: Meaning of the colours.
        detail: How finely it is drawn.
        names: Labels of tensors.
        marks: Steps to mark.
        named: Tensors whose rows are pointed at.
        title: What is drawn; the measure by default.
        width: Width in pixels.
        height: Height of the cells in pixels; by default by the number of rows.
        label_width: Width of the labels in pixels.
    """
    cells = pool_grid(grid, coloring.scale, detail.rows, detail.columns, coloring.healthy)
    if detail.octaves and coloring.scale != "share" and cells.codes.size > _FEW_CELLS:
        cells = attrs.evolve(cells, codes=rounded(cells.codes, detail.octaves))
    wanted = set(named)
    labels: list[str] = []
    rows: list[int] = []
    for begin, end in itertools.pairwise(cells.row_edges):
        pointed = next((name for name in grid.tensors[begin:end] if name in wanted), None)
        labels.append(names.of(pointed or grid.tensors[begin]))
        if pointed:
            rows.append(len(labels) - 1)
    title = title or f"{grid.measure.title} by layer"
    return heat_map(
        title,
        cells,
        labels,
        coloring.scale,
        marks,
        pointed=rows,
        reference=coloring.reference or None,
        notes=_notes(grid, cells, wanted),
        width=width,
        height=height,
        label_width=label_width,
    )


def _notes(grid: LayerGrid, cells: ThinGrid, named: set[str]) -> dict[int, str]:
    """Return a note for the first row with values that are not finite: the step; named rows come before others."""
    columns = np.flatnonzero((cells.codes >= INFINITE).any(axis=0))
    if not len(columns):
        return {}
    # Within the first column of cells that has any, the first step counts.
    begin = cells.first_step + int(columns[0]) * cells.steps_per_column
    end = begin + cells.steps_per_column
    steps = slice(max(bisect_left(grid.steps, begin) - 1, 0), bisect_right(grid.steps, end) + 1)  # edges are rounded
    broken = grid.saved[:, steps] & ~np.isfinite(grid.values[:, steps])
    at = int(np.argmax(broken.any(axis=0)))
    rows = np.flatnonzero(broken[:, at]).tolist()
    row = next((row for row in rows if grid.tensors[row] in named), rows[0])
    kind = "NaN" if np.isnan(grid.values[row, steps.start + at]) else "infinite"
    text = f"✖ {kind} from step {as_step(grid.steps[steps.start + at])}"
    return {bisect_right(cells.row_edges, row) - 1: text}


def window(grid: LayerGrid, rows: Sequence[str], size: int) -> LayerGrid:
    """Return the rows around the first of some tensors; all of them if they are few, or if no tensor is named."""
    if len(grid.tensors) <= size or not rows:
        return grid
    middle = grid.tensors.index(rows[0])
    begin = min(max(middle - size // 2, 0), len(grid.tensors) - size)
    return grid.rows(grid.tensors[begin : begin + size])


def grid_of(material: Material, finding: Finding | None) -> tuple[LayerGrid | None, list[str]]:
    """Return the measure that shows a finding, or else the first one, and the rows of the finding's tensors."""
    grids = material.measures.grids
    if finding is not None:
        for evidence in finding.evidence:
            if evidence.subject in grids:
                return grids[evidence.subject], list(evidence.tensors)
    grid = next(iter(grids.values()), None)
    named = matching_rows(material, grid, finding.tensors) if grid is not None and finding is not None else []
    return grid, named
