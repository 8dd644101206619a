"""Every example of the guide to analysing trials runs."""

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[3] / "docs" / "analysing.md"
BLOCK = re.compile(r"(?P<mark><!-- not run[^\n]*-->\n)?```python\n(?P<code>.*?)```", re.DOTALL)


def test_examples_run_one_after_the_other(tmp_path, monkeypatch, capsys):
    """A reader may paste them in order; what the comments say is so."""
    for package in ("pandas", "xarray"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "guide"}
    blocks = [block for block in BLOCK.finditer(GUIDE.read_text(encoding="utf-8")) if not block["mark"]]
    assert len(blocks) >= 10
    for block in blocks:
        line = block.string[: block.start()].count("\n") + 2
        exec(compile("\n" * line + block["code"], str(GUIDE), "exec"), names)  # line numbers are the guide's
    trial = names["trial"]
    assert names["weight"].stack().shape == (10, 8, 3, 3, 3)
    assert list(names["losses"].columns) == ["step", "mode", "mode_step", "worker", "tensor", "reduction", "value"]
    assert trial.job_state().name == "ENDED"
    assert float(abs(names["spread"]).max()) == 0.0
    assert names["comparison"].is_same
    assert names["curve"].shape == (10, 1)
    assert trial.problems() == ()
    assert len(capsys.readouterr().out.splitlines()) >= 19
