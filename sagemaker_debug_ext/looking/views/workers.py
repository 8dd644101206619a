"""Workers beside each other: how far each is from the median worker, and where it stopped."""

from __future__ import annotations

from collections.abc import Sequence

from sagemaker_debug_ext.looking.codes import encode_octaves
from sagemaker_debug_ext.looking.numbers import as_number, as_step
from sagemaker_debug_ext.looking.page.charts import Mark, table
from sagemaker_debug_ext.looking.page.heatmap import heat_map
from sagemaker_debug_ext.looking.page.markup import Child, Element, element, shortened
from sagemaker_debug_ext.looking.parting import first_lasting
from sagemaker_debug_ext.looking.ranks import RankDeviations
from sagemaker_debug_ext.looking.thinning import thin_grid
from sagemaker_debug_ext.looking.views.parts import Content, Detail, marks_of

_PARTS_OCTAVES = 1.0


def ranks_view(content: Content) -> Child:
    """Return the workers of each trial that has several; None if no trial has."""
    inner: list[Child] = []
    for number, material in enumerate(content.materials):
        ranks = material.ranks
        if ranks is None:
            continue
        inner.append(element("h3", content.title_of(number)) if content.title_of(number) else None)
        picture = ranks_picture(ranks, content.detail, marks_of(content.story, content.story.findings_of(number)[:1]))
        inner.append(element("div", picture, _table(ranks), class_="pair"))
    return element("section", element("h2", "Workers"), inner, id="workers") if inner else None


def ranks_picture(ranks: RankDeviations, detail: Detail, marks: Sequence[Mark] = ()) -> Element:
    """Return the deviation of each worker over the steps."""
    codes = encode_octaves(ranks.octaves, ranks.saved)
    cells = thin_grid(codes, ranks.steps, detail.rows, detail.columns)
    title = f"largest deviation of each worker, {ranks.measure}"
    return heat_map(
        title,
        cells,
        [shortened(worker) for worker in ranks.workers],
        "start",
        marks,
        reference="the median worker",
        label_width=110,
    )


def _table(ranks: RankDeviations) -> Element:
    rows = []
    for number, worker in enumerate(ranks.workers):
        octaves = ranks.octaves[number]
        parts = first_lasting(octaves[None] > _PARTS_OCTAVES, octaves[None])
        where = f"parts at step {as_step(ranks.steps[parts[1]])}, {shortened(ranks.tensors[number])}" if parts else ""
        last = ranks.last_steps[number]
        behind = max(ranks.last_steps) - last
        rows.append(
            (
                shortened(worker),
                as_step(last),
                as_step(behind) if behind else "",
                f"×{as_number(float(2 ** octaves.max()))}",
                where,
            )
        )
    return table(("worker", "last step", "behind", "largest ratio", "parts from the others"), rows)
