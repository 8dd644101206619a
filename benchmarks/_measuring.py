"""Measure two libraries in turn: each sample in a fresh process, medians, and the ratio within one run."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent


def load(name):
    sys.path.insert(0, str(HERE))
    return importlib.import_module(f"trial_adapters.{name}").Adapter()


def parser(description):
    """Return the options that all programs take."""
    arguments = argparse.ArgumentParser(description=description)
    arguments.add_argument(
        "--original-python", help="a Python with smdebug 1.0.34; without it only this package is measured"
    )
    arguments.add_argument("--repeat", type=int, default=5)
    arguments.add_argument("--tmp", default="/tmp/sagemaker_debug_ext-benchmarks", help="folder for trials")
    arguments.add_argument("--out", help="write the figures here as JSON, too")
    arguments.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    return arguments


def in_turn(program, options, samples, environment=None):
    """Run each of `samples` (label → python, arguments of the child) in turn, and return label → list of results."""
    found = {label: [] for label in samples}
    for _ in range(options.repeat):
        for label, (python, *child) in samples.items():
            environ = {**os.environ, **load(child[0]).environment, **(environment or {})}
            command = [python, "-W", "ignore", str(program), "--tmp", options.tmp, "--child", *map(str, child)]
            done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(done.stdout[-2000:] + done.stderr[-4000:])
            found[label].append(json.loads(done.stdout.splitlines()[-1]))
    return found


def medians(results):
    """Return key → median of the numbers of several results."""
    return {key: statistics.median(each[key] for each in results) for key in results[0]}


class Timer:
    """Seconds of a block."""

    def __enter__(self):
        self.began = time.perf_counter()
        return self

    def __exit__(self, *_):
        self.seconds = time.perf_counter() - self.began


def peak_mb():
    """Return the most memory this process has had since `reset_peak`, in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1000
    return 0.0


def reset_peak():
    Path("/proc/self/clear_refs").write_text("5")


def show(rows, options, more=None):
    """Print a table: what, of the original, of this package, ratio."""
    width = max(len(row[0]) for row in rows)
    print(f"{'':{width}}  {'original':>12}  {'ours':>12}  {'ratio':>7}")
    for label, original, ours in rows:
        left = f"{original:12.4g}" if original is not None else f"{'-':>12}"
        ratio = f"{original / ours:7.1f}" if original is not None and ours else f"{'-':>7}"
        print(f"{label:{width}}  {left}  {ours:12.4g}  {ratio}")
    if options.out:
        Path(options.out).write_text(json.dumps({"rows": rows, **(more or {})}, indent=1) + "\n")
