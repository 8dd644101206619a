"""The README's Python runs as it stands there, one block after the other."""

import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.filterwarnings("default")
def test_every_python_block_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    """What a reader copies works: capture, analyse, rules, a request, and the request run on this machine."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= 5
    names = {"__name__": "readme"}
    for number, block in enumerate(blocks):
        exec(compile(block, f"README.md, block {number}", "exec"), names)
    printed = capsys.readouterr().out
    assert "[0, 20, 40, 60, 80, 100]" in printed
    assert "gradient/Sequential_0.weight" in printed
    assert "LossAbove 0" in printed
    assert "VanishingGradient IssuesFound" in printed
    assert "CrossEntropyLoss_output_0" in printed
