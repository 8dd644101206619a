"""Show names and other text of unknown origin on terminals and in logs."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

_SHOWN: Final = "\n\t"


def printable(text: str) -> str:
    r"""Return a text with its control characters escaped, as ``\x1b``; line breaks and tabs stay.

    Escaped are all characters that move the cursor, change colors or the direction of writing, or cannot be encoded, so
    that a name in a trial cannot change how the text around it looks.
    """
    if text.isprintable():
        return text
    return "".join(map(_shown, text))


def printable_name(name: str) -> str:
    r"""Return a name for one line of text: as `printable`, and line breaks and tabs are escaped, too."""
    return printable(name).replace("\n", r"\n").replace("\t", r"\t")


def html_table(rows: Iterable[Sequence[str]], columns: Sequence[str] = (), caption: str = "") -> str:
    """Return an HTML table for notebooks.

    Args:
        rows: The cells. Without `columns`, the first one of each row is its heading.
        columns: Headings of the columns.
        caption: Title of the table; none if empty.
    """
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    if columns:
        head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
        return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{''.join(map(_html_row, rows))}</tbody></table>"
    described = (f"<tr><th>{html.escape(row[0])}</th>{_html_cells(row[1:])}</tr>" for row in rows)
    return f"<table>{title}{''.join(described)}</table>"


def _html_row(cells: Sequence[str]) -> str:
    return f"<tr>{_html_cells(cells)}</tr>"


def _html_cells(cells: Sequence[str]) -> str:
    return "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)


def _shown(character: str) -> str:
    if character.isprintable() or character in _SHOWN or unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode("ascii")
