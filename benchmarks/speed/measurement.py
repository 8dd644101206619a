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


class Row:
    """One figure: what it is, of the original, of this package, and what is wanted of it.

    `wanted` is a number; `relation` says of what: ``ratio`` (original to ours, at least so much), ``at most`` or
    ``at least`` (ours).
    """

    def __init__(self, label, original, ours, relation="", wanted=None):
        self.label, self.original, self.ours, self.relation, self.wanted = label, original, ours, relation, wanted

    @property
    def ratio(self):
        return self.original / self.ours if self.original is not None and self.ours else None

    @property
    def verdict(self):
        """Whether what is wanted is reached; None if nothing is wanted, or the original was not measured."""
        measured = self.ratio if self.relation == "ratio" else self.ours
        if self.wanted is None or measured is None:
            return None
        return measured <= self.wanted if self.relation == "at most" else measured >= self.wanted


def show_wanted(rows, options):
    """Print a table: what, of the original, of this package, ratio, what is wanted, and whether it is reached."""
    width = max(len(row.label) for row in rows)
    print(f"{'':{width}}  {'original':>10}  {'ours':>10}  {'ratio':>7}  {'wanted':<14}")
    for row in rows:
        original = "-" if row.original is None else f"{row.original:.4g}"
        ratio = "-" if row.ratio is None else f"{row.ratio:.1f}"
        wanted = "" if row.wanted is None else f"{row.relation} {row.wanted:g}"
        verdict = {None: "", True: "reached", False: "MISSED"}[row.verdict]
        print(f"{row.label:{width}}  {original:>10}  {row.ours:>10.4g}  {ratio:>7}  {wanted:<14} {verdict}".rstrip())
    if options.out:
        found = [{**vars(row), "ratio": row.ratio, "reached": row.verdict} for row in rows]
        Path(options.out).write_text(json.dumps({"rows": found}, indent=1) + "\n")
