"""Prepare a request: importing the package, and building, checking and explaining a large request.

python benchmarks/speed/bench_requests.py [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

RUNS = 200
HEAVY = ("numpy", "botocore", "boto3", "jsonschema", "sagemaker", "torch", "tensorflow")


def import_milliseconds(statement, runs=7):
    """Return the best time of an import in a new process, and the heavy modules it loads."""
    program = (
        f"import sys, time; start = time.perf_counter(); {statement}; "
        f"print(time.perf_counter() - start, *[name for name in {HEAVY!r} if name in sys.modules])"
    )
    results = [
        subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()
        for _ in range(runs)
    ]
    return min(float(result[0]) for result in results) * 1000, results[0][1:]


def settings():
    """Return 20 rules with parameters and actions, and 20 collections with patterns."""
    from sagemaker_debug_ext import (
        ActionList,
        CollectionConfig,
        DebuggerHookConfig,
        Email,
        Rule,
        StopTraining,
        rule_configs,
    )

    collections = [CollectionConfig("gradients", {"save_interval": 7})] + [
        CollectionConfig(
            f"layer{number}",
            {"include_regex": f"layer{number}_.*", "train.save_interval": number + 1, "reductions": "min,max"},
        )
        for number in range(19)
    ]
    rules = [
        Rule.sagemaker(
            rule_configs.vanishing_gradient(),
            name=f"rule{number}",
            rule_parameters={"threshold": 10.0**-number},
            actions=ActionList(StopTraining(), Email("someone@example.com")),
        )
        for number in range(20)
    ]
    return DebuggerHookConfig(hook_parameters={"save_interval": 100}, collection_configs=collections), rules


def milliseconds(work):
    """Return the time of the first run, and the median of the later ones."""
    times = []
    for _ in range(RUNS + 1):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1000)
    return times[0], statistics.median(times[1:])


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file as well")
    options = arguments.parse_args()
    figures = {}
    for statement in (
        "import sagemaker_debug_ext",
        "from sagemaker_debug_ext import DebuggerHookConfig, Rule, rule_configs",
        "from sagemaker_debug_ext.sdk import with_debugger, attach_debugger, TrainingJob",
    ):
        best, heavy = import_milliseconds(statement)
        figures[statement] = {"best_ms": round(best, 1), "heavy": heavy}

    from sagemaker_debug_ext import explain
    from sagemaker_debug_ext.requests import debugger_request, training_job_request
    from sagemaker_debug_ext.requests.checks import check_training_job_request

    hook, rules = settings()
    job = {"job_name": "job-1", "region": "us-east-1", "output_path": "s3://bucket/out"}
    rest = training_job_request(
        **job, role_arn="arn:aws:iam::123456789012:role/R", image_uri="image", debugger_hook_config=False
    )

    def build():
        return {**rest, **debugger_request(**job, debugger_hook_config=hook, rules=rules)}

    request = build()
    works = {
        "20 rules and 20 collections: configure": settings,
        "20 rules and 20 collections: build": build,
        "20 rules and 20 collections: check": lambda: check_training_job_request(request, "us-east-1"),
        "20 rules and 20 collections: build and check": lambda: check_training_job_request(build(), "us-east-1"),
        "20 rules and 20 collections: explain": lambda: explain(hook, rules, "pytorch"),
    }
    for name, work in works.items():
        first, median = milliseconds(work)
        figures[name] = {"first_ms": round(first, 2), "median_ms": round(median, 2)}
    for name, figure in figures.items():
        print(f"{name}: " + ", ".join(f"{key} {value}" for key, value in figure.items()))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
