"""Curves: losses, metrics, learning rates and further single numbers over steps, and a search for others by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sagemaker_debug_ext.looking.curves import Curve, CurveReader
from sagemaker_debug_ext.looking.material import Material
from sagemaker_debug_ext.looking.page.charts import line_chart
from sagemaker_debug_ext.looking.page.markup import Element, element, shortened
from sagemaker_debug_ext.looking.views.parts import Content, curve_label, curve_line, marks_of

_LETTERS = "ABCDEFGH"
_MAX_CHOSEN: Final = 8

CHOSEN: Final = "curve "
"""How the keys of parts begin that ask for the curve of a tensor by its name."""


def curves_view(content: Content) -> Element:
    """Return a chart for each single number, all trials and modes in one."""
    chosen = _chosen(content)
    usual = list(dict.fromkeys(curve.name for material in content.materials for curve in material.curves))
    shown = list(dict.fromkeys([*chosen, *usual[: content.detail.curves]]))
    curves = [
        [*material.curves, *_read_others(material, [name for name in chosen if name not in usual])]
        for material in content.materials
    ]
    charts = [_chart(content, name, curves) for name in shown]
    total = max((len(material.curve_names) for material in content.materials), default=0)
    return element(
        "section",
        element("h2", "Curves"),
        element("p", f"{len(shown)} of {total} charts: losses and metrics first.", class_="quiet")
        if total > len(shown)
        else None,
        _search(content, total) if total > len(shown) else None,
        element("div", charts, class_="pair")
        if charts
        else element("p", "No single number was saved.", class_="quiet"),
        id="curves",
    )


def all_names(content: Content) -> list[str]:
    """Return the names by which curves can be asked for, as they are shown."""
    return list(dict.fromkeys(_key(name) for material in content.materials for name in material.curve_names))


def _key(name: str) -> str:
    """Return a name as it is shown, in one line."""
    return shortened(name).replace("\n", "\\n")


def _chosen(content: Content) -> list[str]:
    """Return the tensors whose curves were asked for by name, at most eight."""
    keys = {key.removeprefix(CHOSEN) for key in content.detail.folding.opened or () if key.startswith(CHOSEN)}
    names = dict.fromkeys(name for material in content.materials for name in material.curve_names) if keys else ()
    return [name for name in names if _key(name) in keys][:_MAX_CHOSEN]


def _read_others(material: Material, names: Sequence[str]) -> tuple[Curve, ...]:
    """Return curves that are not among those that are always read."""
    wanted = [name for name in names if name in set(material.curve_names)]
    return CurveReader(material.trial, _MAX_CHOSEN, lambda _: wanted).read() if wanted else ()


def _chart(content: Content, name: str, curves: Sequence[Sequence[Curve]]) -> Element:
    lines = []
    notes = set()
    for number, of_trial in enumerate(curves):
        for curve in of_trial:
            if curve.name == name:
                letter = _LETTERS[number] if len(content.materials) > 1 else ""
                lines.append(curve_line(curve, curve_label(curve, letter), number, content.detail.points))
                notes.add(curve.note)
    note = ", ".join(sorted(notes - {""}))
    marks = marks_of(content.story, content.story.findings_of(0)[:3]) if len(content.materials) == 1 else []
    title = f"{name} ({note})" if note else name
    return element("div", line_chart(title, lines, marks, folding=content.detail.tables), data_curve=_key(name))


def _search(content: Content, total: int) -> Element:
    """Return the place of a search by name; in a file it holds the names, a live page asks for them."""
    is_live = content.detail.folding.opened is not None
    names = None if is_live else "\n".join(all_names(content))
    return element("div", class_="search", data_total=total, data_names=names)
