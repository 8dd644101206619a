"""Every example of the guide to capturing runs."""

import re
from pathlib import Path

import pytest

pytest.importorskip("tensorflow")

GUIDE = Path(__file__).parents[3] / "docs" / "capturing-tensorflow.md"
BLOCK = re.compile(r"```python\n(?P<code>.*?)```", re.DOTALL)


def test_examples_run_one_after_the_other(tmp_path, monkeypatch):
    """A reader may paste them in order; what they assert is so."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "guide"}
    blocks = list(BLOCK.finditer(GUIDE.read_text(encoding="utf-8")))
    assert len(blocks) >= 3
    for block in blocks:
        line = block.string[: block.start()].count("\n") + 1
        exec(compile("\n" * line + block["code"], str(GUIDE), "exec"), names)  # line numbers are the guide's
