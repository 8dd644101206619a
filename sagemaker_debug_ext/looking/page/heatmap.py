"""Heat maps of layers over steps as SVG around a small indexed PNG, so that scripts are not needed."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Collection, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.looking.codes import INFINITE, MOST_OCTAVES, NAN, NOT_SAVED, ZERO, Codes, Scale, octaves_of
from sagemaker_debug_ext.looking.numbers import as_step
from sagemaker_debug_ext.looking.page import axes
from sagemaker_debug_ext.looking.page.charts import Mark, mark_lines, mark_texts, plot_area, step_axis
from sagemaker_debug_ext.looking.page.legend import color_sample, legend
from sagemaker_debug_ext.looking.page.markup import Child, Element, element, shortened
from sagemaker_debug_ext.looking.thinning import ThinGrid

_TOP: Final = 24
_BOTTOM: Final = 24
_RIGHT: Final = 12
_MAX_LABELS: Final = 44
_LABEL_CHARACTERS: Final = 30
_LABEL_MARGIN: Final = 66
"""Lowest width of the labels in pixels: that of the numbers beside a line chart, so that steps are below each other."""

_CHARACTER: Final = 7
"""Width of a character of a label in pixels."""

_MAX_FULL_LABELS: Final = 64

_STEEPNESS: Final = 1.6
"""By how much what is close to usual is fainter, and what is far from it stronger, than in proportion."""

_ABOVE: Final = (200, 80, 0)
_BELOW: Final = (0, 114, 178)
_CIVIDIS: Final = ((0, 34, 78), (53, 69, 108), (102, 105, 112), (148, 142, 119), (200, 184, 102), (254, 232, 56))
_NAN: Final = (224, 0, 160)
_INFINITE: Final = (124, 58, 237)
_ZERO: Final = (20, 160, 120)
_GREY: Final = (128, 128, 128)
_SHARES: Final = (("-½", -6), ("-⅓", -4), ("-⅙", -2), ("+⅙", 2), ("+⅓", 4), ("+½", 6))
_OCTAVES: Final = (("÷64", -6), ("÷16", -4), ("÷4", -2), ("×4", 2), ("×16", 4), ("×64", 6))
_REFERENCES: Final[Mapping[Scale, str]] = {
    "start": "the layer's own start",
    "change": "the layer's own start",
    "others": "the median layer at the same step",
}


def heat_map(
    title: str,
    cells: ThinGrid,
    labels: Sequence[str],
    scale: Scale,
    marks: Sequence[Mark] = (),
    *,
    pointed: Collection[int] = (),
    notes: Mapping[int, str] | None = None,
    reference: str | None = None,
    width: int = 620,
    height: int | None = None,
    label_width: int = 200,
) -> Element:
    """Return a heat map as a figure with a legend.

    Args:
        title: What is drawn.
        cells: The cells.
        labels: Label of each row of cells.
        scale: Scale of the codes.
        marks: Steps to mark.
        pointed: Rows of cells that the finding names.
        notes: Row of cells → text that is written in it.
        reference: The reference of the colours; by default that of the scale.
        width: Width in pixels.
        height: Height of the cells in pixels; by default by the number of rows.
        label_width: Highest width of the labels in pixels.
    """
    num_rows, num_columns = cells.codes.shape
    labels = [f"{label} ◄" if row in pointed else label for row, label in enumerate(labels)]
    reference = reference or _REFERENCES.get(scale)
    label_width = min(max(_LABEL_MARGIN, round(_CHARACTER * max(map(len, map(_cut, labels))))), label_width)
    inner = height or max(min(num_rows * 15, 460), 30)
    x = axes.Scale(
        cells.first_step, cells.first_step + num_columns * cells.steps_per_column, label_width, width - _RIGHT
    )
    row_height = inner / num_rows
    full = inner + _TOP + _BOTTOM
    cell_width = width - _RIGHT - label_width
    steps = f"steps {as_step(cells.first_step)} to {as_step(int(x.high))}"
    cells_image = element(
        "image",
        href=png_address(cells.codes, scale),
        x=label_width,
        y=_TOP,
        width=cell_width,
        height=inner,
        preserveAspectRatio="none",
        class_="cells",
    )
    picture = element(
        "svg",
        element("title", title),
        plot_area(x, _TOP, _TOP + inner, cells_image, mark_lines(marks, x, _TOP, _TOP + inner, has_halo=True)),
        element("rect", x=label_width, y=_TOP, width=cell_width, height=inner, class_="frame"),
        _row_labels(labels, row_height, label_width),
        [
            element("text", text, x=label_width + 4, y=_TOP + (row + 0.5) * row_height + 4, class_="note", data_row=row)
            for row, text in (notes or {}).items()
        ],
        step_axis(x, _TOP + inner),
        mark_texts(marks, x, _TOP),
        viewBox=f"0 0 {width} {full}",
        role="img",
        aria_label=f"{title}: {num_rows} rows, {steps}",
        class_="chart heat",
        data_grid=f"{cells.first_step} {cells.steps_per_column} {label_width} {_TOP} {cell_width} {inner}",
        data_x=f"{x.low} {x.high} {x.begin} {x.end}",
        data_scale=scale,
        data_rows="\n".join(_in_full(labels)),
    )
    return element(
        "figure",
        element("figcaption", f"{title}, against {reference}" if reference else title),
        _legend(scale, cells.codes, has_pointed=bool(pointed)),
        picture,
        element("p", class_="readout", aria_live="polite"),
        element("p", _pooling(cells, num_rows), class_="quiet") if cells.is_pooled else None,
    )


def _pooling(cells: ThinGrid, num_rows: int) -> str:
    rows = cells.row_edges[-1] / num_rows
    return f"Each row of cells stands for about {rows:.0f} tensors; the one farthest from usual is shown."


def _row_labels(labels: Sequence[str], row_height: float, label_width: int) -> Child:
    every = max(1, -(-len(labels) // _MAX_LABELS))
    return [
        element(
            "text",
            element("title", shortened(label)),
            _cut(label),
            x=label_width - 6,
            y=_TOP + (row + 0.5) * row_height + 4,
            text_anchor="end",
            class_="row",
            data_row=row,
        )
        for row, label in enumerate(labels)
        if row % every == 0
    ]


def _in_full(labels: Sequence[str]) -> list[str]:
    """Return the label of every row in one line, for scripts; shorter ones if there are many."""
    shown = map(shortened if len(labels) <= _MAX_FULL_LABELS else _cut, labels)
    return [label.replace("\n", "\\n") for label in shown]


def _cut(label: str) -> str:
    seen = shortened(label)
    half = _LABEL_CHARACTERS // 2
    return seen if len(seen) <= _LABEL_CHARACTERS else f"{seen[: half - 4]}…{seen[-half - 3 :]}"


def _legend(scale: Scale, codes: Codes, *, has_pointed: bool) -> Element:
    """Return what the colors of the cells mean, and the mark of rows if any is marked."""
    found = np.unique(codes)
    named = (
        [("0", 1), ("½", 126), ("1", 251)]
        if scale == "share"
        else [
            (text, _code(octaves))
            for text, octaves in (_SHARES if scale == "change" else _OCTAVES)
            if _is_reached(octaves, found)
        ]
    )
    special = [("NaN", NAN), ("∞", INFINITE), ("not saved", NOT_SAVED)]
    if scale != "share":
        special.insert(0, ("exactly zero", ZERO))
    special = [(text, code) for text, code in special if code in found]
    colors = palette(scale)
    entries: list[tuple[Child, str]] = [(color_sample(colors[code]), text) for text, code in (*named, *special)]
    if has_pointed:
        entries.append((None, "◄ named by the finding"))
    return legend(entries, "share" if scale == "share" else "blue is lower, orange higher:")


def _is_reached(octaves: int, codes: Codes) -> bool:
    """Return whether a cell is about as far from usual, on the same side; the codes of one side are alternate ones."""
    finite = codes[(codes > NOT_SAVED) & (codes < ZERO)]
    side = finite[finite % 2 == (0 if octaves > 0 else 1)]
    return bool(len(side)) and abs(octaves_of(int(side.max()))) > abs(octaves) - 1


def _code(octaves: float) -> int:
    return 1 + 2 * round(abs(octaves) / MOST_OCTAVES * 125) + (octaves > 0)


def palette(scale: Scale) -> list[tuple[int, int, int, int]]:
    """Return red, green, blue and opacity of each code; usual values are transparent."""
    colors = [(*_GREY, 60)] * 256
    for code in range(1, 253):
        if scale == "share":
            colors[code] = (*_blend((code - 1) / 250), 255)
        else:
            octaves = octaves_of(code)
            strength = min(abs(octaves) / MOST_OCTAVES, 1.0)
            far, near = strength**_STEEPNESS, (1 - strength) ** _STEEPNESS
            colors[code] = (*(_ABOVE if octaves > 0 else _BELOW), round(255 * far / (far + near)))
    colors[ZERO] = (*_ZERO, 255) if scale != "share" else colors[251]
    colors[INFINITE] = (*_INFINITE, 255)
    colors[NAN] = (*_NAN, 255)
    return colors


def _blend(share: float) -> tuple[int, int, int]:
    at = min(max(share, 0.0), 1.0) * (len(_CIVIDIS) - 1)
    left = min(int(at), len(_CIVIDIS) - 2)
    red, green, blue = (
        round(low + (high - low) * (at - left)) for low, high in zip(_CIVIDIS[left], _CIVIDIS[left + 1], strict=True)
    )
    return red, green, blue


def png_address(codes: npt.NDArray[np.uint8], scale: Scale) -> str:
    """Return cells as the address of an indexed PNG."""
    colors = palette(scale)
    height, width = codes.shape
    rows = np.zeros((height, width + 1), np.uint8)  # each row begins with its filter: none
    rows[:, 1:] = codes
    content = b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(kind, data)
        for kind, data in (
            (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            (b"PLTE", bytes(part for color in colors for part in color[:3])),
            (b"tRNS", bytes(color[3] for color in colors)),
            (b"IDAT", zlib.compress(rows.tobytes(), 9)),
            (b"IEND", b""),
        )
    )
    return "data:image/png;base64," + base64.b64encode(content).decode()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
