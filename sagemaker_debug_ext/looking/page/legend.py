"""Legends of pictures: what their lines and colors mean."""

from __future__ import annotations

from collections.abc import Iterable

from sagemaker_debug_ext.looking.page.markup import Child, Element, element


def legend(entries: Iterable[tuple[Child, str]], title: str | None = None) -> Element:
    """Return a legend.

    Args:
        entries: Sample and meaning of each entry; see `line_sample`, `color_sample` and `class_sample`.
        title: What all entries are about; None for nothing.
    """
    head = None if title is None else element("li", title)
    return element("ul", head, [element("li", sample, text) for sample, text in entries], class_="legend")


def line_sample(class_: str, dashes: str | None) -> Element:
    """Return a piece of a line of a class, with the lengths of its dashes and gaps."""
    return _sample(26, element("line", x1=0, x2=26, y1=6, y2=6, class_=class_, stroke_dasharray=dashes))


def color_sample(color: tuple[int, int, int, int]) -> Element:
    """Return a square of a color: red, green, blue and opacity, each from 0 to 255."""
    red, green, blue, alpha = color
    return _square(fill=f"rgb({red},{green},{blue})", fill_opacity=alpha / 255, class_="swatch")


def class_sample(class_: str) -> Element:
    """Return a square in the color of a class."""
    return _square(class_=f"dot {class_}")


def _square(**attributes: str | float) -> Element:
    return _sample(14, element("rect", width=14, height=12, **attributes))


def _sample(width: int, drawn: Element) -> Element:
    return element("svg", drawn, viewBox=f"0 0 {width} 12", aria_hidden="true")
