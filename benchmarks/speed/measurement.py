"""Comparing two libraries: each sample in its own process, libraries in turn, medians, ratios within one run."""

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

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]


def load_adapter(name, kind="trial_adapters"):
    """Return the module ``ours`` or ``original`` of a folder of adapters."""
    if str(FOLDER) not in sys.path:
        sys.path.insert(0, str(FOLDER))
    return importlib.import_module(f"{kind}.{name}")


def load(name):
    """Return the trial adapter of a library."""
    return load_adapter(name).Adapter()


def parser(description):
    """Return a parser with the options that all programs on trials have."""
    arguments = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument(
        "--original-python", metavar="PYTHON", help="an interpreter with smdebug 1.0.34, to measure it as well"
    )
    arguments.add_argument("--repeat", type=int, default=5, help="number of samples (default: %(default)s)")
    arguments.add_argument("--tmp", default="/tmp/sagemaker_debug_ext-benchmarks", help="folder for trials")
    arguments.add_argument("--out", metavar="FILE", help="write the figures to this JSON file as well")
    arguments.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    return arguments


def run_child(program, python, arguments, **environment):
    """Run a program in its own process, and return the JSON object of its last line.

    The process can import this package even if its interpreter has not installed it.
    """
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONWARNINGS": "ignore", **environment}
    command = [python, str(program), *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stdout[-2000:] + done.stderr[-4000:])
    return json.loads(done.stdout.splitlines()[-1])


def in_turn(program, options, samples, environment=None):
    """Run samples in turn, as often as `options.repeat` says.

    Args:
        program: The program that runs the samples as child processes.
        options: Its options.
        samples: Label → (python, library, further arguments of ``--child``).
        environment: Additional variables of the child processes.

    Returns:
        Label → list of results.
    """
    results = {label: [] for label in samples}
    for _ in range(options.repeat):
        for label, (python, *child) in samples.items():
            variables = {**load(child[0]).environment, **(environment or {})}
            results[label].append(run_child(program, python, ["--tmp", options.tmp, "--child", *child], **variables))
    return results


def medians(results):
    """Return the median of each figure over several results."""
    return {key: statistics.median(result[key] for result in results) for key in results[0]}


class Timer:
    """Measures the seconds of a block."""

    def __enter__(self):
        self.began = time.perf_counter()
        return self

    def __exit__(self, *_):
        self.seconds = time.perf_counter() - self.began


def peak_mb():
    """Return the peak memory of this process since `reset_peak`, in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1000
    return 0.0


def reset_peak():
    Path("/proc/self/clear_refs").write_text("5")


class Row:
    """One figure of both libraries, and its target.

    Args:
        label: Name of the figure.
        original: Figure of the original. None: not measured.
        ours: Figure of this package.
        relation: ``ratio`` (original divided by ours, at least the target), ``at most`` or ``at least`` (ours).
        target: The limit. None: the figure has no target.
    """

    def __init__(self, label, original, ours, relation="", target=None):
        self.label, self.original, self.ours, self.relation, self.target = label, original, ours, relation, target

    @property
    def ratio(self):
        return self.original / self.ours if self.original is not None and self.ours else None

    @property
    def is_met(self):
        """Whether the target is met. None: there is no target, or the original was not measured."""
        measured = self.ratio if self.relation == "ratio" else self.ours
        if self.target is None or measured is None:
            return None
        return measured <= self.target if self.relation == "at most" else measured >= self.target


def print_rows(rows, options):
    """Print a table of both libraries with targets, and write it to `options.out`."""
    width = max(len(row.label) for row in rows)
    print(f"{'':{width}}  {'original':>10}  {'ours':>10}  {'ratio':>7}  {'target':<14}")
    for row in rows:
        original = "-" if row.original is None else f"{row.original:.4g}"
        ratio = "-" if row.ratio is None else f"{row.ratio:.1f}"
        target = "" if row.target is None else f"{row.relation} {row.target:g}"
        verdict = {None: "", True: "met", False: "MISSED"}[row.is_met]
        print(f"{row.label:{width}}  {original:>10}  {row.ours:>10.4g}  {ratio:>7}  {target:<14} {verdict}".rstrip())
    if options.out:
        figures = [{**vars(row), "ratio": row.ratio, "met": row.is_met} for row in rows]
        Path(options.out).write_text(json.dumps({"rows": figures}, indent=1) + "\n")
