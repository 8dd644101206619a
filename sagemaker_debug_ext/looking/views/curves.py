"""Curves: losses, metrics, learning rates and further single numbers over steps."""

from __future__ import annotations

from sagemaker_debug_ext.looking.page.charts import line_chart
from sagemaker_debug_ext.looking.page.markup import Element, element
from sagemaker_debug_ext.looking.views.parts import Content, curve_line, marks_of

_LETTERS = "ABCDEFGH"


def curves_view(content: Content) -> Element:
    """Return a chart for each single number, all trials and modes in one."""
    names = list(dict.fromkeys(curve.name for material in content.materials for curve in material.curves))
    shown = names[: content.detail.curves]
    marks = marks_of(content.story.findings_of(0)[:3]) if len(content.materials) == 1 else []
    charts = []
    for name in shown:
        lines = []
        notes = set()
        for number, material in enumerate(content.materials):
            for curve in material.curves:
                if curve.name == name:
                    several = f"{_LETTERS[number]} " if len(content.materials) > 1 else ""
                    lines.append(curve_line(curve, f"{several}{curve.mode.name}", number, content.detail.points))
                    notes.add(curve.note)
        note = ", ".join(sorted(notes - {""}))
        title = f"{name} ({note})" if note else name
        charts.append(line_chart(title, lines, marks, has_table=content.detail.has_tables))
    total = max((material.num_curves for material in content.materials), default=0)
    rest = max(total - len(shown), 0)
    return element(
        "section",
        element("h2", "Curves"),
        element("p", f"{len(shown)} of {total} charts: losses and metrics first.", class_="quiet") if rest else None,
        element("div", charts, class_="pair")
        if charts
        else element("p", "No single number was saved.", class_="quiet"),
        id="curves",
    )
