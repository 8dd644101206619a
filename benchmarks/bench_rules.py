"""Speed of rules: steps a second of a trivial custom rule, and all built-in rules over one trial.

    python benchmarks/bench_rules.py [--original PYTHON] [--json results.json]

The trial has 1,000 steps of 50 tensors of 8 numbers; the rule takes the mean of each tensor that it requires. With
``--original``, an interpreter that has smdebug 1.0.34, the same is measured there over the same files. Medians of
repeats, each in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEPS, TENSORS, LIVE_STEPS = 1000, 50, 200

CHILD = """
import json, logging, os, sys, time
os.environ["SMDEBUG_LOG_LEVEL"] = "off"
os.environ["SMDEBUG_TRAINING_END_DELAY_REFRESH"] = "0"
package, folder, count, end = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
import importlib
logging.disable(logging.ERROR)
create_trial = importlib.import_module(package + ".trials").create_trial
rules = importlib.import_module(package + ".rules")
Rule, invoke_rule = rules.Rule, rules.invoke_rule
NAMES = [f"tensor_{n:02}" for n in range(count)]

class Trivial(Rule):
    def __init__(self, base_trial):
        super().__init__(base_trial, action_str="")
        self.seen = 0
    def set_required_tensors(self, step):
        for name in NAMES:
            self.req_tensors.add(name, [step])
    def invoke_at_step(self, step):
        self.seen += 1
        return any(float(tensor.value(step).mean()) > 1e9 for tensor in self.req_tensors.get())

trial = create_trial(folder)
rule = Trivial(trial)
began = time.perf_counter()
try:
    invoke_rule(rule, 0, end)
except Exception as error:
    if type(error).__name__ != "NoMoreData":
        raise
seconds = time.perf_counter() - began
assert rule.seen == end, rule.seen
print(json.dumps(end / seconds))
"""


def write(folder: str, *, ended: bool) -> None:
    import numpy as np

    from sagemaker_debug_ext.testing.trials import SmallTrial
    from sagemaker_debug_ext.vocabulary import ModeKeys

    rng = np.random.default_rng(0)
    trial = SmallTrial(folder)
    for step in range(STEPS):
        values = rng.random((TENSORS, 8)).astype(np.float32)
        trial.write(ModeKeys.TRAIN, step, {f"tensor_{n:02}": value for n, value in enumerate(values)})
    if ended:
        trial.end()


def steps_a_second(python: str, package: str, folder: str, count: int, end: int, repeat: int) -> float:
    rates = []
    for _ in range(repeat):
        command = [python, "-c", CHILD, package, folder, str(count), str(end)]
        output = subprocess.run(command, check=True, capture_output=True, text=True, cwd="/").stdout
        rates.append(json.loads(output.splitlines()[-1]))
    return statistics.median(rates)


def all_rules(folder: str, repeat: int) -> dict[str, float]:
    """Compare all built-in rules at once with reading every tensor that any of them needs once."""
    import numpy as np

    from sagemaker_debug_ext.catalog import list_rule_specs
    from sagemaker_debug_ext.rules import create_rule, evaluate
    from sagemaker_debug_ext.testing.trials import write_trial
    from sagemaker_debug_ext.trials import create_trial
    from sagemaker_debug_ext.vocabulary import ModeKeys

    rng = np.random.default_rng(0)
    shapes = {"net_weight{}": (256, 256), "gradient/net_weight{}": (256, 256), "act{}_relu_output": (64, 512),
              "act{}_relu_input": (64, 512), "act{}_tanh_input": (64, 512)}  # fmt: skip
    steps = {}
    for step in range(20):
        tensors = {
            name.format(layer): rng.normal(size=shape).astype(np.float32)
            for name, shape in shapes.items()
            for layer in range(4)
        }
        tensors["loss"] = np.float32(1 / (step + 1))
        tensors["labels"] = rng.integers(0, 4, 64)
        tensors["predictions"] = tensors["labels"]
        steps[ModeKeys.TRAIN, step] = tensors
    write_trial(folder, steps)
    given: dict[str, dict[str, object] | None] = {
        "AllZero": {"collection_names": "weights"},
        "TensorVariance": {"collection_names": "weights", "max_threshold": 9},
        "UnchangedTensor": {"collection_names": "losses"},
        "SimilarAcrossRuns": None,  # would read another trial
    }
    names = [
        spec.name for spec in list_rule_specs("debugger") if spec.function and given.get(spec.name, {}) is not None
    ]
    reading, judging = [], []
    for _ in range(repeat):
        trial = create_trial(folder)
        began = time.perf_counter()
        for step in trial.steps():
            for name in trial.tensor_names(step=step):
                trial.tensor(name).value(step)
        reading.append(time.perf_counter() - began)
        trial = create_trial(folder)
        rules = [create_rule(name, trial, given.get(name)) for name in names]
        began = time.perf_counter()
        evaluate(rules, trial).run()
        judging.append(time.perf_counter() - began)
    return {
        "rules": len(names),
        "seconds_reading": statistics.median(reading),
        "seconds_judging": statistics.median(judging),
        "ratio": statistics.median(judging) / statistics.median(reading),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--original", metavar="PYTHON", help="interpreter that has smdebug 1.0.34")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", help="file for the results")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("ended", "live"):
            write(os.path.join(folder, kind), ended=kind == "ended")
        for kind, count, end in (("ended", 1, STEPS), ("ended", 10, STEPS), ("live", 1, LIVE_STEPS)):
            path = os.path.join(folder, kind)
            row = {"ours": steps_a_second(sys.executable, "sagemaker_debug_ext", path, count, end, arguments.repeat)}
            if arguments.original:
                row["original"] = steps_a_second(arguments.original, "smdebug", path, count, end, arguments.repeat)
                row["ratio"] = row["ours"] / row["original"]
            results[f"{kind}, {count} tensors a step"] = row
            print(f"{kind}, {count} tensors a step", row, flush=True)
        results["all rules"] = all_rules(os.path.join(folder, "all"), arguments.repeat)
        print("all rules", results["all rules"])
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
