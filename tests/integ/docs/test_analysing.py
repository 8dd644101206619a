"""Every example of the guide to analysing trials runs."""

import pytest

from support.guides import run_guide


def test_examples_when_run_one_after_the_other_then_do_what_they_say(tmp_path, monkeypatch, capsys):
    """A reader may paste the examples in order, and what their comments say is so."""
    for package in ("pandas", "xarray"):
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    names = run_guide("docs/analysing.md", 12)
    trial = names["trial"]
    assert names["weight"].stack().shape == (10, 8, 3, 3, 3)
    assert list(names["losses"].columns) == ["step", "mode", "mode_step", "worker", "tensor", "reduction", "value"]
    assert trial.job_state().name == "ENDED"
    assert float(abs(names["spread"]).max()) == 0.0
    assert names["comparison"].is_same
    assert names["curve"].shape == (10, 1)
    assert trial.problems() == ()
    assert len(capsys.readouterr().out.splitlines()) >= 19
