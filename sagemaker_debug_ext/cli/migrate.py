"""``sagemaker-debug migrate``: rename smdebug and ``sagemaker.debugger`` in scripts and notebooks."""

from __future__ import annotations

import argparse
import io
import stat
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sagemaker_debug_ext.cli import _arguments, _output
from sagemaker_debug_ext.errors import SMDebugValueError

if TYPE_CHECKING:
    from sagemaker_debug_ext.migration.rename import Change, Finding, RenamedSource

_DESCRIPTION: Final = """Rename the modules of smdebug and of the SageMaker SDK's debugger package in Python files
and notebooks, and list names that are gone. Nothing is written without --write. The exit status is 1 if there is
something to change by hand."""


def add_parser(commands: Any) -> None:
    """Add the command."""
    parser = _arguments.add_command(
        commands,
        "migrate",
        "Rename smdebug and sagemaker.debugger in scripts and notebooks.",
        run,
        description=_DESCRIPTION,
    )
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="a Python file, a notebook, or a folder with such files"
    )
    parser.add_argument("--write", action="store_true", help="write the changed files; by default only list changes")
    _arguments.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Rename, or list what would be renamed."""
    from sagemaker_debug_ext.migration.notebook import rename_notebook
    from sagemaker_debug_ext.migration.rename import rename_source
    from sagemaker_debug_ext.store.backends.fileio import atomic_write

    report = []
    for file in _files(arguments.paths):
        try:
            encoding, source = _read(file)
            renamed = rename_notebook(source) if file.suffix == ".ipynb" else rename_source(source)
        except (SMDebugValueError, SyntaxError, UnicodeDecodeError) as error:
            report.append({"path": str(file), "changes": [], "findings": [{"line": 1, "text": str(error)}]})
            continue
        if renamed.changes and arguments.write:
            mode = stat.S_IMODE(file.stat().st_mode)
            atomic_write(file, renamed.source.encode(encoding))
            file.chmod(mode)  # scripts may be executable
        if renamed.changes or renamed.findings:
            report.append(_describe(file, renamed))
    if arguments.json:
        _output.write_json({"written": arguments.write, "files": report})
    else:
        _print(report, arguments.write)
    return int(any(entry["findings"] for entry in report))


def _files(paths: Sequence[str]) -> Iterator[Path]:
    for path in map(Path, paths):
        if path.is_dir():
            found = (file for file in path.rglob("*") if file.suffix in (".py", ".ipynb") and file.is_file())
            yield from sorted(file for file in found if ".ipynb_checkpoints" not in file.parts)
        elif path.is_file():
            yield path
        else:
            raise SMDebugValueError(f"PATH must be a file or a folder (got {str(path)!r})")


def _read(file: Path) -> tuple[str, str]:
    """Return encoding and text of a file, with its line ends as they are."""
    content = file.read_bytes()
    if file.suffix == ".ipynb":
        return "utf-8", content.decode("utf-8")
    encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    return encoding, content.decode(encoding)


def _describe(file: Path, renamed: RenamedSource) -> dict[str, Any]:
    return {
        "path": str(file),
        "changes": [{**_place(change), "old": change.old, "new": change.new} for change in renamed.changes],
        "findings": [{**_place(finding), "text": finding.text} for finding in renamed.findings],
    }


def _place(part: Change | Finding) -> dict[str, int]:
    return {"line": part.line} if part.cell is None else {"cell": part.cell, "line": part.line}


def _print(report: Sequence[dict[str, Any]], is_written: bool) -> None:
    for entry in report:
        for change in entry["changes"]:
            print(f"{_location(entry, change)}: {change['old']} -> {change['new']}")
        for finding in entry["findings"]:
            print(f"{_location(entry, finding)}: {finding['text']}")
    num_changes = sum(len(entry["changes"]) for entry in report)
    num_findings = sum(len(entry["findings"]) for entry in report)
    state = "written" if is_written else "not written; --write does so"
    print(f"{num_changes} renames ({state}), {num_findings} places to change by hand")


def _location(entry: dict[str, Any], part: dict[str, Any]) -> str:
    cell = f"cell {part['cell']}:" if "cell" in part else ""
    return f"{entry['path']}:{cell}{part['line']}"
