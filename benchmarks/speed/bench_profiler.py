"""The profiler: what sampling and timing cost, how fast its files are read, and how soon rules see them.

    python benchmarks/speed/bench_profiler.py                              # needs psutil; about fifteen minutes
    python benchmarks/speed/bench_profiler.py --original-python PYTHON     # PYTHON has smdebug 1.0.34

`--seconds` says how long the sampler runs. The day of eight machines has 96 cores and 8 GPUs each, sampled once a
minute: 2.5 million rows, 290 MB, which are removed in the end.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from measurement import Row, Timer, parser, peak_mb, print_rows, reset_peak, run_child

START = 1_700_000_040
INTERVAL_MILLIS = 100
CORES, GPUS = 96, 8
NUM_STEPS = 20_000
TORCH_STEPS = 2_000


# --- data -------------------------------------------------------------------------------------------------------------


def write_minutes(folder, node, num_minutes, times, sensors):
    """Write lines as the platform does: each sensor at some seconds of each minute."""
    for minute in range(num_minutes):
        at = START + 60 * minute
        hour = time.strftime("%Y%m%d%H", time.gmtime(at))
        path = Path(folder, "system", "incremental", hour, f"{at}.{node}.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = []
        for second in times:
            for place, (kind, name, dimension) in enumerate(sensors):
                value = (37 * place + 11 * (minute + second)) % 100 + 0.25
                lines.append(
                    f'{{"Type":"{kind}","Name":"{name}","Dimension":"{dimension}","Value":{value:.2f},'
                    f'"NodeId":"{node}","Timestamp":{at + second:.6f}}}\n'
                )
        path.write_text("".join(lines))


def cores(count):
    return [("cpu", f"cpu{core}", name) for core in range(count) for name in ("CPUUtilization", "I/OWaitPercentage")]


def make_half_hour(path):
    """Write 115,200 rows: 32 cores, one sample a second."""
    write_minutes(path, "algo-1", 30, range(60), cores(32))


def make_day(path):
    """Write a day of eight machines, one sample a minute, and a training step every ten seconds."""
    sensors = [("memory", "MemoryUsedPercent", ""), *cores(CORES)]
    sensors += [("i/o", name, "") for name in ("IOPS", "ReadThroughputInBytesPerSecond")]
    sensors += [("network", f"{way}BytesPerSecond", "Algorithm") for way in ("Receive", "Transmit")]
    gpu = ("GPUUtilization", "GPUMemoryUtilization", "GPUMemoryUsedPercent")
    sensors += [("gpu", f"gpu{number}", dimension) for number in range(GPUS) for dimension in gpu]
    for node in range(1, 9):
        write_minutes(path, f"algo-{node}", 24 * 60, [0.5], sensors)
    from sagemaker_debug_ext.profiler.timeline.trace_writer import TraceFileWriter, TraceSpan

    for node in range(1, 9):
        writer = TraceFileWriter(path, f"7-algo-{node}", START * 10**6, "pythontimeline.json")
        for step in range(24 * 360):
            at = (START + 10 * step) * 10**6
            parts = [("Step:ModeKeys.TRAIN", 0, 9.9), ("Forward", 0, 3.0), ("Backward(post-forward)", 3, 6.0)]
            writer.write(
                TraceSpan(phase, phase, at + int(begin * 1e6), int(length * 1e6), {"pid": 7, "step_num": str(step)})
                for phase, begin, length in parts
            )
        writer.close()
    Path(path, "system", "training_job_end.ts").touch()


# --- children ---------------------------------------------------------------------------------------------------------


def child_sampler(seconds):
    """Sample this machine; the processor time is that of the sampling process, start excluded."""
    import psutil

    from sagemaker_debug_ext.profiler import LocalSystemMetricsReader
    from sagemaker_debug_ext.profiler.sampler import start_sampler

    with tempfile.TemporaryDirectory() as folder:
        with start_sampler(folder, INTERVAL_MILLIS) as sampler:
            while not (sampler.pid and list(Path(folder).rglob("*.json"))):
                time.sleep(0.05)
            process = psutil.Process(sampler.pid)
            time.sleep(2)
            before, began = sum(process.cpu_times()[:2]), time.monotonic()
            time.sleep(float(seconds))
            cpu = sum(process.cpu_times()[:2]) - before
            span = time.monotonic() - began
            status = Path(f"/proc/{process.pid}/status").read_text().splitlines()
            resident = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
        events = LocalSystemMetricsReader(folder).get_events(0, 1 << 62)
    ticks = [event.timestamp for event in events if event.name == "MemoryUsedPercent"][1:]
    interval = INTERVAL_MILLIS / 1000
    offsets = [tick % interval for tick in ticks]
    fifth = max(len(offsets) // 5, 1)
    drift = statistics.median(offsets[-fifth:]) - statistics.median(offsets[:fifth])
    expected = round((ticks[-1] - ticks[0]) / interval) + 1
    return {
        "sampler at 10 Hz: CPU (% of a core)": 100 * cpu / span,
        "sampler: memory (MiB)": resident,
        "sampler: drift (intervals)": abs(drift) / interval,
        "sampler: missed samples (%)": 100 * (1 - len(ticks) / expected),
    }


def child_steps():
    """Time the calls of a step on the training thread, with a timeline that writes beside it."""
    from sagemaker_debug_ext.profiler.timeline.start import start_timeline
    from sagemaker_debug_ext.profiler.timeline.step_timer import StepTimer

    with tempfile.TemporaryDirectory() as folder:
        timeline = start_timeline(folder)
        timer = StepTimer(timeline.defer)
        loader, optimizer = object(), object()
        costs = []
        for _ in range(NUM_STEPS):
            began = time.perf_counter_ns()
            requested = timer.batch_requested(loader)
            timer.batch_arrived(loader, requested, "DataLoaderIter", "next", {})
            timer.backward_begins()
            timer.backward_ends()
            timer.update_begins(optimizer)
            timer.update_ends("SGD")
            costs.append(time.perf_counter_ns() - began)
            time.sleep(0)
            if len(costs) % 1000 == 0:
                time.sleep(1.1)  # a thousand steps a second
        timeline.stop()
        return {"calls of a step (us)": statistics.median(costs) / 1000, "dropped": timeline.num_dropped}


def child_torch():
    """Return the processor time that a timeline adds to a step of a small model, on the training thread.

    Tenths of the steps are compared, because other work on the machine only adds time. A process cannot end its
    timeline and go on training, so the steps without one come first.
    """
    import torch

    from sagemaker_debug_ext.profiler.timeline.start import start_timeline

    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
    data = torch.utils.data.TensorDataset(torch.randn(TORCH_STEPS * 4, 64), torch.randn(TORCH_STEPS * 4, 8))

    def fastest_tenth():
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        costs, before = [], None
        for inputs, targets in torch.utils.data.DataLoader(data, batch_size=4):
            now = time.thread_time_ns()
            if before is not None:
                costs.append(now - before)
            before = now
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(inputs), targets).backward()
            optimizer.step()
        return statistics.quantiles(costs, n=10)[0] / 1000

    fastest_tenth()
    plain = min(fastest_tenth() for _ in range(6))
    with tempfile.TemporaryDirectory() as folder:
        timeline = start_timeline(folder)
        timed = min(fastest_tenth() for _ in range(6))
        timeline.stop()
    return {"a step of PyTorch (us of CPU)": plain, "added to a step of PyTorch (us of CPU)": timed - plain}


def child_read(library, path):
    if library == "original":
        from smdebug.profiler.system_metrics_reader import LocalSystemMetricsReader
    else:
        from sagemaker_debug_ext.profiler import LocalSystemMetricsReader
    with Timer() as timer:
        events = LocalSystemMetricsReader(path).get_events(0, 1 << 60)
    return {"seconds": timer.seconds, "rows": len(events)}


def child_day(path):
    """Read the day as tables, and evaluate it into a page and the files of ProfilerReport."""
    from sagemaker_debug_ext.looking.profile.page import write_profile_page
    from sagemaker_debug_ext.profiler.rules import create_report_rules, write_report
    from sagemaker_debug_ext.profiler.system_metrics_reader import LocalSystemMetricsReader

    reset_peak()
    before = peak_mb()
    with Timer() as reading:
        rows = LocalSystemMetricsReader(path).get_all_rows()
    num_rows = len(rows.values)
    del rows
    memory = peak_mb() - before
    with Timer() as evaluating, tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.html")
        write_report(write_profile_page(path, page, create_report_rules()).rules, folder)
        size = sum(file.stat().st_size for file in Path(folder).rglob("*.json")) / 1e6
        page_size = page.stat().st_size / 1e6
    return {
        f"a day of 8 machines ({num_rows / 1e6:.1f} million rows): reading (s)": reading.seconds,
        "a day: memory (MB)": memory,
        "a day: evaluating 11 rules (s)": evaluating.seconds,
        "a day: files of the report (MB)": size,
        "a day: page of the report (MB)": page_size,
    }


def child_live():
    """Return the longest time from a sample to rules that have seen it, over ten seconds."""
    from sagemaker_debug_ext.profiler.rules import ProfileEvaluation, create_profiler_rule
    from sagemaker_debug_ext.profiler.sampler import start_sampler

    latencies, newest = [], []
    with tempfile.TemporaryDirectory() as folder, start_sampler(folder, INTERVAL_MILLIS):
        # Every sample meets the condition, so that the end of the finding is the newest sample.
        rule = create_profiler_rule("HostMemoryPressure", {"memory_threshold": 0.01})
        deadline = time.monotonic() + 20

        def on_look(rules):
            if not rules[0].findings:
                return
            end = rules[0].findings[-1].end
            if newest and end > newest[-1]:  # the sample after the newest known one has waited longest
                latencies.append(time.time() - newest[-1] - INTERVAL_MILLIS / 1000)
            newest.append(end)

        ProfileEvaluation(folder, [rule]).follow(on_look, lambda: time.monotonic() > deadline)
    return {"live: sample to verdict (s)": max(latencies)}


CHILDREN = {
    "sampler": child_sampler,
    "steps": child_steps,
    "torch": child_torch,
    "read": child_read,
    "day": child_day,
    "live": child_live,
}
TARGETS = {
    "sampler at 10 Hz: CPU (% of a core)": 0.5,
    "sampler: memory (MiB)": 40,
    "sampler: drift (intervals)": 1,
    "calls of a step (us)": 10,
    "added to a step of PyTorch (us of CPU)": 10,
    "a day: files of the report (MB)": 3,
    "a day: page of the report (MB)": 3,
    "live: sample to verdict (s)": 2,
}


def child_rows(kind, *arguments):
    found = run_child(__file__, sys.executable, ["--child", kind, *arguments])
    return [
        Row(label, None, value, "at most", 20 if "reading" in label else TARGETS.get(label))
        for label, value in found.items()
    ]


def read_row(options, path):
    """Return the row on reading half an hour; libraries in turn."""
    pythons = {"ours": sys.executable}
    if options.original_python:
        pythons["original"] = options.original_python
    seconds = {library: [] for library in pythons}
    for _ in range(options.repeat):
        for library, python in pythons.items():
            found = run_child(__file__, python, ["--child", "read", library, path])
            assert found["rows"] == 115_200, found
            seconds[library].append(found["seconds"])
    middle = {library: statistics.median(values) for library, values in seconds.items()}
    return Row("reading 115,200 rows (s)", middle.get("original"), middle["ours"], "at most", 0.4)


def main():
    arguments = parser(__doc__)
    arguments.add_argument("--seconds", type=float, default=600, help="how long to sample (default: %(default)s)")
    options = arguments.parse_args()
    if options.child:
        kind, *rest = options.child
        print(json.dumps(CHILDREN[kind](*rest)))
        return
    os.makedirs(options.tmp, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.tmp) as folder:
        half_hour, day = os.path.join(folder, "half_hour"), os.path.join(folder, "day")
        rows = child_rows("sampler", str(options.seconds))
        rows += child_rows("steps")
        rows += child_rows("torch")
        make_half_hour(half_hour)
        rows.append(read_row(options, half_hour))
        shutil.rmtree(half_hour)
        make_day(day)
        rows += child_rows("day", day)
        rows += child_rows("live")
    print_rows(rows, options)


if __name__ == "__main__":
    main()
