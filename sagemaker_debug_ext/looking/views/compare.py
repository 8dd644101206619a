"""Trials beside each other: verdicts, losses, where they part, and the same heat map of each."""

from __future__ import annotations

import attrs

from sagemaker_debug_ext.looking.numbers import as_step
from sagemaker_debug_ext.looking.page.charts import Mark
from sagemaker_debug_ext.looking.page.markup import Child, Element, element, shortened
from sagemaker_debug_ext.looking.story import Parting
from sagemaker_debug_ext.looking.views.parts import Coloring, Content, grid_picture, loss_chart

_LETTERS = "ABCDEFGH"
_ROWS = 60


def compare_view(content: Content) -> Child:
    """Return the comparison of several trials; None for one trial."""
    if len(content.materials) < 2:
        return None
    partings = content.story.partings
    marks = [Mark(parting.step, _pair(parting)) for parting in partings if parting.step is not None]
    shared = [
        name for name in content.materials[0].measures.grids if all(name in m.measures.grids for m in content.materials)
    ]
    pictures: list[Child] = []
    for name in shared[:2]:
        for number, material in enumerate(content.materials):
            grid = material.measures.grids[name]
            title = f"{content.title_of(number)}: {grid.measure.title}"
            coloring = Coloring("share" if grid.measure.kind == "share" else "start")
            detail = attrs.evolve(content.detail, rows=_ROWS)
            pictures.append(grid_picture(grid, coloring, detail, material.labels, marks, title=title))
    return element(
        "section",
        element("h2", "Compare"),
        element("ul", [element("li", parting_sentence(parting)) for parting in partings]),
        element("div", loss_chart(content, range(len(content.materials)), marks), class_="pair"),
        element("div", pictures, class_="pair"),
        id="compare",
    )


def parting_sentence(parting: Parting) -> str:
    """Return where two trials part, in a sentence."""
    first, second = _LETTERS[parting.first], _LETTERS[parting.second]
    if parting.step is None:
        compared = f"{parting.num_compared} tensor{'s' * (parting.num_compared != 1)}"
        return (
            f"{second} does not leave {first}: {compared} compared."
            if parting.num_compared
            else f"{second} and {first} share no tensor to compare."
        )
    place = f"{parting.measure} of {shortened(parting.label)}"
    return f"{second} leaves {first} at step {as_step(parting.step)}, first in {place}."


def _pair(parting: Parting) -> str:
    return f"{_LETTERS[parting.second]} leaves {_LETTERS[parting.first]}"


def parting_lines(content: Content) -> Element | None:
    """Return where trials part as a paragraph for the first screen; None for one trial."""
    if not content.story.partings:
        return None
    return element("p", " ".join(parting_sentence(parting) for parting in content.story.partings))
