"""Looking at trials: reading steps of thousands of saved numbers, and writing reports of them.

    python benchmarks/speed/bench_looking.py

Prints each figure with its target, and whether it is met. Takes about a minute.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
from pathlib import Path

import numpy as np

from measurement import Row, Timer, parser, peak_mb, print_rows, reset_peak, run_child
from sagemaker_debug_ext.looking.report import ReportOptions, read_material, render
from sagemaker_debug_ext.store.backends.local import LocalBackend
from sagemaker_debug_ext.store.format.keys import reduction_tensor_name
from sagemaker_debug_ext.store.writer import NamedNumbers, StepData, TrialWriter
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

KINDS = {"5,000 x 100 steps": (5_000, 100), "10,000 x 20 steps": (10_000, 20)}
PARTS = ("q_proj", "k_proj", "v_proj", "o_proj", "mlp.up", "mlp.down", "norm1", "norm2", "attn.bias", "lora")
NORM = ("l2", False)


def make(path, num_tensors, num_steps):
    """Write a trial of gradient norms and of scalars, as hooks save them."""
    if Path(path, "training_job_end.ts").exists():
        return
    shutil.rmtree(path, ignore_errors=True)
    random = np.random.RandomState(0)
    names = [f"layers.{number // len(PARTS)}.{PARTS[number % len(PARTS)]}.weight" for number in range(num_tensors)]
    groups = (
        tuple(reduction_tensor_name(*NORM, f"gradient/{name}") for name in names),
        tuple(f"scalar/{name}" for name in names),
    )
    writer = TrialWriter(LocalBackend(path))
    times = np.full(num_tensors, 1.7e9)
    for step in range(num_steps):
        numbers = [NamedNumbers(group, random.rand(num_tensors).astype("f4"), times + step) for group in groups]
        writer.write_step(StepData(10 * step, ModeKeys.TRAIN, 10 * step, numbers=numbers))
    writer.write_collections([{"name": "gradients"}], 1)
    writer.end()


def microseconds(num_values, read):
    """Return the median time for a value over three reads."""
    seconds = []
    for _ in range(3):
        with Timer() as timer:
            read()
        seconds.append(timer.seconds)
    return 1e6 * statistics.median(seconds) / num_values


def child_read(path):
    trial = create_trial(path)
    gradients = [name for name in trial.tensor_names() if name.startswith("gradient/")]
    scalars = [name for name in trial.tensor_names() if name.startswith("scalar/")]
    steps = trial.steps()

    def norms(at):
        return sum(len(g.steps) for g in trial.index_reader.read_columns(gradients, at, ModeKeys.GLOBAL, None, NORM))

    assert norms(steps[1:2]) == len(gradients)
    return {
        "norms of one step (us each)": microseconds(len(gradients), lambda: norms(steps[1:2])),
        "norms of all steps (us each)": microseconds(len(gradients) * len(steps), lambda: norms(steps)),
        "scalars of one step (us each)": microseconds(len(scalars), lambda: trial.values_at(steps[1], scalars)),
        "scalars of all steps (us each)": microseconds(len(scalars) * len(steps), lambda: trial.values(scalars)),
    }


def child_report(path):
    """Write a report without rules, and the same page again from what was read."""
    trial = create_trial(path)
    reset_peak()
    before = peak_mb()
    options = ReportOptions()
    with Timer() as reading:
        materials = read_material([trial], [None], options)
    with Timer() as drawing:
        page, _ = render(materials, options)
    num_values = sum(grid.values.size for grid in materials[0].measures.grids.values())
    return {
        "reading for a report (us a value)": 1e6 * reading.seconds / num_values,
        "drawing the report (s)": drawing.seconds,
        "size of the report (MB)": len(page.encode()) / 1e6,
        "memory for a report (MB)": peak_mb() - before,
    }


CHILDREN = {"read": child_read, "report": child_report}
TARGETS = {
    "reading for a report (us a value)": 5,
    "drawing the report (s)": 2,
    "size of the report (MB)": 3,
    "memory for a report (MB)": 300,
}


def main():
    options = parser(__doc__).parse_args()
    if options.child:
        kind, path = options.child
        print(json.dumps(CHILDREN[kind](path)))
        return
    rows = []
    for label, size in KINDS.items():
        path = os.path.join(options.tmp, f"wide_{size[0]}")
        make(path, *size)
        for kind in CHILDREN:
            found = run_child(__file__, sys.executable, ["--child", kind, path])
            rows += [
                Row(f"{label}: {key}", None, value, "at most", TARGETS.get(key, 5)) for key, value in found.items()
            ]
    print_rows(rows, options)


if __name__ == "__main__":
    main()
