"""Measure which faults the rules detect, how soon, and how often they fire on sound runs.

    python benchmarks/detection/harness/detect.py [--suite NAME] [--only TEXT] [--json FILE] [--keep FOLDER]

Each run of the chosen suites is trained and evaluated by two sets of rules: SageMaker's rules at their defaults
(``aws``), and `recommended_rules` (``full``).
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

sys.path.insert(0, str(Path(__file__).parents[1]))

from harness.jobs import limit_threads
from harness.registry import Run
from sagemaker_debug_ext.catalog import list_rule_specs
from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.rules.causes import likely_causes
from sagemaker_debug_ext.rules.recommended import recommended_rules
from sagemaker_debug_ext.trials import create_trial
from suites.development import DEVELOPMENT
from suites.everyday_faults import EVERYDAY_FAULTS
from suites.everyday_faults_blind import EVERYDAY_FAULTS_BLIND
from suites.practitioner_faults import PRACTITIONER_FAULTS
from suites.published_fault_operators import PUBLISHED_FAULT_OPERATORS
from suites.random_draws import RANDOM_DRAWS
from suites.sound_jobs import SOUND_JOBS

WITHOUT_DEFAULT_TENSORS = {"AllZero", "TensorVariance", "UnchangedTensor", "SimilarAcrossRuns"}
"""SageMaker's rules that check nothing until the user chooses tensors."""

SUITES = {
    "development": DEVELOPMENT.runs,
    "published_fault_operators": PUBLISHED_FAULT_OPERATORS.runs,
    "random_draws": RANDOM_DRAWS.runs,
    "practitioner_faults": PRACTITIONER_FAULTS.runs,
    "everyday_faults": EVERYDAY_FAULTS.runs,
    "sound_jobs": SOUND_JOBS.runs,
    "everyday_faults_blind": EVERYDAY_FAULTS_BLIND.runs,
}
"""Runs by suite, from the first that was written to the last."""


def aws_rules(trial):
    """Return SageMaker's rules at their defaults, without those that have no default choice of tensors."""
    specs = list_rule_specs("debugger")
    names = [spec.name for spec in specs if spec.function and spec.name not in WITHOUT_DEFAULT_TENSORS]
    return {name: create_rule(name, trial) for name in names}


def evaluate_rules(trial, rules):
    """Return the rules that fired, the likely causes, and the errors of rules.

    Rules that fired are mapped to the share of the run after which they did.
    """
    evaluation = evaluate(rules, trial, stop_rule_on_first_issue=True)
    steps = trial.steps()
    issues = list(evaluation)
    fired = {issue.rule: (steps.index(issue.step) + 1) / len(steps) for issue in issues}
    errors = {status.name: status.details for status in evaluation.statuses if status.status == "Error"}
    return fired, [cause.name for cause in likely_causes(issues)], errors


@contextlib.contextmanager
def trial_folder(run: Run, kept: Path | None) -> Iterator[str]:
    """Yield the folder of a run's trial. With `kept`, a trial is trained once and reused afterwards."""
    if kept is None:
        with tempfile.TemporaryDirectory() as folder:
            run.make_trial(folder)
            yield folder
        return
    folder = kept / hashlib.sha256(f"{run.suite} {run.name}".encode()).hexdigest()[:16]
    if not (folder / "made").exists():
        run.make_trial(str(folder / "trial"))
        (folder / "made").touch()
    yield str(folder / "trial")


def measure(run: Run, kept: Path | None) -> dict:
    """Train a run and evaluate both sets of rules."""
    began = time.perf_counter()
    with trial_folder(run, kept) as folder:
        trial = create_trial(folder)
        result = {"name": run.name, "cause": run.cause, "suite": run.suite, "job_seconds": time.perf_counter() - began}
        for key, make_rules in (("aws", aws_rules), ("full", recommended_rules)):
            began = time.perf_counter()
            result[key], result[f"{key}_causes"], result[f"{key}_errors"] = evaluate_rules(trial, make_rules(trial))
            result[f"{key}_seconds"] = time.perf_counter() - began
    return result


def summarize(results: list[dict], key: str) -> dict:
    """Return recall, share of right causes, share of sound runs with an alarm, and median share of the run."""
    faults = [result for result in results if result["cause"]]
    sound = [result for result in results if not result["cause"]]
    detected = [result for result in faults if result[key]]
    named = [result for result in detected if result["cause"] in result[f"{key}_causes"]]
    first = [result for result in named if result["cause"] == result[f"{key}_causes"][0]]
    shares = sorted(min(result[key].values()) for result in detected)
    return {
        "faults": len(faults),
        "recall": len(detected) / len(faults) if faults else None,
        "right_cause_first": len(first) / len(faults) if faults else None,
        "right_cause_named": len(named) / len(faults) if faults else None,
        "sound_runs": len(sound),
        "false_positive_runs": sum(bool(result[key]) for result in sound) / len(sound) if sound else None,
        "median_share_of_run": shares[len(shares) // 2] if shares else None,
        "errors": sum(bool(result[f"{key}_errors"]) for result in results),
    }


def print_summary(results: list[dict]) -> None:
    """Print a line for each suite and set of rules, then counts by cause and by rule."""
    for suite in (*SUITES, "all"):
        chosen = [result for result in results if suite in (result["suite"], "all")]
        if not chosen:
            continue
        for key in ("aws", "full"):
            numbers = ", ".join(
                f"{name} {value:.1%}" if isinstance(value, float) else f"{name} {value}"
                for name, value in summarize(chosen, key).items()
            )
            print(f"{suite:25} {key:5} {numbers}")
    by_cause: dict[str, Counter[str]] = defaultdict(Counter)
    by_rule: dict[str, Counter[str]] = defaultdict(Counter)
    for result in results:
        if result["cause"]:
            by_cause[result["cause"]][_outcome(result)] += 1
        for name in result["full"]:
            by_rule[name]["faulty" if result["cause"] else "sound"] += 1
    for cause, counts in sorted(by_cause.items()):
        print(f"  {cause:24} {', '.join(f'{name} {number}' for name, number in sorted(counts.items()))}")
    for name, counts in sorted(by_rule.items()):
        print(f"  {name:24} fires on {counts['faulty']} faulty and {counts['sound']} sound runs")


def _outcome(result: dict) -> str:
    if not result["full"]:
        return "missed"
    return "right" if result["full_causes"][:1] == [result["cause"]] else "other cause first"


def _mark(result: dict) -> str:
    if not result["cause"]:
        return "!" if result["full"] else " "
    return {"missed": "-", "right": "+", "other cause first": "~"}[_outcome(result)]


def _print_result(result: dict) -> None:
    fired = ", ".join(f"{name} {share:.0%}" for name, share in result["full"].items()) or "nothing"
    causes = " > ".join(result["full_causes"])
    title = f"[{result['suite']}] {result['name']} ({result['cause'] or 'sound'})"
    print(f"{_mark(result)} {title}: {fired} | {causes}", flush=True)
    for errors in (result["aws_errors"], result["full_errors"]):
        for name, details in errors.items():
            print(f"    ERROR {name}: {details}")


def main() -> None:
    """Measure the chosen runs and print the results.

    Marks: ``+`` right cause first, ``~`` other cause first, ``-`` missed, ``!`` alarm on a sound run.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", choices=SUITES, help="run one suite only")
    parser.add_argument("--only", default="", metavar="TEXT", help="run only the runs whose name contains this text")
    parser.add_argument("--json", metavar="FILE", help="write the results to this file")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the trials in this folder, and reuse them")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    warnings.filterwarnings("ignore", "Using a target size")  # one of the faults
    limit_threads()
    results = []
    for suite, runs in SUITES.items():
        for run in runs:
            if arguments.suite in (None, suite) and arguments.only in run.name:
                result = measure(run, arguments.keep)
                results.append(result)
                _print_result(result)
    print_summary(results)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
