"""Read trials from a folder: opening, single and all values, memory, large tensors, a million entries, following.

    python benchmarks/speed/bench_read.py --original-python PYTHON

Prints each figure with its target, and whether it is met. Takes about five minutes.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
import time
from pathlib import Path

import numpy as np

from measurement import Row, Timer, in_turn, load, medians, parser, peak_mb, print_rows, reset_peak

KINDS = {"1000 steps x 50": (1000, 50, 1), "100 steps x 50 x 8 workers": (100, 50, 8)}
MILLION = (2500, 50, 8)
BIG = (4096, 4096)


def tensor_names(number):
    return [f"layer{n // 2}/{'weight' if n % 2 == 0 else 'bias'}" for n in range(number)]


def make(adapter, path, steps, tensors, workers):
    if Path(path, "training_job_end.ts").exists():
        return
    shutil.rmtree(path, ignore_errors=True)
    random = np.random.RandomState(1)
    names = tensor_names(tensors)
    for step in range(steps):
        for rank in range(workers):
            adapter.write_step(path, step, f"worker_{rank}", [(n, random.rand(8).astype("float32")) for n in names])
    adapter.finish(path, [f"worker_{rank}" for rank in range(workers)], names)


def child_read(adapter, path):
    """Measure one trial in this process."""
    warm(adapter, path)
    reset_peak()
    before = peak_mb()
    result = {}
    with Timer() as timer:
        trial = adapter.open(path)
    result["open"] = timer.seconds
    names, steps = adapter.names(trial), adapter.steps(trial)
    with Timer() as timer:
        for name in names[:10]:
            adapter.value(trial, name, steps[len(steps) // 2])
    result["a value"] = timer.seconds / 10
    with Timer() as timer:
        for name in names:
            values = adapter.values(trial, name)
    assert len(values) == len(steps)
    result["all values, a tensor at a time"] = timer.seconds
    result["memory (MB)"] = peak_mb() - before
    trial = adapter.open(path)
    with Timer() as timer:
        values = adapter.all_values(trial)
    assert sum(map(len, values.values())) == len(names) * len(steps)
    result["all values"] = timer.seconds
    trial = adapter.open(path)
    with Timer() as timer:
        for name in names[:10]:
            for step in steps:
                adapter.value(trial, name, step)
    result["a value at a time, each"] = timer.seconds / (10 * len(steps))
    return result


def warm(adapter, path):
    """Import the library, and read the files into the page cache."""
    small = f"{path}-warm"
    if not os.path.isdir(small):
        adapter.write_step(small, 0, "worker_0", [("x", np.ones(2, "float32"))])
        adapter.finish(small, ["worker_0"], ["x"])
    adapter.values(adapter.open(small), "x")
    for folder, _, files in os.walk(path):
        for file in files:
            Path(folder, file).read_bytes()


def child_open_cached(adapter, path):
    warm(adapter, path)
    adapter.open(path)
    with Timer() as timer:
        trial = adapter.open(path)
    assert adapter.steps(trial)
    return {"open from the cache": timer.seconds}


def child_big(adapter, path):
    """Read a tensor of 64 MB, in turn with NumPy's reading of the same bytes."""
    trial = adapter.open(path)
    adapter.value(trial, "big", 0)
    numbers = {"numpy.fromfile": [], "library": [], "read()": []}
    for _ in range(5):
        with Timer() as timer:
            Path(path + ".bin").read_bytes()
        numbers["read()"].append(timer.seconds)
        with Timer() as timer:
            np.fromfile(path + ".bin", "float32")
        numbers["numpy.fromfile"].append(timer.seconds)
        with Timer() as timer:
            value = adapter.value(trial, "big", 0)
        numbers["library"].append(timer.seconds)
        assert value.shape == BIG
        del value
    size = 4 * BIG[0] * BIG[1] / 1e9
    return {f"{name} (GB/s)": size / sorted(times)[2] for name, times in numbers.items()}


def child_consolidated(adapter, path):
    warm(adapter, path)
    with Timer() as timer:
        trial = adapter.open(path)
    assert adapter.steps(trial)
    return {"open with a consolidated index": timer.seconds}


def child_million(_adapter, path):
    """Open a trial from the index cache, and query one tensor's steps, in a new process."""
    from sagemaker_debug_ext import modes

    adapter = load("ours")
    with Timer() as opening:
        trial = adapter.open(path)
    tensor = trial.tensor("layer3/weight")
    with Timer() as first:
        steps = tensor.steps()
    with Timer() as again:
        tensor.steps()
    with Timer() as of_mode:
        assert tensor.steps(mode=modes.TRAIN) == steps
    assert len(steps) == MILLION[0]
    return {
        "open from the cache (s)": opening.seconds,
        "a tensor's steps, over all modes (ms)": first.seconds * 1e3,
        "a tensor's steps, of a mode (ms)": of_mode.seconds * 1e3,
        "the same again (ms)": again.seconds * 1e3,
        "RSS (MB)": peak_mb(),
    }


def child_follow(adapter, path):
    """Measure how long after a step is written `follow` yields it, and the processor time of waiting."""
    from sagemaker_debug_ext.trials import create_trial

    shutil.rmtree(path, ignore_errors=True)
    adapter.finish(path, ["worker_0"], tensor_names(10))
    os.unlink(f"{path}/training_job_end.ts")
    written = {}

    def write():
        random = np.random.RandomState(1)
        for step in range(200):
            time.sleep(float(random.uniform(0.05, 0.15)))
            adapter.write_step(path, step, "worker_0", [(n, random.rand(8)) for n in tensor_names(10)])
            written[step] = time.perf_counter()
        adapter.finish(path, ["worker_0"], tensor_names(10))

    thread = threading.Thread(target=write)
    thread.start()
    late = []
    trial = create_trial(path)
    began, cpu = time.perf_counter(), -time.thread_time()
    for step in trial.follow():
        now = time.perf_counter()
        late.append(now - written.get(step, now))
    cpu += time.thread_time()
    seconds = time.perf_counter() - began
    thread.join()
    late.sort()
    return {
        "p50 (ms)": late[100] * 1e3,
        "p99 (ms)": late[197] * 1e3,
        "share of a core (%)": 100 * cpu / seconds,
    }


CHILDREN = {
    "read": child_read,
    "cached": child_open_cached,
    "consolidated": child_consolidated,
    "big": child_big,
    "million": child_million,
    "follow": child_follow,
}

TARGETS = {
    ("1000 steps x 50", "open"): ("ratio", 8),
    ("1000 steps x 50", "open from the cache"): ("ratio", 30),
    ("1000 steps x 50", "all values"): ("ratio", 8),
    ("1000 steps x 50", "a value at a time, each"): ("ratio", 2),
    ("1000 steps x 50", "memory (MB)"): ("at most", 15),
    ("100 steps x 50 x 8 workers", "open"): ("ratio", 8),
    ("64 MB", "relative to numpy.fromfile"): ("at least", 0.8),
    ("1,000,000 entries", "open from the cache (s)"): ("at most", 1),
    ("1,000,000 entries", "a tensor's steps, over all modes (ms)"): ("at most", 10),
    ("1,000,000 entries", "a tensor's steps, of a mode (ms)"): ("at most", 10),
    ("1,000,000 entries", "RSS (MB)"): ("at most", 300),
    ("follow", "p99 (ms)"): ("at most", 100),
    ("follow", "share of a core (%)"): ("at most", 2),
}


def rows_of(label, ours, original):
    return [
        Row(f"{label}: {key}", original.get(key), value, *TARGETS.get((label, key), ())) for key, value in ours.items()
    ]


class Bench:
    """Runs child processes and returns medians."""

    def __init__(self, options):
        self.options = options
        self.cache = {"SAGEMAKER_DEBUG_EXT_CACHE_DIR": os.path.join(options.tmp, "cache")}

    def both(self, kind, path):
        samples = {"ours": (sys.executable, "ours", kind, path)}
        if self.options.original_python:
            samples["original"] = (self.options.original_python, "original", kind, path)
        found = {name: medians(results) for name, results in in_turn(__file__, self.options, samples).items()}
        return found["ours"], found.get("original", {})

    def ours(self, kind, path, environment=None):
        return medians(
            in_turn(__file__, self.options, {"ours": (sys.executable, "ours", kind, path)}, environment)["ours"]
        )


def opening_and_values(bench, ours):
    rows = []
    for label, size in KINDS.items():
        path = os.path.join(bench.options.tmp, label.replace(" ", "_"))
        make(ours, path, *size)
        found, original = bench.both("read", path)
        found.update(bench.ours("cached", path, bench.cache))
        original["open from the cache"] = original["open with a consolidated index"] = original.get("open")
        copy = f"{path}-consolidated"
        if not os.path.isdir(copy):
            shutil.copytree(path, copy)
            ours.open(copy).consolidate()
        found.update(bench.ours("consolidated", copy))
        rows += rows_of(label, found, original)
    return rows


def large_tensor(bench, ours):
    path = os.path.join(bench.options.tmp, "big")
    if not os.path.exists(path + ".bin"):
        big = np.random.RandomState(0).rand(*BIG).astype("float32")
        ours.write_step(path, 0, "worker_0", [("big", big)])
        ours.finish(path, ["worker_0"], ["big"])
        big.tofile(path + ".bin")
    found, original = bench.both("big", path)
    for figures in filter(None, (found, original)):
        figures["relative to numpy.fromfile"] = figures["library (GB/s)"] / figures["numpy.fromfile (GB/s)"]
    return rows_of("64 MB", found, original)


def many_entries(bench, ours):
    path = os.path.join(bench.options.tmp, "million")
    make(ours, path, *MILLION)
    bench.ours("cached", path, bench.cache)  # fills the index cache and the page cache
    return rows_of("1,000,000 entries", bench.ours("million", path, bench.cache), {})


def following(bench, _ours):
    return rows_of("follow", bench.ours("follow", os.path.join(bench.options.tmp, "live")), {})


def main():
    options = parser(__doc__).parse_args()
    if options.child:
        adapter, kind, path = options.child
        print(json.dumps(CHILDREN[kind](load(adapter), path)))
        return
    options.repeat = min(options.repeat, 5)
    bench, ours, rows = Bench(options), load("ours"), []
    for part in (opening_and_values, large_tensor, many_entries):
        rows += part(bench, ours)
    options.repeat = min(options.repeat, 2)  # each sample takes twenty seconds
    rows += following(bench, ours)
    print_rows(rows, options)


if __name__ == "__main__":
    main()
