"""Events that a script adds to the timeline, on both libraries, each in a process of its own."""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("torch")

SCRIPT = """
import importlib
import pathlib
import sys
import time

hook = importlib.import_module(sys.argv[1] + ".pytorch").Hook(out_dir=sys.argv[2])
for number in range(3):
    start = {"timestamp": time.time(), "duration": 0.01}
    hook.record_trace_events(training_phase="Loading", op_name=f"load-{number}", step_num=number, **start)
hook.close()
print(len(list(pathlib.Path(sys.argv[3]).rglob("*.json"))))
"""


def run(library, tmp_path, settings):
    """Run the script with a profiler configuration, and return how many files lay there when the hook was closed."""
    config, script = tmp_path / "profilerconfig.json", tmp_path / "script.py"
    config.write_text(json.dumps(settings))
    script.write_text(SCRIPT)
    result = subprocess.run(
        [sys.executable, "-W", "ignore", script, library.name, tmp_path / "trial", tmp_path / "profile"],
        env={**os.environ, "SMPROFILER_CONFIG_PATH": str(config)},
        check=True,
        capture_output=True,
        text=True,
    )
    return int(result.stdout.splitlines()[-1])


@pytest.mark.parametrize("parameters", [{"ProfilerEnabled": True}, {"CPUProfilingDuration": "60"}])
def test_trace_events_when_there_are_any_parameters_then_lie_in_their_folder_at_close(library, tmp_path, parameters):
    """A script reads its timeline where the configuration file says, as soon as the hook is closed."""
    settings = {"ProfilingParameters": {**parameters, "LocalPath": str(tmp_path / "profile")}}
    assert run(library, tmp_path, settings) == 1
    [file] = (tmp_path / "profile/framework/pevents").rglob("*.json")
    events = [event for event in json.loads(file.read_text()) if event["ph"] == "X"]
    assert [event["name"] for event in events] == ["load-0", "load-1", "load-2"]
    assert [event["dur"] for event in events] == [10_000] * 3
    assert [int(event["args"]["step_num"]) for event in events] == [0, 1, 2]


def test_trace_events_when_the_profiler_is_off_then_are_left_out(library, tmp_path):
    """A configuration that disables the profiler may still hold its parameters."""
    parameters = {"LocalPath": str(tmp_path / "profile")}
    assert run(library, tmp_path, {"DisableProfiler": True, "ProfilingParameters": parameters}) == 0
