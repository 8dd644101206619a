"""Reading trials in a folder: opening, one value, all values, memory, large tensors, a million entries, following.

python benchmarks/bench_read.py --original-python PYTHON
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
from _measuring import Timer, in_turn, load, medians, parser, peak_mb, reset_peak, show

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
    """Measure everything on one trial, in this process."""
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
    """Import everything, and bring the files into the page cache."""
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
    """A tensor of 64 MB beside numpy's own reading of the same bytes; several times, in turn."""
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


def child_million(adapter, path):
    adapter.open(path)
    code = (
        "import sys, json; sys.path.insert(0, sys.argv[2]); import bench_read;"
        " print(json.dumps(bench_read.million(sys.argv[1])))"
    )
    import subprocess

    done = subprocess.run(
        [sys.executable, "-c", code, path, str(Path(__file__).parent)], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def million(path):
    adapter = load("ours")
    with Timer() as opening:
        trial = adapter.open(path)
    with Timer() as first:
        steps = trial.tensor("layer3/weight").steps()
    with Timer() as again:
        trial.tensor("layer3/weight").steps()
    assert len(steps) == MILLION[0]
    return {
        "open from the cache": opening.seconds,
        "a tensor's steps": first.seconds,
        "again": again.seconds,
        "RSS (MB)": peak_mb(),
    }


def child_follow(adapter, path):
    """How long after a step is there `follow` yields it, and what waiting costs."""
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
        "follow p50 (ms)": late[100] * 1e3,
        "follow p99 (ms)": late[197] * 1e3,
        "share of a core (%)": 100 * cpu / seconds,
    }


def main():
    options = parser(__doc__).parse_args()
    children = {
        "read": child_read,
        "cached": child_open_cached,
        "big": child_big,
        "million": child_million,
        "follow": child_follow,
    }
    if options.child:
        adapter, kind, path = options.child
        print(json.dumps(children[kind](load(adapter), path)))
        return
    ours = load("ours")
    rows = []
    cache = {"SAGEMAKER_DEBUG_EXT_CACHE_DIR": os.path.join(options.tmp, "cache")}
    for label, size in KINDS.items():
        path = os.path.join(options.tmp, label.replace(" ", "_"))
        make(ours, path, *size)
        samples = {"ours": (sys.executable, "ours", "read", path)}
        if options.original_python:
            samples["original"] = (options.original_python, "original", "read", path)
        found = {name: medians(each) for name, each in in_turn(__file__, options, samples).items()}
        before = found.get("original", {})
        rows.extend((f"{label}: {key}", before.get(key), value) for key, value in found["ours"].items())
        cached = in_turn(__file__, options, {"ours": (sys.executable, "ours", "cached", path)}, cache)
        rows.append(
            (f"{label}: open from the cache", before.get("open"), medians(cached["ours"])["open from the cache"])
        )
    path = os.path.join(options.tmp, "big")
    if not os.path.exists(path + ".bin"):
        big = np.random.RandomState(0).rand(*BIG).astype("float32")
        ours.write_step(path, 0, "worker_0", [("big", big)])
        ours.finish(path, ["worker_0"], ["big"])
        big.tofile(path + ".bin")
    samples = {"ours": (sys.executable, "ours", "big", path)}
    if options.original_python:
        samples["original"] = (options.original_python, "original", "big", path)
    found = {name: medians(each) for name, each in in_turn(__file__, options, samples).items()}
    rows.extend((f"64 MB: {key}", found.get("original", {}).get(key), value) for key, value in found["ours"].items())
    path = os.path.join(options.tmp, "million")
    make(ours, path, *MILLION)
    for kind in ("million", "follow"):
        place = path if kind == "million" else os.path.join(options.tmp, "live")
        found = in_turn(
            __file__, options, {"ours": (sys.executable, "ours", kind, place)}, cache if kind == "million" else {}
        )
        rows.extend((f"{kind}: {key}", None, value) for key, value in medians(found["ours"]).items())
    show(rows, options)


if __name__ == "__main__":
    main()
