"""Rules beyond SageMaker's find made bottlenecks, and stay silent on sound jobs."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.profiler.format.file_names import system_file_key, trace_file_key
from sagemaker_debug_ext.profiler.format.system_rows import SystemRow, format_rows
from sagemaker_debug_ext.profiler.rules import RULES, Verdict, create_profiler_rule, evaluate_profile
from sagemaker_debug_ext.profiler.rules.registry import EXTRA_RULES
from support.profiler import unpack

START = 1_700_000_040


def evaluate(path, name, **parameters):
    (rule,) = evaluate_profile(path, [create_profiler_rule(name, parameters)])
    return rule


def write_rows(folder, values, kind="gpu", name="gpu0", dimension="GPUUtilization"):
    """Write one value a second."""
    minutes: dict[int, list[SystemRow]] = {}
    for second, value in enumerate(values):
        row = SystemRow(kind, name, dimension, value, "algo-1", START + second + 0.5)
        minutes.setdefault(second // 60, []).append(row)
    for minute, rows in minutes.items():
        path = folder / system_file_key(START + 60 * minute, "algo-1")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((path.read_bytes() if path.exists() else b"") + format_rows(rows))


def write_steps(folder, steps):
    """Write spans: (phase, start in ms, length in ms, arguments)."""
    phases = sorted({phase for phase, *_ in steps})
    entries = [
        {"name": "process_name", "ph": "M", "pid": 0, "args": {"start_time_since_epoch_in_micros": START * 10**6}}
    ]
    entries += [
        {"name": "process_name", "ph": "M", "pid": number, "args": {"name": phase}}
        for number, phase in enumerate(phases, start=1)
    ]
    for phase, start, length, arguments in steps:
        number = phases.index(phase) + 1
        times = {"ts": int(start * 1000), "dur": int(length * 1000)}
        entries.append({"name": phase, "pid": number, "ph": "X", **times, "args": {"pid": 7, **arguments}})
    end_us = START * 10**6 + max(entry.get("ts", 0) + entry.get("dur", 0) for entry in entries)
    path = folder / trace_file_key(end_us, "7-algo-1", "pythontimeline.json")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(entries))


def loader_job(waiting_ms, training_ms, num_workers, num_steps=50):
    """Return spans of a loop that waits for a batch and trains on it."""
    steps = [("DataLoaderIterInitialize", 0, 1, {"num_workers": num_workers})]
    now = 2.0
    for step in range(num_steps):
        steps.append(("DataLoaderIter", now, waiting_ms, {}))
        steps.append(("Step:ModeKeys.TRAIN", now + waiting_ms, training_ms, {"step_num": step}))
        now += waiting_ms + training_ms
        if step == num_steps // 2:
            now += 60_000  # evaluation and a checkpoint are no waiting for a batch
    return steps


@pytest.mark.parametrize(
    ("waiting", "training", "workers", "needed"),
    [(300, 100, 0, 3), (150, 50, 2, 8), (100, 100, 1, 2), (1, 100, 0, None), (19, 100, 2, None)],
)
def test_dataloader_stall_when_steps_wait_then_names_the_workers_that_would_do(
    waiting, training, workers, needed, tmp_path
):
    """Loading time over training time, for loading in the main process and by starved workers."""
    write_steps(tmp_path, loader_job(waiting, training, workers))
    rule = evaluate(tmp_path, "DataloaderStall")
    if needed is None:
        assert rule.verdict is Verdict.NO_ISSUES
        return
    assert rule.verdict is Verdict.ISSUES
    assert rule.findings[-1].numbers["workers_needed"] == needed
    assert f"{needed} workers would do" in rule.findings[-1].message


def test_dataloader_stall_when_there_are_few_steps_then_is_not_evaluated(tmp_path):
    """Too little data are no verdict."""
    write_steps(tmp_path, loader_job(300, 100, 0, num_steps=10))
    assert evaluate(tmp_path, "DataloaderStall").not_evaluated() == "9 of 20 steps"


def test_idle_gpu_when_it_stops_working_then_says_for_how_long_and_why(tmp_path):
    """Idle time before the first work does not count, and the finding spans all of the idle time."""
    write_rows(tmp_path, [0] * 400 + [90] * 60 + [1] * 420 + [90] * 10)
    rule = evaluate(tmp_path, "IdleGPU")
    (finding,) = rule.findings
    assert (finding.start - START, finding.end - START) == (460.5, 879.5)
    assert "idle for 7 minutes." in finding.message
    assert rule.triggered == 1


@pytest.mark.parametrize(
    ("mode", "cause"), [("EVAL", "during evaluation"), ("TRAIN", "while steps went on"), (None, "without any step")]
)
def test_idle_gpu_when_steps_are_recorded_then_names_the_cause(mode, cause, tmp_path):
    """Evaluation, training without the GPU, and silence are three causes."""
    write_rows(tmp_path, [90] * 60 + [1] * 400)
    steps = [("Step:ModeKeys.TRAIN", second * 1000, 900, {"step_num": second}) for second in range(59)]
    if mode:
        steps += [(f"Step:ModeKeys.{mode}", second * 1000, 900, {"step_num": second}) for second in range(61, 459)]
    write_steps(tmp_path, steps)
    (finding,) = evaluate(tmp_path, "IdleGPU").findings
    assert cause in finding.message


@pytest.mark.parametrize("values", [[90] * 600, [1] * 600, [90] * 60 + [1] * 290 + [90] * 60])
def test_idle_gpu_when_it_works_or_has_not_begun_then_is_silent(values, tmp_path):
    """A short pause, and the time before training, are sound."""
    write_rows(tmp_path, values)
    assert evaluate(tmp_path, "IdleGPU").verdict is Verdict.NO_ISSUES


@pytest.mark.parametrize(
    ("bits", "share", "cause"), [(0x40, 0.2, "heat"), (0x04, 0.5, "power"), (0x40, 0.03, None), (0x1, 1, None)]
)
def test_gpu_throttled_when_heat_or_power_lower_the_clock_then_says_which(bits, share, cause, tmp_path):
    """Other reasons, such as an idle GPU, do not count."""
    values = np.where(np.arange(200) < 200 * share, bits, 0).tolist()
    write_rows(tmp_path, values, dimension="GPUThrottleReasons")
    rule = evaluate(tmp_path, "GPUThrottled")
    assert (rule.triggered > 0) == (cause is not None)
    if cause:
        assert f"throttled by {cause}" in rule.findings[-1].message


@pytest.mark.parametrize(
    ("name", "dimension", "value", "fires"),
    [
        ("MemoryUsedPercent", "", 97.0, True),
        ("MemoryUsedPercent", "", 94.0, False),
        ("memory", "SharedMemoryUsedPercent", 91.0, True),
        ("memory", "SwapUsedPercent", 99.0, False),
    ],
)
def test_host_memory_pressure_when_memory_is_nearly_used_up_then_fires(name, dimension, value, fires, tmp_path):
    """Memory and shared memory have limits of their own; swap has none."""
    write_rows(tmp_path, [50.0] * 30 + [value] * 5, "memory", name, dimension)
    rule = evaluate(tmp_path, "HostMemoryPressure")
    assert (rule.triggered > 0) == fires
    if fires:
        assert (rule.findings[0].start - START, rule.findings[0].end - START) == (30.5, 34.5)


@pytest.mark.parametrize("case", ["measured_host", "gpu_two_nodes", "edge_cases"])
def test_extra_rules_when_a_job_is_sound_in_their_respect_then_are_silent(case, tmp_path):
    """None of them fires on recorded jobs."""
    path = unpack(tmp_path) / case / "profiler-output"
    for rule in evaluate_profile(path, sorted(EXTRA_RULES)):
        assert rule.triggered == 0, rule.findings


@pytest.mark.parametrize("name", sorted(EXTRA_RULES))
def test_extra_rule_when_a_parameter_is_unknown_then_lists_its_own(name):
    """A misspelt parameter is refused."""
    with pytest.raises(SMDebugValueError, match="has the parameters"):
        RULES[name]({"no_such": 1})
