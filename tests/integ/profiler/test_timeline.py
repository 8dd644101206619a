"""Timelines of processes that commands and local jobs start."""

from __future__ import annotations

import os
import sys

import pytest

pytest.importorskip("psutil")

from sagemaker_debug_ext.cli.main import main
from support.timelines import ROOT, count_phases, run_script

SCRIPT = """
from sagemaker_debug_ext.profiler.timeline import profile_phase
with profile_phase("tokenize"):
    pass
"""


def test_command_when_it_runs_a_script_then_times_it_and_samples_the_machine(tmp_path, monkeypatch):
    """Nothing of the script is changed."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    assert main(["profile", "run", "--output", str(tmp_path), sys.executable, "-c", SCRIPT]) == 0
    assert count_phases(tmp_path) == {"tokenize": 1}
    assert list(tmp_path.glob("system/incremental/*/*.json"))


def test_command_when_the_environment_has_a_startup_module_then_both_run(tmp_path, monkeypatch):
    """Ours hides another ``sitecustomize``, and runs it."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "sitecustomize.py").write_text("import os; os.environ['OTHER'] = 'has run'")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(other)]))
    script = f"import os; assert os.environ['OTHER'] == 'has run'\n{SCRIPT}"
    assert main(["profile", "run", "--output", str(tmp_path / "out"), sys.executable, "-c", script]) == 0
    assert count_phases(tmp_path / "out") == {"tokenize": 1}


def test_script_when_it_starts_profiling_then_both_are_recorded(tmp_path):
    """The call that the guide shows."""
    script = f"""
import os, time
from sagemaker_debug_ext.profiler.start import start_profiling
with start_profiling({str(tmp_path)!r}, interval_millis=100):
    {SCRIPT.strip().replace(chr(10), chr(10) + "    ")}
    while not os.path.exists({str(tmp_path / "system")!r}):
        time.sleep(0.01)
"""
    run_script(script)
    assert count_phases(tmp_path) == {"tokenize": 1}
    assert (tmp_path / "system" / "training_job_end.ts").exists()


def test_second_folder_when_a_process_is_timed_already_then_is_refused(tmp_path):
    """A process has one timeline, which may be asked for again."""
    script = f"""
from sagemaker_debug_ext.errors import SMDebugRuntimeError
from sagemaker_debug_ext.profiler.start import start_profiling
from sagemaker_debug_ext.profiler.timeline import start_timeline
first = start_timeline({str(tmp_path / "first")!r})
assert start_timeline({str(tmp_path / "first")!r}) is first
try:
    start_profiling({str(tmp_path / "second")!r})
except SMDebugRuntimeError as error:
    print(error)
"""
    assert "one timeline" in run_script(script)
    assert not list(tmp_path.iterdir())
