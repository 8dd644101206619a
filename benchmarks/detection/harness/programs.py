"""Measure what the rules find in real buggy programs, and what they say of the same programs with their published fix.

    python benchmarks/detection/harness/programs.py [--python PYTHON] [--only NAME ...] [--framework NAME] [--jobs N]
        [--every N] [--blind | --sound] [--json FILE] [--keep FOLDER]

Each program is run twice under ``sagemaker-debug run``, as published and with ``--fixed``, and everything is saved at
each step, or at every so many. ``sagemaker-debug rules run --recommended`` evaluates both trials. With ``--sound``, it
is the programs of ``suites/sound_programs/`` instead, each once. With ``--json``, results are added to the file as they
come, and programs that it holds already are not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import attrs

from suites.real_programs.plan import FRAMEWORKS, KNOWING, PAIRS, PROGRAMS, Pair
from suites.sound_programs import SOUND_PROGRAMS

VARIANTS = ("buggy", "fixed")
COLUMNS = (
    "found",
    "found by a rule silent on the fix",
    "best cause first",
    "right cause first",
    "right cause among three",
    "fix with an alarm",
    "trouble",
)
SAVE_EVERYTHING = {"save_interval": "1", "save_all": "true"}
ENVIRONMENT = {
    "CUDA_VISIBLE_DEVICES": "",
    "OMP_NUM_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_NUM_INTRAOP_THREADS": "1",
}


@attrs.frozen
class Run:
    """A program to run, in one of its variants."""

    name: str
    variant: str
    script: tuple[str, ...]

    @classmethod
    def of_pair(cls, pair: Pair, variant: str) -> Run:
        """Return a variant of a pair."""
        option = ["--fixed"] if variant == "fixed" else []
        return cls(pair.name, variant, (str(PROGRAMS / f"{pair.name}.py"), *option))


def run_program(run: Run, python: Path, folder: Path, timeout_seconds: float, interval: int = 1) -> dict:
    """Train a program, of which every so many steps are saved, evaluate its trial, and return what was found."""
    tool = str(python.parent / "sagemaker-debug")
    trial = folder / f"{run.name.replace('/', '-')}-{run.variant}"
    configuration = folder / f"{trial.name}.json"
    parameters = {**SAVE_EVERYTHING, "save_interval": str(interval)}
    configuration.write_text(json.dumps({"LocalPath": str(trial), "HookParameters": parameters}), encoding="utf-8")
    environment = {**os.environ, **ENVIRONMENT, "SMDEBUG_CONFIG_FILE_PATH": str(configuration)}
    result = {"name": run.name, "variant": run.variant, "rules": [], "causes": [], "errors": {}, "trouble": ""}
    began = time.perf_counter()
    try:
        trained = _run([tool, "run", *run.script], environment, timeout_seconds)
        result["run_seconds"] = time.perf_counter() - began
        result["score"] = (re.findall(r"^RESULT (.*)", trained.stdout, re.MULTILINE) or [""])[-1]
        if trained.returncode:
            result["trouble"] = trained.stderr[-500:]
        if not trial.exists():
            result["trouble"] = f"nothing was captured. {result['trouble']}"
            return result
        began = time.perf_counter()
        evaluated = _run([tool, "rules", "run", str(trial), "--recommended", "--json"], environment, timeout_seconds)
        result["evaluation_seconds"] = time.perf_counter() - began
        answer = json.loads(evaluated.stdout)
    except subprocess.TimeoutExpired as error:
        result["trouble"] = str(error)
    except ValueError:
        result["trouble"] = (evaluated.stderr or evaluated.stdout)[-500:]
    else:
        result["rules"] = [rule["rule"] for rule in answer["rules"] if rule["num_issues"]]
        result["causes"] = [cause["name"] for cause in answer["likely_causes"]]
        result["errors"] = {rule["rule"]: rule["details"] for rule in answer["rules"] if rule["status"] == "Error"}
    return result


def _run(command: list[str], environment: dict[str, str], timeout_seconds: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=timeout_seconds, check=False, cwd=PROGRAMS
    )


def summarize(pairs: list[Pair], results: list[dict]) -> dict[str, tuple[int, int]]:
    """Return the counts of a table row, each as (number, out of), for pairs of which both variants were run."""
    by_run = {(result["name"], result["variant"]): result for result in results}
    counts = dict.fromkeys(COLUMNS, 0)
    complete = [pair for pair in pairs if all((pair.name, variant) in by_run for variant in VARIANTS)]
    for pair in complete:
        buggy, fixed = (by_run[pair.name, variant] for variant in VARIANTS)
        counts["found"] += bool(buggy["rules"])
        counts["found by a rule silent on the fix"] += not set(buggy["rules"]) <= set(fixed["rules"])
        counts["best cause first"] += buggy["causes"][:1] == [pair.causes[0]]
        counts["right cause first"] += not set(buggy["causes"][:1]).isdisjoint(pair.causes)
        counts["right cause among three"] += not set(buggy["causes"][:3]).isdisjoint(pair.causes)
        counts["fix with an alarm"] += bool(fixed["rules"])
        counts["trouble"] += bool(buggy["trouble"] or fixed["trouble"])
    return {column: (count, len(complete)) for column, count in counts.items()}


def table(pairs: list[Pair], results: list[dict]) -> str:
    """Return a Markdown table with a row for all pairs, each framework, and each cause."""
    groups = {"all": pairs}
    for pair in pairs:
        groups.setdefault(pair.framework, []).append(pair)
    for pair in pairs:
        groups.setdefault(pair.causes[0], []).append(pair)
    lines = [f"| pairs | {' | '.join(COLUMNS)} |", "|---" * (len(COLUMNS) + 1) + "|"]
    for name, chosen in groups.items():
        counts = summarize(chosen, results).values()
        cells = (f"{number} of {of} ({number / of:.0%})" if of else "-" for number, of in counts)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _print_result(result: dict) -> None:
    causes = " > ".join(result["causes"][:3]) or "-"
    rules = " ".join(result["rules"]) or "nothing"
    print(f"{result['name']} {result['variant']} ({result.get('score', '')}): {causes} | {rules}", flush=True)
    for name, details in result["errors"].items():
        print(f"    ERROR {name}: {details}")
    if result["trouble"]:
        print(f"    TROUBLE {result['trouble']}")


def main() -> None:
    """Run the chosen pairs, and print each result and the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="interpreter that has the frameworks")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="run these programs only")
    parser.add_argument("--framework", choices=FRAMEWORKS, help="run one framework only")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="save every N steps (default: 1)")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--blind", action="store_true", help="run those by authors who had seen no rule only")
    kind.add_argument("--sound", action="store_true", help="run the sound programs")
    parser.add_argument("--jobs", type=int, default=2, help="programs that run at a time (default: 2)")
    parser.add_argument("--timeout", type=float, default=300, metavar="SECONDS")
    parser.add_argument("--json", type=Path, metavar="FILE", help="add the results to this file")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the trials in this folder")
    arguments = parser.parse_args()
    pairs = [
        pair
        for pair in PAIRS
        if not (arguments.blind and pair in KNOWING)
        and pair.name in (arguments.only or [pair.name])
        and pair.framework == (arguments.framework or pair.framework)
    ]
    results = []
    if arguments.json and arguments.json.exists():
        results = json.loads(arguments.json.read_text(encoding="utf-8"))
    known = {(result["name"], result["variant"]) for result in results}
    if arguments.sound:
        runs = [
            Run(f"{framework}/{script.stem}", "sound", (str(script),))
            for framework, scripts in SOUND_PROGRAMS.items()
            for script in scripts
            if framework == (arguments.framework or framework) and script.stem in (arguments.only or [script.stem])
        ]
    else:
        runs = [Run.of_pair(pair, variant) for pair in pairs for variant in VARIANTS]
    runs = [run for run in runs if (run.name, run.variant) not in known]

    def measure(run: Run) -> None:
        with tempfile.TemporaryDirectory() as temporary:
            folder = arguments.keep or Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            result = run_program(run, arguments.python, folder, arguments.timeout, arguments.every)
        results.append(result)
        _print_result(result)
        if arguments.json:
            arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")

    with ThreadPoolExecutor(arguments.jobs) as executor:
        list(executor.map(measure, runs))
    if arguments.sound:
        print(f"{sum(bool(result['rules']) for result in results)} of {len(results)} sound programs have an alarm")
    else:
        print(table(pairs, results))


if __name__ == "__main__":
    main()
