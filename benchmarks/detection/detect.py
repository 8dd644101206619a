"""Detection benchmark: which faults are found, how soon, with what named as the cause, and what fires on sound runs.

python benchmarks/detection/detect.py [--split held-out] [--json results.json] [--only TEXT] [--keep FOLDER]
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import logging
import sys
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from drawn import DRAWN
from fifth_author import FIFTH_AUTHOR
from fourth_author import FOURTH_AUTHOR
from held_out import HELD_OUT
from jobs import limit_threads
from registry import Run
from runs import DEVELOPMENT
from second_author import SECOND_AUTHOR
from third_author import THIRD_AUTHOR

from sagemaker_debug_ext.catalog import list_rule_specs
from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.rules.causes import likely_causes
from sagemaker_debug_ext.rules.recommended import recommended_rules
from sagemaker_debug_ext.trials import create_trial

NEEDS_CHOICE = {"AllZero", "TensorVariance", "UnchangedTensor", "SimilarAcrossRuns"}
"""Rules of SageMaker that say nothing unless they are told what to look at."""


SPLITS = {
    "development": DEVELOPMENT.runs,
    "held-out": HELD_OUT.runs,
    "drawn": DRAWN.runs,
    "second author": SECOND_AUTHOR.runs,
    "third author": THIRD_AUTHOR.runs,
    "fourth author": FOURTH_AUTHOR.runs,
    "fifth author": FIFTH_AUTHOR.runs,
}
"""Lists of runs by who wrote them down, and when."""


def aws_rules(trial):
    """Return SageMaker's rules at their defaults, as far as they have a default choice of tensors."""
    names = [spec.name for spec in list_rule_specs("debugger") if spec.function and spec.name not in NEEDS_CHOICE]
    return {name: create_rule(name, trial) for name in names}


def judge(trial, rules):
    """Return for each rule that fires the share of the run after which it did, the causes, and the errors."""
    evaluation = evaluate(rules, trial, stop_rule_on_first_issue=True)
    steps = trial.steps()
    issues = list(evaluation)
    found = {issue.rule: (steps.index(issue.step) + 1) / len(steps) for issue in issues}
    errors = {status.name: status.details for status in evaluation.statuses if status.status == "Error"}
    return found, [each.name for each in likely_causes(issues)], errors


@contextlib.contextmanager
def made(run: Run, kept: Path | None) -> Iterator[str]:
    """Give the folder of a run's trial, made now unless it is kept from an earlier time."""
    if kept is None:
        with tempfile.TemporaryDirectory() as folder:
            run.make_trial(folder)
            yield folder
        return
    folder = kept / hashlib.sha256(f"{run.split} {run.name}".encode()).hexdigest()[:16]
    if not (folder / "made").exists():
        run.make_trial(str(folder / "trial"))
        (folder / "made").touch()
    yield str(folder / "trial")


def measure(run: Run, split: str, kept: Path | None) -> dict:
    """Run a job, and judge it by both sets."""
    began = time.perf_counter()
    with made(run, kept) as folder:
        trial = create_trial(folder)
        result = {"name": run.name, "cause": run.cause, "split": split, "job_seconds": time.perf_counter() - began}
        for key, make_rules in (("aws", aws_rules), ("full", recommended_rules)):
            began = time.perf_counter()
            result[key], result[f"{key}_causes"], result[f"{key}_errors"] = judge(trial, make_rules(trial))
            result[f"{key}_seconds"] = time.perf_counter() - began
    return result


def summarize(results: list[dict], key: str) -> dict:
    """Return recall, right causes, sound runs that something fired on, and the median share of the run."""
    faults = [each for each in results if each["cause"]]
    healthy = [each for each in results if not each["cause"]]
    detected = [each for each in faults if each[key]]
    named = [each for each in detected if each["cause"] in each[f"{key}_causes"]]
    first = [each for each in named if each["cause"] == each[f"{key}_causes"][0]]
    shares = sorted(min(each[key].values()) for each in detected)
    return {
        "faults": len(faults),
        "recall": len(detected) / len(faults) if faults else None,
        "right_cause_first": len(first) / len(faults) if faults else None,
        "right_cause_named": len(named) / len(faults) if faults else None,
        "sound_runs": len(healthy),
        "false_positive_runs": sum(bool(each[key]) for each in healthy) / len(healthy) if healthy else None,
        "median_share_of_run": shares[len(shares) // 2] if shares else None,
        "errors": sum(bool(each[f"{key}_errors"]) for each in results),
    }


def show(results: list[dict]) -> None:
    """Print the table of splits, the causes of what was missed or named wrongly, and how often each rule fired."""
    for split in (*SPLITS, "all"):
        chosen = [each for each in results if split in (each["split"], "all")]
        if not chosen:
            continue
        for key in ("aws", "full"):
            numbers = ", ".join(
                f"{name} {value:.1%}" if isinstance(value, float) else f"{name} {value}"
                for name, value in summarize(chosen, key).items()
            )
            print(f"{split:11} {key:5} {numbers}")
    by_cause: dict[str, Counter[str]] = defaultdict(Counter)
    for each in results:
        if each["cause"]:
            causes = each["full_causes"]
            by_cause[each["cause"]][
                "missed" if not each["full"] else "right" if causes[:1] == [each["cause"]] else "other cause first"
            ] += 1
    for cause, counts in sorted(by_cause.items()):
        print(f"  {cause:24} {', '.join(f'{name} {number}' for name, number in sorted(counts.items()))}")
    by_rule = defaultdict(Counter)
    for each in results:
        for name in each["full"]:
            by_rule[name]["sound" if not each["cause"] else "faulty"] += 1
    for name, counts in sorted(by_rule.items()):
        print(f"  {name:24} fires on {counts['faulty']} faulty and {counts['sound']} sound runs")


def _mark(result: dict) -> str:
    if not result["cause"]:
        return "!" if result["full"] else " "
    if not result["full"]:
        return "-"
    return "+" if result["full_causes"][:1] == [result["cause"]] else "~"


def main() -> None:
    """Judge the runs that were asked for, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--split", choices=SPLITS)
    parser.add_argument("--only", default="", help="runs whose name has this text")
    parser.add_argument("--json", help="file for the results")
    parser.add_argument("--keep", type=Path, help="folder that trials are kept in, and taken from if they are there")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    warnings.filterwarnings("ignore", "Using a target size")  # one of the faults
    limit_threads()
    results = []
    for split, run in ((split, run) for split, runs in SPLITS.items() for run in runs):
        if arguments.split not in (None, split):
            continue
        if arguments.only not in run.name:
            continue
        result = measure(run, split, arguments.keep)
        results.append(result)
        found = ", ".join(f"{name} {share:.0%}" for name, share in result["full"].items()) or "nothing"
        causes = " > ".join(result["full_causes"])
        print(f"{_mark(result)} [{split}] {run.name} ({run.cause or 'sound'}): {found} | {causes}", flush=True)
        for errors in (result["aws_errors"], result["full_errors"]):
            for name, details in errors.items():
                print(f"    ERROR {name}: {details}")
    show(results)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
