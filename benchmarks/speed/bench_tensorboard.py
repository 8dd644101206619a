"""Write histograms for TensorBoard by this package and by PyTorch's ``SummaryWriter.add_histogram``.

    python benchmarks/speed/bench_tensorboard.py [--repeat 9]

Both write steps of ten histograms of normally distributed numbers to a file, in turn, each in its own process with one
thread. Figures are the processor time of one histogram, medians of the repeats. The program needs torch and
tensorboard. With Numba, this package counts large tensors several times as fast.
"""

from __future__ import annotations

import argparse
import functools
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable

import numpy as np

NUM_STEPS = {1_000: 50, 10_000: 50, 100_000: 10, 1_000_000: 5}
"""Number of steps of a turn, by the number of values."""

NUM_HISTOGRAMS = 10
TARGET = 20

Write = Callable[[dict[str, np.ndarray], int], None]


@functools.cache
def arrays_of(size: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(size)
    return {f"layer{number}": rng.standard_normal(size, np.float32) for number in range(NUM_HISTOGRAMS)}


@functools.cache
def ours(folder: str) -> Write:
    from sagemaker_debug_ext.hooks.capture.counters import StepPosition
    from sagemaker_debug_ext.hooks.output.tensorboard import Summary, TensorBoardOutput
    from sagemaker_debug_ext.store.backends import LocalBackend
    from sagemaker_debug_ext.vocabulary import ModeKeys

    output = TensorBoardOutput(LocalBackend(f"{folder}/ours"))

    def write(arrays: dict[str, np.ndarray], step: int) -> None:
        summaries = [Summary(name, array, 0.0, False) for name, array in arrays.items()]
        output.write_step(StepPosition(step, ModeKeys.TRAIN, step), summaries)

    return write


@functools.cache
def theirs(folder: str) -> Write:
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(f"{folder}/theirs")

    def write(arrays: dict[str, np.ndarray], step: int) -> None:
        for name, array in arrays.items():
            writer.add_histogram(name, array, step)
        writer.flush()

    return write


def seconds(library: Callable[[str], Write], folder: str, size: int, turn: int) -> float:
    """Return the processor seconds of one histogram."""
    arrays, write, num_steps = arrays_of(size), library(folder), NUM_STEPS[size]
    began = time.process_time()
    for step in range(turn * num_steps, (turn + 1) * num_steps):
        write(arrays, step)
    return (time.process_time() - began) / num_steps / NUM_HISTOGRAMS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=9, help="number of turns (default: %(default)s)")
    repeat = parser.parse_args().repeat
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # waiting threads would count as work
    print(f"{'values':>9}  {'SummaryWriter':>13}  {'ours':>9}  ratio  target: at least {TARGET}")
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder, context.Pool(1) as pool, context.Pool(1) as their_pool:
        for size in NUM_STEPS:
            found: list[tuple[float, float]] = []
            for turn in range(repeat + 1):
                one = pool.apply(seconds, (ours, folder, size, turn))
                found.append((one, their_pool.apply(seconds, (theirs, folder, size, turn))))
            one, other = (statistics.median(times) for times in zip(*found[1:], strict=True))  # the first turn warms up
            verdict = "met" if other / one >= TARGET else "MISSED"
            print(f"{size:9,}  {other * 1e3:10.2f} ms  {one * 1e3:6.3f} ms  {other / one:5.1f}  {verdict}", flush=True)


if __name__ == "__main__":
    main()
