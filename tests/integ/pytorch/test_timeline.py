"""Steps of PyTorch scripts that know nothing of being timed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from sagemaker_debug_ext.profiler.analysis.python_profile_analysis import cProfileAnalysis
from sagemaker_debug_ext.profiler.format.trace_remainder import load_remainder
from support.timelines import count_phases, environment, events_of, run_script

TRAINING = """
import hashlib, sys, time
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Slow(Dataset):
    def __len__(self):
        return 32
    def __getitem__(self, place):
        time.sleep(0.001)
        return torch.randn(4), torch.randn(1)

def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
    if "compile" in sys.argv:
        model = torch.compile(model, backend="aot_eager")
    optimizer = torch.optim.Adam(model.parameters())
    workers = 2 if "workers" in sys.argv else 0
    for epoch in range(2):
        for inputs, targets in DataLoader(Slow(), batch_size=4, shuffle=True, num_workers=workers):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
        with torch.no_grad():
            for inputs, targets in DataLoader(Slow(), batch_size=8):
                model(inputs)
                time.sleep(0.001)  # a batch that is used for less than 50 microseconds is no step
        torch.save(model.state_dict(), sys.argv[1])
    state = b"".join(value.numpy().tobytes() for value in model.state_dict().values())
    print(hashlib.sha256(state + torch.get_rng_state().numpy().tobytes()).hexdigest())

if __name__ == "__main__":
    main()
"""

LONG = """
import sys
import torch
from torch import nn
from torch.utils.data import DataLoader

model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
print("started", flush=True)
for epoch in range(1_000_000):
    for batch in DataLoader(torch.ones(10, 2), batch_size=1):
        model(batch).sum().backward()
        optimizer.step()
"""


class Timed(NamedTuple):
    """What a timed training printed, where its events are, and when it had ended."""

    printed: str
    output: Path
    ended_at: float


@pytest.fixture(scope="module")
def printed_alone(tmp_path_factory):
    """Return what the training prints that is not timed: its parameters and the state of random numbers."""
    return run_script(TRAINING, None, [tmp_path_factory.mktemp("alone") / "model.pt"])


@pytest.fixture(scope="module")
def timed(tmp_path_factory):
    """Return the timed training."""
    folder = tmp_path_factory.mktemp("timed")
    return Timed(run_script(TRAINING, folder / "out", [folder / "model.pt"]), folder / "out", time.time())


def test_training_when_timed_then_computes_the_same_to_the_last_bit(timed, printed_alone):
    """Parameters and the state of random numbers are those of a run that is not timed."""
    assert timed.printed == printed_alone


@pytest.mark.parametrize("options", [("workers",), ("compile",)], ids=["workers", "compiled"])
def test_training_with_options_when_timed_then_computes_the_same_to_the_last_bit(tmp_path, options):
    """Processes that load data, and a compiled model."""
    arguments = [tmp_path / "model.pt", *options]
    assert run_script(TRAINING, None, arguments) == run_script(TRAINING, tmp_path / "out", arguments)
    assert count_phases(tmp_path / "out")["Step:ModeKeys.TRAIN"] == 16


def test_events_when_a_script_trains_and_evaluates_then_hold_every_step_and_gap(timed):
    """Two epochs of eight batches, four of evaluation, and a checkpoint."""
    assert count_phases(timed.output) == {
        "Step:ModeKeys.TRAIN": 16,
        "Forward": 16,
        "Backward(post-forward)": 16,
        "Optimizer": 16,
        "Step:ModeKeys.EVAL": 8,
        "DataLoaderIter": 24,
        "DataLoaderIterInitialize": 4,
        "Checkpoint": 2,
    }
    events = events_of(timed.output)
    steps = [event for event in events if event.event_phase == "Step:ModeKeys.TRAIN"]
    assert [event.step for event in steps] == list(range(16))
    for step in steps:
        parts = [event for event in events if event.step == step.step and event.event_phase in _PARTS]
        assert [part.event_phase for part in parts] == list(_PARTS)
        assert all(step.start_time <= part.start_time and part.end_time <= step.end_time for part in parts)
    waits = [event.duration for event in events if event.event_phase == "DataLoaderIter"]
    assert sorted(waits)[len(waits) // 2] >= 4000  # four samples of a millisecond each
    assert abs(steps[-1].end_time / 1e6 - timed.ended_at) < 60


_PARTS = ("Forward", "Backward(post-forward)", "Optimizer")


def test_events_when_a_process_is_killed_then_those_up_to_the_last_second_are_there(tmp_path):
    """The open file has whole lines."""
    process = subprocess.Popen(
        [sys.executable, "-c", LONG], env=environment(tmp_path), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "started\n"
    deadline = time.monotonic() + 60
    found = []
    while not (found and found[0].stat().st_size > 10_000) and time.monotonic() < deadline:
        time.sleep(0.1)
        found = list(tmp_path.glob("framework/*.tmp"))
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    entries = load_remainder(found[0].read_bytes())
    assert sum(entry["name"] == "Step:ModeKeys.TRAIN" for entry in entries) > 10


def test_script_when_it_forks_then_each_process_has_events_of_its_own(tmp_path):
    """Processes of a launcher that forks are workers."""
    script = f"""
import os
import torch
exec({TRAINING.partition("def main")[0]!r})
for rank in range(2):
    if os.fork() == 0:
        os.environ["RANK"] = str(rank)
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for inputs, _ in DataLoader(Slow(), batch_size=4):
            model(inputs).sum().backward()
            optimizer.step()
        sys.exit()
for rank in range(2):
    os.wait()
"""
    run_script(script, tmp_path)
    steps = [event for event in events_of(tmp_path) if event.event_phase == "Step:ModeKeys.TRAIN"]
    assert {event.node_id for event in steps} == {"algo-1-0", "algo-1-1"}
    assert len(steps) == 16


def test_script_when_it_names_a_phase_then_the_phase_is_an_event(tmp_path):
    """As a block and as a decorator."""
    script = """
from sagemaker_debug_ext.profiler.timeline import profile_phase
with profile_phase("tokenize"):
    pass
@profile_phase("collate")
def collate():
    return 5
assert collate() == 5
"""
    run_script(script, tmp_path)
    assert count_phases(tmp_path) == {"tokenize": 1, "collate": 1}
    run_script(script)


def test_timing_when_it_fails_then_training_goes_on(tmp_path, printed_alone):
    """The first error is logged, and ends the timing."""
    script = f"""
import sys
from sagemaker_debug_ext.profiler.timeline.step_timer import StepTimer
def fail(*_):
    raise RuntimeError("broken")
StepTimer.backward_begins = fail
sys.argv = ["script", {str(tmp_path / "model.pt")!r}]
{TRAINING}
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment(tmp_path / "out"), capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr.count("steps are no longer timed") == 1
    assert done.stdout == printed_alone


def _write_config(path, **parts):
    parameters = {name: repr(value) for name, value in parts.items()}
    path.write_text(json.dumps({"ProfilingParameters": {"LocalPath": "x", **parameters}}))


def test_detail_when_a_range_of_steps_is_asked_for_then_operators_and_functions_are_written(tmp_path, printed_alone):
    """Operators of steps 3 and 4, functions of step 6, and the trace of PyTorch itself."""
    config = tmp_path / "profilerconfig.json"
    _write_config(
        config,
        DetailedProfilingConfig={"StartStep": 3, "NumSteps": 2},
        PythonProfilingConfig={"StartStep": 6, "NumSteps": 1, "cProfileTimer": "cpu_time"},
    )
    printed = run_script(TRAINING, tmp_path / "out", [tmp_path / "model.pt"], SMPROFILER_CONFIG_PATH=str(config))
    assert printed == printed_alone
    events = events_of(tmp_path / "out")
    operators = [event for event in events if event.event_phase == "cpu_functions"]
    assert {event.step for event in operators} == {3, 4}
    assert {"aten::linear", "aten::addmm"} <= {event.event_name for event in operators}
    by_step = {event.step: event for event in events if event.event_phase == "Step:ModeKeys.TRAIN"}
    linear = [event for event in operators if event.event_name == "aten::linear" and event.step == 3]
    assert linear
    assert all(by_step[3].start_time - 2000 <= event.start_time <= by_step[3].end_time for event in linear)
    (trace,) = (tmp_path / "out").rglob("*.pt.trace.json.gz")
    assert trace.parent.name == "000000003"
    (stats,) = (tmp_path / "out").glob("framework/pytorch/cprofile/*")
    profile = cProfileAnalysis(stats.parent).fetch_profile_stats_by_step(6)
    assert any(function.function_name.endswith("(zero_grad)") for function in profile.function_stats_list)


def test_detail_when_the_file_changes_then_the_new_range_counts(tmp_path):
    """UpdateTrainingJob writes the file anew while the job trains."""
    config = tmp_path / "profilerconfig.json"
    _write_config(config)
    process = subprocess.Popen(
        [sys.executable, "-c", LONG],
        env=environment(tmp_path / "out", SMPROFILER_CONFIG_PATH=str(config)),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "started\n"
    deadline = time.monotonic() + 60
    try:
        while not list(tmp_path.glob("out/framework/*.tmp")) and time.monotonic() < deadline:
            time.sleep(0.1)
        _write_config(config, DetailedProfilingConfig={"NumSteps": 2})
        while not list(tmp_path.glob("out/**/*model_timeline.json")) and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    operators = [event for event in events_of(tmp_path / "out") if event.event_phase == "cpu_functions"]
    assert len({event.step for event in operators}) == 2
