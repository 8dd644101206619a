"""Pages of documentation whose Python is run by tests."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>not run|runs in: \w+)[^\n]*-->\n)?^```python\n(?P<code>.*?)^```"
    r"(?:\n\n```text\n(?P<printed>.*?)^```)?",
    re.DOTALL | re.MULTILINE,
)


def run_guide(page, num_blocks, *, surface=None, names=None, capsys=None):
    """Run the Python of a page, one block after the other in one namespace, as a reader pastes it.

    Errors show the lines of the page.

    Args:
        page: The page, as a path below the root of the repository.
        num_blocks: How many blocks are run; a page that lost one would else pass.
        surface: If given, the blocks marked ``<!-- runs in: ... -->`` for it and for all are run. Otherwise all blocks
            but those marked ``<!-- not run ... -->`` are.
        names: What is bound before the first block.
        capsys: If given, what a block prints is compared with the text that the page shows below it.

    Returns:
        All names that are bound after the last block.
    """
    path = ROOT / page
    text = path.read_text(encoding="utf-8")
    blocks = [block for block in _BLOCK.finditer(text) if _is_run(block["mark"], surface)]
    assert len(blocks) == num_blocks
    bound = {"__name__": "guide", **(names or {})}
    for block in blocks:
        line = text[: block.start("code")].count("\n")
        exec(compile("\n" * line + block["code"], str(path), "exec"), bound)
        if capsys is not None:
            printed = capsys.readouterr().out
            assert block["printed"] in (None, printed)
    return bound


def _is_run(mark, surface):
    if surface is None:
        return mark is None
    return mark in ("runs in: all", f"runs in: {surface}")
