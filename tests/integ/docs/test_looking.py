"""Every example of the guide to reports runs."""

import numpy as np
import pytest

from sagemaker_debug_ext.testing.trials import write_trial
from sagemaker_debug_ext.vocabulary import ModeKeys
from support.guides import run_guide


def test_examples_when_run_one_after_the_other_then_do_what_they_say(tmp_path, monkeypatch, capsys):
    """The story that is printed is that of the page."""
    monkeypatch.chdir(tmp_path)
    nan = np.float32("nan")
    steps = {(ModeKeys.TRAIN, step): {"gradient/w": np.full(3, nan if step > 5 else 1.0)} for step in range(9)}
    write_trial(tmp_path / "runs" / "first", steps)
    names = run_guide("docs/looking.md", 1)
    headline, finding = capsys.readouterr().out.splitlines()
    assert headline == str(names["story"].headline) == "Not finite in the gradient of w: from step 6 on."
    assert finding.startswith("not finite gradient/w 6 6 ")
    assert (tmp_path / "report.html").stat().st_size < 300_000


def test_figures_when_run_then_they_are_drawn(tmp_path, monkeypatch):
    """The figures of the guide hold what two trials have saved."""
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    for name in ("first", "second"):
        steps = {
            (ModeKeys.TRAIN, step): {"gradient/w": np.ones(3) * step, "loss": np.float32(1 / (1 + step))}
            for step in range(9)
        }
        write_trial(tmp_path / "runs" / name, steps)
    run_guide("docs/looking.md", 1, surface="figures")
    assert (tmp_path / "losses.png").read_bytes().startswith(b"\x89PNG")
