"""The README's Python runs as it stands there, one block after the other."""

import shutil

import pytest

from support.guides import ROOT, run_guide


@pytest.mark.filterwarnings("default")
def test_blocks_of_the_readme_when_run_in_order_then_print_what_it_promises(tmp_path, monkeypatch, capsys):
    """What a reader copies works: capture, analyse, rules, a request, and the request run on this machine."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    run_guide("README.md", 5)
    printed = capsys.readouterr().out
    assert "[0, 20, 40, 60, 80, 100]" in printed
    assert "gradient/Sequential_0.weight" in printed
    assert "LossAbove 0" in printed
    assert "VanishingGradient IssuesFound" in printed
    assert "CrossEntropyLoss_output_0" in printed
