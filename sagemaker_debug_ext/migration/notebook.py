"""Rename smdebug and ``sagemaker.debugger`` in the code cells of Jupyter notebooks; every other byte stays.

All cells are renamed as one program, since a cell uses what earlier cells import. The file is not written anew: each
changed line replaces its own JSON text.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from json.decoder import scanstring  # type: ignore[attr-defined]  # not in the stub
from json.scanner import py_make_scanner  # type: ignore[attr-defined]  # json.scanner has no stub
from typing import Any, Final, TypeVar

import attrs

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.migration.rename import Change, Finding, RenamedSource, rename_source, split_lines

_PYTHON_MAGICS: Final = re.compile(r"%%(time|timeit|prun|capture|writefile\s+\S+\.py)\b")
_NOT_PYTHON: Final = re.compile(r"\s*([\w, ]+=\s*)?[%!]|\s*\?|.*\?\s*$")
_NAMES_ORIGINAL: Final = re.compile(r"\bsmdebug\b|\bsagemaker\.debugger\b")
_Place = TypeVar("_Place", Change, Finding)


class _Text(str):  # noqa: SLOT000 - a text with one more attribute
    """A text of a JSON document with the place of its literal.

    Attributes:
        span: First character of the literal, and the first one behind it.
    """

    span: tuple[int, int]


class _PlacedDecoder(json.JSONDecoder):
    """Decodes a JSON document whose texts know their places."""

    def __init__(self) -> None:
        super().__init__()
        self.parse_string = self._parse_text
        self.scan_once = py_make_scanner(self)  # the one in C calls its own functions

    @staticmethod
    def _parse_text(document: str, start: int, strict: bool) -> tuple[_Text, int]:
        value, end = scanstring(document, start, strict)
        text = _Text(value)
        text.span = (start - 1, end)
        return text, end


@attrs.frozen
class _Line:
    """A line of a code cell.

    Args:
        cell: Number of the cell among all cells, from 1.
        number: Number of the line in its cell, from 1.
        text: The text that holds the line.
        offset: Index of the line's first character in that text.
    """

    cell: int
    number: int
    text: _Text
    offset: int


def rename_notebook(document: str) -> RenamedSource:
    """Rename the modules of smdebug and of the SDK's debugger package in the code cells of a notebook.

    Lines that IPython handles, such as ``!pip install``, become findings if they name smdebug. Texts, comments, other
    cells and outputs stay as they are.

    Args:
        document: A notebook of format 4, as JSON.

    Returns:
        The notebook; changes and findings have the number of their cell and the line in it.

    Raises:
        SMDebugValueError: The document is not a notebook of format 4.
    """
    findings: list[Finding] = []
    lines: list[_Line] = []
    source: list[str] = []
    for number, texts in _code_cells(document):
        cell_lines = list(_lines_of(number, texts))
        cell_source = [line.rstrip("\r\n") for line in split_lines("".join(texts))]
        python = _only_python(cell_source)
        if python is None or len(cell_lines) != len(cell_source):
            if any(map(_NAMES_ORIGINAL.search, cell_source)):
                findings.append(Finding(1, "the cell is not Python: rename what it needs by hand", number))
            continue
        findings += (
            Finding(line.number, f"a command names {found.group()}: change it by hand", number)
            for line, before, after in zip(cell_lines, cell_source, python, strict=True)
            if before != after and (found := _NAMES_ORIGINAL.search(before))
        )
        lines += cell_lines
        source += python
    renamed = rename_source("\n".join([*source, ""]))
    findings += (_at(finding, lines) for finding in renamed.findings)
    return RenamedSource(
        _apply(document, [(change, lines[change.line - 1]) for change in renamed.changes]),
        tuple(_at(change, lines) for change in renamed.changes),
        tuple(sorted(findings, key=lambda finding: (finding.cell or 0, finding.line))),
    )


def _at(place: _Place, lines: Sequence[_Line]) -> _Place:
    line = lines[place.line - 1]
    return attrs.evolve(place, line=line.number, cell=line.cell)


def _code_cells(document: str) -> Iterator[tuple[int, list[_Text]]]:
    """Yield number and source of each code cell."""
    try:
        notebook: Any = _PlacedDecoder().decode(document)
    except (ValueError, RecursionError) as error:
        raise SMDebugValueError(f"the notebook is not JSON: {error}") from error
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise SMDebugValueError(
            "the notebook has no cells: convert it to format 4 with jupyter nbconvert --to notebook"
        )
    for number, cell in enumerate(cells, 1):
        source = cell.get("source", []) if isinstance(cell, dict) and cell.get("cell_type") == "code" else []
        texts = [source] if isinstance(source, _Text) else source
        if isinstance(texts, list) and texts and all(isinstance(text, _Text) for text in texts):
            yield number, texts


def _lines_of(cell: int, texts: Sequence[_Text]) -> Iterator[_Line]:
    number = 0
    for text in texts:
        offset = 0
        for line in split_lines(text):
            number += 1
            yield _Line(cell, number, text, offset)
            offset += len(line)


def _only_python(lines: Sequence[str]) -> list[str] | None:
    """Return the lines with a placeholder for each that IPython handles; None if the cell is not Python."""
    if lines and lines[0].startswith("%%"):
        body = _only_python(lines[1:]) if _PYTHON_MAGICS.match(lines[0]) else None
        return None if body is None else ["pass", *body]
    if _is_python(lines):  # a line may begin with % because it goes on with the one above
        return list(lines)
    masked = [f"{line[: len(line) - len(line.lstrip())]}pass" if _NOT_PYTHON.match(line) else line for line in lines]
    return masked if _is_python(masked) else None


def _is_python(lines: Sequence[str]) -> bool:
    try:
        ast.parse("\n".join(lines))
    except (SyntaxError, ValueError):
        return False
    return True


def _apply(document: str, changes: Sequence[tuple[Change, _Line]]) -> str:
    """Put the changes into the document: each changed text is written anew in its place."""
    texts: dict[tuple[int, int], str] = {}
    for change, line in reversed(changes):
        text = texts.get(line.text.span, str(line.text))
        start = line.offset + change.start
        texts[line.text.span] = text[:start] + change.new + text[start + len(change.old) :]
    for (start, end), text in sorted(texts.items(), reverse=True):
        literal = json.dumps(text, ensure_ascii=document[start:end].isascii())
        document = document[:start] + literal + document[end:]
    return document
