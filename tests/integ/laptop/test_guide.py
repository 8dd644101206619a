"""The commands of the guide, run as a reader does."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[3] / "docs" / "laptop.md"
MAX_COMMANDS = 5


def blocks(language):
    text = GUIDE.read_text(encoding="utf-8")
    return re.findall(rf"(?<!-->\n)^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs PyTorch")
def test_guide_when_followed_then_leads_to_a_stopped_job(tmp_path):
    """From nothing to a stopped job and its report, with the output that the guide shows."""
    for code in blocks("python"):
        name = re.match(r"# (\w+\.py)\n", code).group(1)
        (tmp_path / name).write_text(code)
    install, *commands = [line for block in blocks("sh")[:2] for line in block.splitlines()]
    assert install.startswith("pip install ")
    assert len([install, *commands]) <= MAX_COMMANDS
    printed = [run(command, tmp_path) for command in commands]
    shown, measured = (re.sub(r"step \d+", "step N", text) for text in (blocks("text")[0], printed[0]))
    assert measured == shown
    assert "gradients" in (tmp_path / "deep-1.html").read_text().lower()


def run(command, folder):
    program, *words = command.split()
    assert program == "sagemaker-debug"
    report = subprocess.run(
        [sys.executable, "-m", "sagemaker_debug_ext.cli.main", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert report.returncode in (0, 1), report.stderr
    return report.stdout
