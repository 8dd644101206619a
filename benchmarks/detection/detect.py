"""Detection benchmark: which faults are found, how soon, by a rule of the right family, and what fires on sound runs.

python benchmarks/detection/detect.py [--split test] [--json results.json] [--only TEXT]
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from jobs import limit_threads
from runs import FAMILIES, RUNS, Run

from sagemaker_debug_ext.catalog import list_rule_specs
from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.rules.recommended import recommended_rules
from sagemaker_debug_ext.trials import create_trial

NEEDS_CHOICE = {"AllZero", "TensorVariance", "UnchangedTensor", "SimilarAcrossRuns"}
"""Rules of SageMaker that say nothing unless they are told what to look at."""


def aws_rules(trial):
    """Return SageMaker's rules at their defaults, as far as they have a default choice of tensors."""
    names = [spec.name for spec in list_rule_specs("debugger") if spec.function and spec.name not in NEEDS_CHOICE]
    return {name: create_rule(name, trial) for name in names}


def judge(trial, rules):
    """Return for each rule that fires the share of the run after which it did, and the errors."""
    evaluation = evaluate(rules, trial, stop_rule_on_first_issue=True)
    steps = trial.steps()
    found = {issue.rule: (steps.index(issue.step) + 1) / len(steps) for issue in evaluation}
    errors = {status.name: status.details for status in evaluation.statuses if status.status == "Error"}
    return found, errors


def measure(run: Run) -> dict:
    """Run a job, and judge it by both sets."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        run.make_trial(folder)
        seconds = time.process_time() - began
        trial = create_trial(folder)
        result = {"name": run.name, "family": run.family, "split": run.split, "job_seconds": seconds}
        for key, rules in (("aws", aws_rules(trial)), ("full", recommended_rules(trial))):
            began = time.process_time()
            result[key], result[f"{key}_errors"] = judge(trial, rules)
            result[f"{key}_seconds"] = time.process_time() - began
    return result


def summarize(results: list[dict], key: str) -> dict:
    """Return recall, sound runs that something fired on, right family, and the median share of the run."""
    faults = [each for each in results if each["family"]]
    healthy = [each for each in results if not each["family"]]
    detected = [each for each in faults if each[key]]
    right = [each for each in detected if FAMILIES[each["family"]] & set(each[key])]
    shares = sorted(min(each[key].values()) for each in detected)
    return {
        "faults": len(faults),
        "recall": len(detected) / len(faults) if faults else None,
        "right_family": len(right) / len(faults) if faults else None,
        "sound_runs": len(healthy),
        "false_positive_runs": sum(bool(each[key]) for each in healthy) / len(healthy) if healthy else None,
        "median_share_of_run": shares[len(shares) // 2] if shares else None,
        "errors": sum(bool(each[f"{key}_errors"]) for each in results),
    }


def show(results: list[dict]) -> None:
    for split in ("tuning", "test", "unseen", "all"):
        chosen = [each for each in results if split in (each["split"], "all")]
        if not chosen:
            continue
        for key in ("aws", "full"):
            numbers = ", ".join(
                f"{name} {value:.1%}" if isinstance(value, float) else f"{name} {value}"
                for name, value in summarize(chosen, key).items()
            )
            print(f"{split:7} {key:5} {numbers}")
    by_rule = defaultdict(Counter)
    for each in results:
        for name in each["full"]:
            by_rule[name]["sound" if not each["family"] else "faulty"] += 1
    for name, counts in sorted(by_rule.items()):
        print(f"  {name:24} fires on {counts['faulty']} faulty and {counts['sound']} sound runs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--split", choices=("tuning", "test", "unseen"))
    parser.add_argument("--only", default="", help="runs whose name has this text")
    parser.add_argument("--json", help="file for the results")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    limit_threads()
    results = []
    for run in RUNS:
        if arguments.split in (None, run.split) and arguments.only in run.name:
            result = measure(run)
            results.append(result)
            found = ", ".join(f"{name} {share:.0%}" for name, share in result["full"].items()) or "nothing"
            right = "" if not run.family else "+" if FAMILIES[run.family] & set(result["full"]) else "-"
            print(f"{right or ' '} [{run.split}] {run.name} ({run.family or 'sound'}): {found}", flush=True)
            for errors in (result["aws_errors"], result["full_errors"]):
                for name, details in errors.items():
                    print(f"    ERROR {name}: {details}")
    show(results)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
