"""Every example of the page on profiling runs."""

import pytest

pytest.importorskip("pandas")

from support.guides import run_guide
from support.profiler import unpack


def test_examples_when_run_one_after_the_other_then_do_what_they_say(tmp_path, monkeypatch, capsys):
    """A reader may paste the examples in order."""
    monkeypatch.chdir(unpack(tmp_path) / "gpu_two_nodes")
    names = run_guide("docs/profiling.md", 5)
    assert len(names["system"]) == 1200
    printed = capsys.readouterr().out
    assert "algo-2" in printed
    assert "gpu3" in printed
    assert "\n[]\n" in printed
    assert "CPUBottleneck IssuesFound\nGPUs waited for the CPU" in printed
