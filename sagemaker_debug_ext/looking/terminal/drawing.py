"""Pictures made of characters: curves in Braille dots, heat maps in shades, and texts whose colours may be missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, TypeAlias

import attrs
import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.looking.codes import INFINITE, MOST_OCTAVES, NAN, NOT_SAVED, ZERO, Scale, octaves_of
from sagemaker_debug_ext.looking.page.axes import value_scale
from sagemaker_debug_ext.looking.page.markup import shortened

Style: TypeAlias = Literal["", "bold", "bad", "good", "quiet", "above", "below", "flag", "zero"]

_SHADES: Final = " ░▒▓█"
_DOTS: Final = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Bit of each dot of a Braille character: rows from above, columns from the left."""


@attrs.frozen
class Span:
    """Some characters of a line.

    Args:
        text: The characters.
        style: Meaning of the characters, which are clear without colours, too.
    """

    text: str
    style: Style = ""


Line: TypeAlias = tuple[Span, ...]


def line_of(*parts: str | Span) -> Line:
    """Return a line; plain text needs no span. Characters that would move the cursor are spelled."""
    return tuple(Span(shown(part)) if isinstance(part, str) else Span(shown(part.text), part.style) for part in parts)


def shown(text: str) -> str:
    """Return a text in one line, without characters that act on a terminal."""
    return shortened(text.replace("\n", "\\n")).replace("\u2009", "\u00a0")


def plain(line: Line) -> str:
    """Return a line without colours."""
    return "".join(span.text for span in line).rstrip()


def fitted(line: Line, width: int) -> Line:
    """Return a line that is cut or filled to a width."""
    spans: list[Span] = []
    left = width
    for span in line:
        text = span.text[:left]
        spans.append(Span(text, span.style))
        left -= len(text)
    return (*spans, Span(" " * left)) if left else tuple(spans)


def beside(left: Sequence[Line], right: Sequence[Line], width: int) -> list[Line]:
    """Return two blocks beside each other, the left one `width` characters wide."""
    rows = max(len(left), len(right))
    pairs = zip([*left, *[()] * (rows - len(left))], [*right, *[()] * (rows - len(right))], strict=True)
    return [(*fitted(one, width), Span(" │ ", "quiet"), *other) for one, other in pairs]


def wrapped(text: str, width: int, style: Style = "", most: int = 2) -> list[Line]:
    """Return a text in at most so many lines of a width."""
    words, rows = shortened(text.replace("\n", " ")).split(" "), [""]
    for word in words:
        if rows[-1] and len(rows[-1]) + 1 + len(word) > width:
            rows.append(word)
        else:
            rows[-1] = f"{rows[-1]} {word}".lstrip()
    if len(rows) > most:
        rows = [*rows[: most - 1], f"{rows[most - 1][: width - 2]} …"]
    return [(Span(row.replace("\u2009", "\u00a0"), style),) for row in rows]


def curve_lines(
    curves: Iterable[tuple[Sequence[int], npt.NDArray[np.floating]]], width: int, height: int
) -> tuple[list[str], float, float]:
    """Return curves as lines of Braille characters, and the numbers of the lowest and the highest dot.

    Args:
        curves: Steps and values of each.
        width: Characters of a line.
        height: Number of lines.
    """
    runs = [run for steps, values in curves for run in _runs(np.asarray(steps, float), np.asarray(values, float))]
    if not runs:
        return [""] * height, np.nan, np.nan
    low = min(float(values.min()) for _, values in runs)
    high = max(float(values.max()) for _, values in runs)
    first = min(float(steps[0]) for steps, _ in runs)
    last = max(float(steps[-1]) for steps, _ in runs)
    y = value_scale(low, high, 4 * height - 1, 0)
    bits = np.zeros((height, width), np.intp)
    for steps, values in runs:
        columns = np.round((steps - first) / max(last - first, 1) * (2 * width - 1)).astype(int)
        places = np.clip(np.round([y.place(value) for value in values.tolist()]), 0, 4 * height - 1)
        every = np.arange(columns[0], columns[-1] + 1)
        line = np.interp(every, columns, places)
        tops, ends = np.minimum(line, np.append(line[1:], line[-1])), np.maximum(line, np.append(line[1:], line[-1]))
        np.minimum.at(tops, columns - columns[0], places)
        np.maximum.at(ends, columns - columns[0], places)
        for column, top, end in zip(every.tolist(), tops.round().tolist(), ends.round().tolist(), strict=True):
            for row in range(int(top), int(end) + 1):
                bits[row // 4, column // 2] |= _DOTS[row % 4][column % 2]
    return ["".join(chr(0x2800 + bit) if bit else " " for bit in row) for row in bits.tolist()], low, high


def _runs(
    steps: npt.NDArray[np.float64], values: npt.NDArray[np.float64]
) -> Iterator[tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]]:
    """Yield the parts of a curve between values that are not finite."""
    is_finite = np.isfinite(values)
    edges = np.flatnonzero(np.diff(is_finite.astype(int), prepend=0, append=0))
    for begin, end in edges.reshape(-1, 2).tolist():
        yield steps[begin:end], values[begin:end]


def cells_line(codes: npt.NDArray[np.uint8], scale: Scale, width: int) -> Line:
    """Return a row of cells; each character stands for the most important one of its cells.

    Args:
        codes: Codes of the cells.
        scale: Their scale.
        width: Number of characters.
    """
    edges = np.linspace(0, len(codes), min(width, len(codes)) + 1).astype(int)
    wide = np.repeat(np.maximum.reduceat(codes, edges[:-1]), np.diff(np.linspace(0, width, len(edges)).astype(int)))
    spans: list[Span] = []
    for code in wide.tolist():
        cell = _cell(code, scale)
        if spans and spans[-1].style == cell.style:
            spans[-1] = Span(spans[-1].text + cell.text, cell.style)
        else:
            spans.append(cell)
    return tuple(spans)


def _cell(code: int, scale: Scale) -> Span:
    if code == NOT_SAVED:
        return Span(" ")
    if code in (NAN, INFINITE):
        return Span("✖", "flag")
    if scale == "share":
        return Span(_SHADES[round((code - 1) / 250 * 4)], "above")
    if code == ZERO:
        return Span("0", "zero")
    octaves = octaves_of(code)
    shade = round(abs(octaves) / MOST_OCTAVES * 4)
    return Span(_SHADES[shade] if shade else "·", ("above" if octaves > 0 else "below") if shade else "quiet")
