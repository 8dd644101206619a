"""Bars of counts as SVG: how often values fall into each of some parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sagemaker_debug_ext.looking.numbers import as_number, as_step
from sagemaker_debug_ext.looking.page.charts import table
from sagemaker_debug_ext.looking.page.folding import AS_TABLE, Folding
from sagemaker_debug_ext.looking.page.markup import Element, element

_WIDTH: Final = 620
_HEIGHT: Final = 160
_TOP: Final = 16
_BOTTOM: Final = 22
_MAX_NAMED: Final = 16


def bar_chart(title: str, labels: Sequence[float], counts: Sequence[int], folding: Folding | None) -> Element:
    """Return counts as a figure.

    Args:
        title: What is counted.
        labels: The class of each bar, or the lower end of its part of the numbers.
        counts: The counts.
        folding: How the counts follow as a folded table; None for no table.
    """
    width = (_WIDTH - 8) / max(len(counts), 1)
    inner = _HEIGHT - _TOP - _BOTTOM
    most = max(*counts, 1) if len(counts) > 1 else max(counts[0], 1) if counts else 1
    every = max(1, -(-len(counts) // _MAX_NAMED))
    bars = []
    for place, (label, count) in enumerate(zip(labels, counts, strict=True)):
        height = inner * count / most
        x = 4 + place * width
        bars.append(
            element(
                "rect",
                element("title", f"{as_number(label)}: {as_step(count)}"),
                x=x,
                y=_TOP + inner - height,
                width=max(0.9 * width, 0.5),
                height=height,
                class_="bar",
            )
        )
        if place % every == 0:
            bars.append(element("text", as_number(label), x=x + 0.45 * width, y=_HEIGHT - 6, text_anchor="middle"))
    words = f"{title}: {len(counts)} bars, the highest of {as_step(most)}"
    picture = element("svg", bars, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_label=words, class_="chart")
    rows = [(as_number(label), as_step(count)) for label, count in zip(labels, counts, strict=True)]
    return element(
        "figure",
        element("figcaption", title),
        picture,
        folding.part(f"table {title}", AS_TABLE, lambda: table(("from", "count"), rows)) if folding else None,
    )
