"""Measure whether training comes out the same to the bit under ``sagemaker-debug run``, with everything saved.

    python benchmarks/detection/harness/identical.py [SCRIPT ...] [--python PYTHON] [--framework NAME] [--fixed]
        [--jobs N] [--json FILE]

Each program runs bare and under ``sagemaker-debug run``, which saves everything at each step, in processes of their own
with one thread and the same seeds. What they leave behind is compared to the bit: all weights, buffers, states of
optimizers and of generators, and the last line ``RESULT``. If these differ, the program runs bare once more, which
tells whether it comes out the same by itself. Without scripts, it is the programs of ``suites/real_programs/``, as
published or with ``--fixed``, and those of ``suites/sound_programs/``. With ``--json``, results are added to the file
as they come, and programs that it holds already are not run again.
"""

from __future__ import annotations

import argparse
import collections
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

from harness.observer.sitecustomize import FOLDER_VARIABLE
from harness.programs import ENVIRONMENT, SAVE_EVERYTHING
from suites.real_programs.plan import FRAMEWORKS, PAIRS, PROGRAMS
from suites.sound_programs import SOUND_PROGRAMS

OBSERVER = Path(__file__).parent / "observer"
IDENTICAL, DIFFERENT, NOT_CAPTURED, FAILED, NOT_REPEATABLE, SLOW = OUTCOMES = (
    "identical",
    "DIFFERENT",
    "nothing captured",
    "fails bare",
    "differs from itself",
    "too slow",
)
DETERMINISTIC = {"PYTHONHASHSEED": "0", "TF_DETERMINISTIC_OPS": "1", "TF_NUM_INTEROP_THREADS": "1"}


@attrs.frozen
class End:
    """What a program has left behind.

    Attributes:
        status: Its exit status.
        result: The last line ``RESULT``.
        state: Kind → name and digest of each value of the kind, in the order in which they were created.
        seconds: Wall time that it took.
    """

    status: int
    result: str
    state: dict[str, list[list[str]]]
    seconds: float = attrs.field(eq=False)
    error: str = attrs.field(eq=False)


def run(command: list[str], environment: dict[str, str], folder: Path, timeout_seconds: float) -> End:
    """Run a program, and return what it has left behind."""
    paths = [str(OBSERVER), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ,
        **ENVIRONMENT,
        **DETERMINISTIC,
        **environment,
        "PYTHONPATH": os.pathsep.join(paths),
        FOLDER_VARIABLE: str(folder),
    }
    began = time.perf_counter()
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder
    ) as process:
        try:
            output, error = process.communicate(timeout=timeout_seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    seconds = time.perf_counter() - began
    saved = folder / f"{process.pid}.json"
    state = json.loads(saved.read_text(encoding="utf-8")) if saved.exists() else {}
    result = (re.findall(r"^RESULT (.*)", output, re.MULTILINE) or [""])[-1]
    return End(process.returncode, result, state, seconds, error[-500:])


def differences(bare: End, captured: End) -> list[str]:
    """Return what differs. Values that only the captured run has are the hook's own."""
    found = [name for name in ("status", "result") if getattr(bare, name) != getattr(captured, name)]
    for kind in sorted({*bare.state, *captured.state}):
        others = iter(captured.state.get(kind, ()))
        missing = [value[0] for value in bare.state.get(kind, ()) if not any(other == value for other in others)]
        if missing:
            found.append(f"{kind} from {missing[0]} on")
    return found


def compare(script: Path, options: list[str], python: str, folder: Path, arguments: argparse.Namespace) -> dict:
    """Run a program bare and captured, and return how they compare."""
    trial, configuration = folder / "trial", folder / "hook.json"
    configuration.write_text(json.dumps({"LocalPath": str(trial), "HookParameters": SAVE_EVERYTHING}), encoding="utf-8")
    program = [str(script), *options]
    result = {"name": script.stem, "options": options, "differences": [], "error": ""}
    try:
        bare = run([python, *program], {}, folder, arguments.slow)
    except subprocess.TimeoutExpired:
        return {**result, "outcome": SLOW}
    result |= {"bare_seconds": bare.seconds, "num_values": {kind: len(values) for kind, values in bare.state.items()}}
    if bare.status:
        return {**result, "outcome": FAILED, "error": bare.error}
    tool = [python, "-m", "sagemaker_debug_ext.cli.main", "run"]
    try:
        captured = run([*tool, *program], {"SMDEBUG_CONFIG_FILE_PATH": str(configuration)}, folder, arguments.timeout)
    except subprocess.TimeoutExpired as error:
        return {**result, "outcome": DIFFERENT, "error": str(error)}
    result |= {"captured_seconds": captured.seconds, "differences": differences(bare, captured)}
    if not result["differences"]:
        return {**result, "outcome": IDENTICAL if trial.exists() else NOT_CAPTURED}
    again = differences(bare, run([python, *program], {}, folder, arguments.timeout))
    if again:
        return {**result, "outcome": NOT_REPEATABLE, "differences": again}
    return {**result, "outcome": DIFFERENT, "error": captured.error}


def main() -> None:
    """Run the chosen programs, and print each result and their counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scripts", nargs="*", type=Path, metavar="SCRIPT", help="run these programs instead")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has the frameworks")
    parser.add_argument("--framework", choices=FRAMEWORKS, help="run one framework only")
    parser.add_argument("--fixed", action="store_true", help="give programs the option --fixed")
    parser.add_argument("--jobs", type=int, default=2, help="programs that run at a time (default: 2)")
    parser.add_argument("--slow", type=float, default=40, metavar="SECONDS", help="leave out what takes longer, bare")
    parser.add_argument("--timeout", type=float, default=400, metavar="SECONDS", help="limit of a captured run")
    parser.add_argument("--json", type=Path, metavar="FILE", help="add the results to this file")
    arguments = parser.parse_args()
    options = ["--fixed"] if arguments.fixed else []
    if arguments.scripts:
        runs = [(script.resolve(), options) for script in arguments.scripts]
    else:
        runs = [
            (PROGRAMS / f"{pair.name}.py", options)
            for pair in PAIRS
            if pair.framework == (arguments.framework or pair.framework)
        ]
        if not arguments.fixed:
            runs += [
                (script, [])
                for framework, scripts in SOUND_PROGRAMS.items()
                for script in scripts
                if framework == (arguments.framework or framework)
            ]
    results = []
    if arguments.json and arguments.json.exists():
        results = json.loads(arguments.json.read_text(encoding="utf-8"))
    known = {(result["name"], *result["options"]) for result in results}

    def measure(script: Path, options: list[str]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            result = compare(script, options, arguments.python, Path(folder), arguments)
        results.append(result)
        print(script.stem, *options, result["outcome"], *result["differences"], result["error"], flush=True)
        if arguments.json:
            arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")

    with ThreadPoolExecutor(arguments.jobs) as executor:
        futures = [
            executor.submit(measure, script, options)
            for script, options in runs
            if (script.stem, *options) not in known
        ]
        for future in futures:
            future.result()
    counts = collections.Counter(result["outcome"] for result in results)
    print(", ".join(f"{outcome}: {counts[outcome]}" for outcome in OUTCOMES if counts[outcome]))


if __name__ == "__main__":
    main()
