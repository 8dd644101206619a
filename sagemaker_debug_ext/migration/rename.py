"""Rename smdebug and ``sagemaker.debugger`` in Python source, and find names that are gone."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from tokenize import TokenInfo
from typing import Final

import attrs

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.migration.table import read_table

PACKAGE: Final = __name__.partition(".")[0]
_ROOTS: Final = {"smdebug": PACKAGE, "smdebug_rulesconfig": f"{PACKAGE}.rule_configs"}
_AT_TOP_OF_SDK: Final = {"Profiler", "ProfilerConfig"}
"""Names of the debugger package that ``sagemaker`` offers itself."""

_IN_TEXT: Final = re.compile(r"\b(?:smdebug|sagemaker\.debugger)\.\w+")
_INVISIBLE: Final = {tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT}


@attrs.frozen
class Change:
    """A piece of a line that is replaced.

    Args:
        line: Number of the line, from 1.
        start: Column at which the old text begins, from 0.
        old: The text to replace.
        new: The text in its place.
        cell: Number of the notebook's cell, from 1; the line is one of that cell. None in a script.
    """

    line: int
    start: int
    old: str
    new: str
    cell: int | None = None


@attrs.frozen
class Finding:
    """A place that the user has to change.

    Args:
        line: Number of the line, from 1.
        text: What is wrong, and what to write instead.
        cell: Number of the notebook's cell, from 1; the line is one of that cell. None in a script.
    """

    line: int
    text: str
    cell: int | None = None


@attrs.frozen
class RenamedSource:
    """Python source, or a notebook, after the renames.

    Args:
        source: The new source, which has as many lines as the old one.
        changes: What was replaced, by line and column.
        findings: What the user has to change, by line.
    """

    source: str
    changes: tuple[Change, ...]
    findings: tuple[Finding, ...]


def rename_source(source: str) -> RenamedSource:
    """Rename the modules of smdebug and of the SDK's debugger package in Python source.

    Only code is changed: neither texts nor comments. A text that names such a module becomes a finding.

    Args:
        source: The source of a module.

    Raises:
        SMDebugValueError: The source is not Python.
    """
    try:
        tokens = [
            token for token in tokenize.generate_tokens(io.StringIO(source).readline) if token.type not in _INVISIBLE
        ]
        statements = list(_split_statements(tokens))
        changes = [change for statement in statements for change in _rename_statement(statement)]
        changes += _import_for_uses(statements)
        renamed = _apply(source, changes)
        tree = ast.parse(renamed)
    except (tokenize.TokenError, SyntaxError) as error:
        raise SMDebugValueError(f"the source is not Python: {error}") from error
    findings = [*_mixed_imports(statements), *_texts(tokens), *_gone_names(tree)]
    return RenamedSource(
        renamed,
        tuple(sorted(changes, key=lambda change: (change.line, change.start))),
        tuple(sorted(findings, key=lambda finding: finding.line)),
    )


def split_lines(source: str) -> list[str]:
    """Split source into lines with their ends, as Python counts them: a form feed ends no line."""
    return list(io.StringIO(source, newline="\n"))


def _split_statements(tokens: Sequence[TokenInfo]) -> Iterator[list[TokenInfo]]:
    statement: list[TokenInfo] = []
    for token in tokens:
        if token.type == tokenize.NEWLINE or token.string == ";":
            yield statement
            statement = []
        elif token.type != tokenize.ENDMARKER:
            statement.append(token)
    if statement:
        yield statement


def _change(first: TokenInfo, last: TokenInfo, new: str) -> Change:
    return Change(first.start[0], first.start[1], first.line[first.start[1] : last.end[1]], new)


def _words(tokens: Sequence[TokenInfo]) -> list[str]:
    return [token.string for token in tokens]


def _rename_statement(tokens: Sequence[TokenInfo]) -> Iterator[Change]:
    words = _words(tokens)
    if words[:1] == ["from"] and words[1:2] and words[1].startswith("."):
        return  # a module beside the script
    if words[:4] == ["from", "sagemaker", "import", "debugger"]:
        if len(words) == 4 or (len(words) == 6 and words[4] == "as"):
            yield _change(tokens[0], tokens[-1], f"import {PACKAGE} as {words[-1]}")
        return
    if words[:3] == ["from", "sagemaker", "import"] and _imported(tokens) <= _AT_TOP_OF_SDK:
        yield _change(tokens[1], tokens[1], PACKAGE)
        return
    for position, token in enumerate(tokens):
        if token.type != tokenize.NAME or words[position - 1 : position] == ["."]:
            continue
        following = words[position + 1 : position + 3]
        if token.string in _ROOTS and following[:1] != ["="]:
            yield _change(token, token, _ROOTS[token.string])
        elif token.string == "sagemaker" and following == [".", "debugger"]:
            last = tokens[position + 2]
            if last.start[0] == token.start[0]:
                yield _change(token, last, PACKAGE)


def _imported(tokens: Sequence[TokenInfo]) -> set[str]:
    """Return the names that a ``from`` statement imports, without those it gives them."""
    names = [token.string for token in tokens[3:] if token.string not in "()"]
    return {name for name, before in zip(names, [",", *names], strict=False) if before == ","}


def _import_for_uses(statements: Sequence[Sequence[TokenInfo]]) -> Iterator[Change]:
    """Import the package beside the SDK if the script uses ``sagemaker.debugger`` without importing it."""
    is_used = is_imported = False
    imported: TokenInfo | None = None
    for statement in statements:
        words = _words(statement)
        text = ".".join(word for word in words if word != ".")
        if words[:1] == ["import"]:
            is_imported = is_imported or "sagemaker.debugger" in text or "import.smdebug" in text
            for position, word in enumerate(words):
                if word == "sagemaker" and words[position + 1 : position + 2] not in (["."], ["as"]):
                    imported = statement[position]
        elif words[:1] != ["from"]:
            is_used = is_used or "sagemaker.debugger" in text
    if is_used and not is_imported and imported is not None:
        yield _change(imported, imported, f"sagemaker, {PACKAGE}")


def _apply(source: str, changes: Sequence[Change]) -> str:
    lines = split_lines(source)
    for change in sorted(changes, key=lambda change: (change.line, change.start), reverse=True):
        line = lines[change.line - 1]
        lines[change.line - 1] = line[: change.start] + change.new + line[change.start + len(change.old) :]
    return "".join(lines)


def _mixed_imports(statements: Sequence[Sequence[TokenInfo]]) -> Iterator[Finding]:
    for statement in statements:
        words = _words(statement)
        if words[:3] != ["from", "sagemaker", "import"]:
            continue
        line, names = statement[0].start[0], _imported(statement)
        is_alone = len(words) == 4 or (len(words) == 6 and words[4] == "as")
        if "debugger" in names and not is_alone:
            yield Finding(
                line, f"debugger is imported together with other names: write import {PACKAGE} as debugger on its own"
            )
        if not names <= _AT_TOP_OF_SDK:
            for name in sorted(names & _AT_TOP_OF_SDK):
                yield Finding(line, f"{name} is imported together with other names: import it from {PACKAGE}")


def _texts(tokens: Sequence[TokenInfo]) -> Iterator[Finding]:
    middle = getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)
    for token in tokens:
        if token.type in (tokenize.STRING, middle) and (found := _IN_TEXT.search(token.string)):
            yield Finding(token.start[0], f"a text names {found.group()}: rename it if it is the path of a module")


def _gone_names(tree: ast.Module) -> Iterator[Finding]:
    table = read_table()
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        paths: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            paths = [f"{node.module}.{alias.name}" for alias in node.names]
            modules.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
        elif isinstance(node, ast.Import):
            paths = [alias.name for alias in node.names]
            modules.update({alias.asname: alias.name for alias in node.names if alias.asname})
        elif isinstance(node, ast.Attribute):
            paths = [path] if (path := _dotted(node, modules)) else []
        for path in paths:
            reason = table.why_gone(path.removeprefix(f"{PACKAGE}.")) if path.startswith(f"{PACKAGE}.") else None
            if reason:
                yield Finding(getattr(node, "lineno", 1), f"{path} does not exist: {reason}")


def _dotted(node: ast.expr, modules: dict[str, str]) -> str | None:
    """Return the full name of an attribute of a module; None for other attributes."""
    if isinstance(node, ast.Name):
        return modules.get(node.id, PACKAGE if node.id == PACKAGE else None)
    if isinstance(node, ast.Attribute):
        parent = _dotted(node.value, modules)
        return f"{parent}.{node.attr}" if parent else None
    return None
