"""Every example of the guide to capturing runs."""

import re
from pathlib import Path

import pytest

pytest.importorskip("sklearn")

GUIDE = Path(__file__).parents[3] / "docs" / "capturing-xgboost.md"
BLOCK = re.compile(r"(?P<mark><!-- not run[^\n]*-->\n)?```python\n(?P<code>.*?)```", re.DOTALL)


def test_examples_run_one_after_the_other(tmp_path, monkeypatch):
    """A reader may paste them in order; what they assert is so."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "guide"}
    blocks = [block for block in BLOCK.finditer(GUIDE.read_text(encoding="utf-8")) if not block["mark"]]
    assert len(blocks) >= 5
    for block in blocks:
        line = block.string[: block.start()].count("\n") + 2
        exec(compile("\n" * line + block["code"], str(GUIDE), "exec"), names)  # line numbers are the guide's
