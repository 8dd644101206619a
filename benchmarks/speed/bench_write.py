"""Write steps to a folder, in turn with a bare `write()` of the same bytes.

    python benchmarks/speed/bench_write.py [--original-python PYTHON]

Prints each figure with its target, and whether it is met.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from pathlib import Path

import numpy as np

from measurement import Row, in_turn, load, medians, parser, print_rows

SIZES = {"50 x 4 KB": ((1024,), 50, 40), "10 x 1 MB": ((512, 512), 10, 20), "1 x 64 MB": ((4096, 4096), 1, 3)}
"""Shape of each tensor, number of tensors in a step, number of steps."""

TARGETS = {"50 x 4 KB": 3.0, "10 x 1 MB": 1.3, "1 x 64 MB": 1.25}
"""Largest processor time, as a multiple of that of a bare `write()`."""

CPU_RATIO = "processor time / that of a bare write()"

ROUNDS = 7


def child(adapter, label, folder):
    """Write the same tensors by the library and by a bare `write()`, in turn."""
    shape, tensors, steps = SIZES[label]
    random = np.random.RandomState(0)
    arrays = [(f"layer{n}/weight", random.rand(*shape).astype("float32")) for n in range(tensors)]
    adapter.write_step(os.path.join(folder, "warm"), 0, "worker_0", arrays)
    times = {"library": [], "bare": []}
    for number in range(ROUNDS):
        for who, write in (("library", adapter.write_step), ("bare", write_barely)):
            path = os.path.join(folder, f"{who}{number}")
            os.makedirs(path)
            os.sync()
            began, wall = time.process_time(), time.perf_counter()
            for step in range(steps):
                write(path, step, "worker_0", arrays)
            times[who].append((time.process_time() - began, time.perf_counter() - wall))
            shutil.rmtree(path)  # its memory pages serve the next round, see bench_train.py
    shutil.rmtree(folder)
    size = steps * sum(array.nbytes for _, array in arrays) / 1e6
    cpu = {who: min(cpu for cpu, _ in found) for who, found in times.items()}
    return {
        "MB/s": size / min(wall for _, wall in times["library"]),
        CPU_RATIO: cpu["library"] / cpu["bare"],
    }


def write_barely(path, step, _worker, arrays):
    with open(f"{path}/{step:012d}.bin", "wb") as file:
        for _, array in arrays:
            file.write(array.data)


def main():
    options = parser(__doc__).parse_args()
    if options.child:
        adapter, label = options.child
        print(json.dumps(child(load(adapter), label, os.path.join(options.tmp, "write"))))
        return
    rows = []
    for label in SIZES:
        samples = {"ours": (sys.executable, "ours", label)}
        if options.original_python:
            samples["original"] = (options.original_python, "original", label)
        Path(options.tmp).mkdir(parents=True, exist_ok=True)
        found = {name: medians(results) for name, results in in_turn(__file__, options, samples).items()}
        for key, value in found["ours"].items():
            target = ("at most", TARGETS[label]) if key == CPU_RATIO else ()
            rows.append(Row(f"{label}: {key}", found.get("original", {}).get(key), value, *target))
    print_rows(rows, options)


if __name__ == "__main__":
    main()
