"""Rules beyond SageMaker's find made bottlenecks, and stay silent on sound jobs."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.profiler.format.file_names import system_file_key, trace_file_key
from sagemaker_debug_ext.profiler.format.system_rows import SystemRow
from sagemaker_debug_ext.profiler.rules import RULES, Verdict, create_profiler_rule, evaluate_profile
from sagemaker_debug_ext.profiler.rules.registry import EXTRA_RULES
from support.profiler import format_rows, unpack

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


def write_steps(folder, steps, worker=7, names=None):
    """Write spans: (phase, start in ms, length in ms, arguments); `names` has the names of phases that differ."""
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
        name = (names or {}).get(phase, phase)
        entries.append({"name": name, "pid": number, "ph": "X", **times, "args": {"pid": worker, **arguments}})
    end_us = START * 10**6 + max(entry.get("ts", 0) + entry.get("dur", 0) for entry in entries)
    path = folder / trace_file_key(end_us, f"{worker}-algo-1", "pythontimeline.json")
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
    assert f"{needed} would do" in rule.findings[-1].message


@pytest.mark.parametrize(("num_cores", "told"), [(2, "only 2 cores: make loading faster"), (3, "3 would do.")])
def test_dataloader_stall_when_the_machine_has_fewer_cores_then_says_so(num_cores, told, tmp_path):
    """Workers without cores load no faster."""
    write_steps(tmp_path, loader_job(300, 100, 0))
    for core in range(num_cores):
        write_rows(tmp_path, [50] * 90, "cpu", f"cpu{core}", "CPUUtilization")
    assert told in evaluate(tmp_path, "DataloaderStall").findings[-1].message


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


def test_idle_gpu_when_steps_go_on_afterwards_then_they_do_not_hide_the_cause(tmp_path):
    """A job that hangs and goes on is read as a whole once it has ended."""
    write_rows(tmp_path, [90] * 60 + [1] * 400 + [90] * 60)
    write_steps(
        tmp_path, [("Step:ModeKeys.TRAIN", second * 1000, 900, {}) for second in (*range(61), *range(460, 520))]
    )
    (finding,) = evaluate(tmp_path, "IdleGPU").findings
    assert "without any step" in finding.message


@pytest.mark.parametrize("values", [[90] * 600, [1] * 600, [90] * 60 + [1] * 290 + [90] * 60])
def test_idle_gpu_when_it_works_or_has_not_begun_then_is_silent(values, tmp_path):
    """A short pause, and the time before training, are sound."""
    write_rows(tmp_path, values)
    assert evaluate(tmp_path, "IdleGPU").verdict is Verdict.NO_ISSUES


@pytest.mark.parametrize(("throttled", "share", "fires"), [(40, 0.5, True), (40, 0.1, False), (5, 1.0, False)])
def test_cpu_throttled_when_a_limit_keeps_the_job_waiting_then_says_for_how_long(throttled, share, fires, tmp_path):
    """Much of the time, in many samples; and how much of the limit was used."""
    num = round(100 * share)
    write_rows(tmp_path, [throttled] * num + [0] * (100 - num), "cpu", "container", "CPUThrottledPercentage")
    write_rows(tmp_path, [80] * 100, "cpu", "container", "CPULimitUtilization")
    rule = evaluate(tmp_path, "CPUThrottled")
    assert rule.verdict is (Verdict.ISSUES if fires else Verdict.NO_ISSUES)
    if fires:
        assert "for 10 % of the time or longer in 50 % of the samples" in rule.findings[-1].message
        assert "it used 80 % of its limit" in rule.findings[-1].message


def test_cpu_throttled_when_there_is_no_limit_then_is_not_evaluated(tmp_path):
    """Most machines have none."""
    write_rows(tmp_path, [80] * 100, "cpu", "cpu0", "CPUUtilization")
    assert evaluate(tmp_path, "CPUThrottled").not_evaluated() == "no container with a limit of processor time"


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


def replica(loading_ms, forward_ms, step_ms, on_gpu_ms=None, num_steps=40, jitter=0.0):
    """Return spans of one of several workers, whose steps are of equal length because they wait for each other."""
    noise = np.random.default_rng(0).uniform(1 - jitter, 1 + jitter, num_steps)
    spans = []
    for step in range(num_steps):
        now = step * step_ms
        load, forward = loading_ms * noise[step], forward_ms * noise[step]
        spans.append(("DataLoaderIter", now, load, {}))
        spans.append(("Step:ModeKeys.TRAIN", now + load, step_ms - load - 0.1, {"step_num": step}))
        spans.append(("Forward", now + load, forward, {"step_num": step}))
        if on_gpu_ms is not None:
            spans.append(("StepOnGPU-dev:0", now + load, on_gpu_ms, {"step_num": step}))
    return spans


@pytest.mark.parametrize(
    ("slow", "part"),
    [
        (replica(1, 55, 100), "in its forward pass"),
        (replica(35, 20, 100), "in its data loader"),
        (replica(1, 20, 100, on_gpu_ms=50), "in its forward pass"),
    ],
    ids=["forward", "loader", "gpu"],
)
def test_straggler_when_one_worker_is_slow_then_names_it_and_the_part(slow, part, tmp_path):
    """Steps of all workers are equally long; what a worker does before they meet tells them apart."""
    names = {"StepOnGPU-dev:0": "forward"}
    for worker in (0, 1, 3):
        write_steps(tmp_path, replica(1, 20, 100, on_gpu_ms=20), worker, names)
    write_steps(tmp_path, slow, 2, names)
    rule = evaluate(tmp_path, "Straggler")
    assert {finding.node for finding in rule.findings} == {"algo-1-2"}
    assert part in rule.findings[-1].message
    assert 25 <= rule.findings[-1].numbers["percent_of_step"] <= 40


@pytest.mark.parametrize(
    ("others", "last"),
    [
        (replica(1, 20, 100, jitter=0.3), replica(1, 23, 100, jitter=0.3)),
        (replica(0.1, 2, 100), replica(0.1, 4, 100)),
        (replica(1, 20, 100), replica(1, 80, 100, num_steps=15)),
    ],
    ids=["below the threshold", "a small part of the step", "few steps"],
)
def test_straggler_when_workers_differ_little_then_is_silent(others, last, tmp_path):
    """A difference counts if it is large against the other workers and against the step."""
    for worker in (0, 1, 3):
        write_steps(tmp_path, others, worker)
    write_steps(tmp_path, last, 2)
    assert evaluate(tmp_path, "Straggler").triggered == 0


def test_straggler_when_there_is_one_worker_then_is_not_evaluated(tmp_path):
    """Nobody waits for the only worker."""
    write_steps(tmp_path, replica(1, 20, 100))
    assert evaluate(tmp_path, "Straggler").not_evaluated() == "fewer than two workers record steps"


GIB = 1 << 30


def memory_job(allocated, steps_per_second=10):
    """Return steps that record the memory of a GPU of 80 GiB once a second."""
    spans = []
    for second, bytes_ in enumerate(allocated):
        for part in range(steps_per_second):
            facts = {"allocated_bytes": int(bytes_), "device": 1, "device_bytes": 80 * GIB} if part == 0 else {}
            number = second * steps_per_second + part
            spans.append(("Step:ModeKeys.TRAIN", 1000 * number / steps_per_second, 50, {"step_num": number, **facts}))
    return spans


def test_gpu_memory_leak_when_memory_rises_then_names_the_step_at_which_it_is_full(tmp_path):
    """100 MiB a second at 10 steps a second fill the remaining 70 GiB after 7,168 steps."""
    noise = np.random.default_rng(0).normal(0, 20 << 20, 120)
    write_steps(tmp_path, memory_job(10 * GIB + np.arange(120) * (100 << 20) + noise))
    rule = evaluate(tmp_path, "GPUMemoryLeak")
    finding = rule.findings[-1]
    assert (finding.node, finding.device) == ("algo-1-7", "gpu1")
    assert finding.numbers["full_at_step"] == pytest.approx(7168, rel=0.02)
    assert "full at about step 7" in finding.message


@pytest.mark.parametrize(
    "allocated",
    [
        np.full(120, 10 * GIB),
        10 * GIB + np.random.default_rng(1).normal(0, GIB, 120),
        np.concatenate([np.linspace(1, 20, 30), np.full(90, 20)]) * GIB,
        10 * GIB + np.arange(120) * (1 << 20),
        10 * GIB + (np.arange(120) % 20) * (200 << 20),
    ],
    ids=["constant", "noise", "cache that fills once", "very slow rise", "rises within an epoch"],
)
def test_gpu_memory_leak_when_memory_is_kept_or_returned_then_is_silent(allocated, tmp_path):
    """Only a steady rise that matters within a day is a leak."""
    write_steps(tmp_path, memory_job(allocated))
    assert evaluate(tmp_path, "GPUMemoryLeak").verdict is Verdict.NO_ISSUES


def test_gpu_memory_leak_when_there_are_few_steps_then_is_not_evaluated(tmp_path):
    """A rise over the first steps is how training begins."""
    write_steps(tmp_path, memory_job(np.linspace(1, 20, 30) * GIB, steps_per_second=1))
    assert evaluate(tmp_path, "GPUMemoryLeak").not_evaluated() == "29 of 200 steps"


def kernels(length_us, gap_us, launch_lead_us, count=300):
    """Return kernels with gaps between them; each is started so long before it runs."""
    spans = []
    for number in range(count):
        start_us = 1000 + number * (length_us + gap_us)
        launched = START * 10**6 + start_us - launch_lead_us
        spans.append(("gpu_functions-dev:0", start_us / 1000, length_us / 1000, {"cpu_thread_start_time": launched}))
    return spans


def test_small_kernels_when_the_gpu_waits_for_launches_then_names_the_batch_that_would_do(tmp_path):
    """Kernels of 5 µs that are started 15 µs late leave the GPU idle for three quarters of the time."""
    write_steps(tmp_path, kernels(5, 15, 4))
    (finding,) = evaluate(tmp_path, "SmallKernels").findings
    assert finding.numbers == {"idle_percent": pytest.approx(75, abs=1), "launch_percent": 100, "batch_factor": 4}
    assert "a batch 4 times as large" in finding.message


@pytest.mark.parametrize(
    "spans",
    [kernels(100, 15, 4), kernels(5, 15, 500), kernels(5, 0, 500)],
    ids=["gaps are a small share", "started in time", "no gaps"],
)
def test_small_kernels_when_launches_are_not_the_cause_then_is_silent(spans, tmp_path):
    """Gaps after kernels that were started in time have other causes, such as communication."""
    write_steps(tmp_path, spans)
    assert evaluate(tmp_path, "SmallKernels").verdict is Verdict.NO_ISSUES


@pytest.mark.parametrize(
    ("spans", "reason"), [(kernels(5, 15, 4, count=20), "20 of 100 kernels"), ([], "no detailed profile of a GPU")]
)
def test_small_kernels_when_there_are_few_then_is_not_evaluated(spans, reason, tmp_path):
    """A few kernels are no verdict."""
    write_steps(tmp_path, [*spans, ("Step:ModeKeys.TRAIN", 0, 1, {"step_num": 0})])
    assert evaluate(tmp_path, "SmallKernels").not_evaluated() == reason


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
