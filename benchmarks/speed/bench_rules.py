"""Evaluate rules: each figure with its target, and whether it is met.

    python benchmarks/speed/bench_rules.py [--original PYTHON] [--ray PYTHON] [--json results.json]

- A trivial custom rule over 1,000 steps of 50 tensors of 8 numbers, which takes the mean of each required tensor. With
  ``--original``, an interpreter with smdebug 1.0.34, it runs there as well, over the same files, in turn, five times a
  process. Rates are per processor second, which other programs on the machine disturb least.
- All of SageMaker's rules at once, compared with reading once every tensor that they need, for three sizes of tensors;
  also compared with reading and summing each tensor.
- Seconds from the moment a step is visible to its evaluation by all these rules, while another process writes.
- With ``--ray``, an interpreter with Ray, the same rules over a trial of more than 1 GB by one worker and by two; also
  the gain of two processes that only read and sum over one.

Figures are medians of repeats. Takes about four minutes.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
import unittest.mock
from pathlib import Path

HERE = Path(__file__).parent

STEPS, TENSORS, LIVE_STEPS = 1000, 50, 200

CHILD = """
import json, logging, os, statistics, sys, time
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

clock = time.process_time if end == 1000 else time.perf_counter
rates = []
for _ in range(5):
    trial = create_trial(folder)
    rule = Trivial(trial)
    began = clock()
    try:
        invoke_rule(rule, 0, end)
    except Exception as error:
        if type(error).__name__ != "NoMoreData":
            raise
    rates.append(end / (clock() - began))
    assert rule.seen == end, rule.seen
print(json.dumps(statistics.median(rates)))
"""

WRITER = """
import random, sys, time
import numpy as np
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.vocabulary import ModeKeys
rng = np.random.default_rng(0)
random.seed(0)
trial = SmallTrial(sys.argv[1])
for step in range(int(sys.argv[2])):
    tensors = {f"{prefix}net_weight{n}": rng.normal(size=(128, 128)).astype(np.float32)
               for prefix in ("", "gradient/") for n in range(4)}
    tensors["loss"] = np.float32(1 / (step + 1))
    trial.write(ModeKeys.TRAIN, step, tensors)
    time.sleep(random.uniform(0.01, 0.08))
trial.end()
"""

RAY = """
import json, logging, statistics, sys, time
import ray
from sagemaker_debug_ext.rules.scaling import RayCluster, RuleChoice, evaluate_on
folder, num_workers, given = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
logging.disable(logging.WARNING)
ray.init(num_cpus=num_workers, include_dashboard=False, log_to_driver=False)
rules = {name: RuleChoice(rule=name, parameters=parameters or {}) for name, parameters in given.items()}
def wait(seconds):
    time.sleep(seconds)
RayCluster().map(wait, [1] * num_workers)  # start all workers
for _ in range(2):  # import everything
    evaluate_on(RayCluster(), rules, sys.argv[4], num_shards=8)
seconds = []
for _ in range(5):
    began = time.perf_counter()
    found = evaluate_on(RayCluster(), rules, folder, num_shards=8)
    seconds.append(time.perf_counter() - began)
    assert all(status.status != "Error" for status in found.statuses), found.statuses
print(json.dumps(statistics.median(seconds)))
"""

PARAMETERS = {
    "AllZero": {"collection_names": "weights"},
    "TensorVariance": {"collection_names": "weights", "max_threshold": 9},
    "UnchangedTensor": {"collection_names": "losses"},
}
"""Parameters of the rules that need some."""

SIZES = {
    "small": (1000, (2, 4), (2, 4)),
    "middle": (60, (256, 256), (64, 512)),
    "large": (25, (1024, 1024), (64, 4096)),
}
"""Number of steps, shape of weights, shape of layer outputs."""


def write(folder: str, *, ended: bool) -> None:
    """Write the trial of the trivial rule."""
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


def write_network(folder: str, num_steps: int, weights: tuple[int, ...], outputs: tuple[int, ...]) -> None:
    """Write a trial of a network with four layers, with tensors for most rules."""
    import numpy as np

    from sagemaker_debug_ext.testing.trials import SmallTrial
    from sagemaker_debug_ext.vocabulary import ModeKeys

    rng = np.random.default_rng(0)
    shapes = {"net_weight{}": weights, "gradient/net_weight{}": weights, "act{}_relu_output": outputs,
              "act{}_relu_input": outputs, "act{}_tanh_input": outputs}  # fmt: skip
    trial = SmallTrial(folder)
    for step in range(num_steps):
        tensors = {
            name.format(layer): rng.standard_normal(size=shape, dtype=np.float32)
            for name, shape in shapes.items()
            for layer in range(4)
        }
        tensors["loss"] = np.float32(1 / (step + 1))
        tensors["labels"] = rng.integers(0, 4, 64)
        tensors["predictions"] = tensors["labels"]
        trial.write(ModeKeys.TRAIN, step, tensors)
    trial.end()


def run_child(python: str, code: str, *arguments: object) -> float:
    command = [python, "-c", code, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}  # other interpreters may not have installed it
    output = subprocess.run(command, check=True, capture_output=True, text=True, cwd="/", env=environment).stdout
    return float(json.loads(output.splitlines()[-1]))


def steps_a_second(original: str | None, folder: str, count: int, end: int, repeat: int) -> tuple[float, float | None]:
    """Return the rates of the trivial rule by this package and by the original, measured in turn."""
    ours, theirs = [], []
    for _ in range(repeat):
        ours.append(run_child(sys.executable, CHILD, "sagemaker_debug_ext", folder, count, end))
        if original:
            theirs.append(run_child(original, CHILD, "smdebug", folder, count, end))
    return statistics.median(ours), statistics.median(theirs) if theirs else None


def rule_names() -> list[str]:
    """Return SageMaker's rules without the one that needs a second trial."""
    from sagemaker_debug_ext.catalog import list_rule_specs

    specs = list_rule_specs("debugger")
    return [spec.name for spec in specs if spec.function and spec.name != "SimilarAcrossRuns"]


def all_rules(folder: str, repeat: int) -> dict[str, float]:
    """Time all rules at once, and reading once every tensor that they need."""
    import numpy as np

    from sagemaker_debug_ext.rules import create_rule, evaluate
    from sagemaker_debug_ext.trials import create_trial

    def read(sums: bool) -> None:
        trial = create_trial(folder)
        began.append(time.perf_counter())
        for step in trial.steps():
            for name in trial.tensor_names(step=step):
                value = trial.tensor(name).value(step)
                if sums:
                    np.add.reduce(value, axis=None)

    def read_together() -> None:
        trial = create_trial(folder)
        began.append(time.perf_counter())
        for name in trial.tensor_names():
            trial.tensor(name).values()

    def evaluate_all() -> None:
        trial = create_trial(folder)
        rules = [create_rule(name, trial, PARAMETERS.get(name)) for name in rule_names()]
        began.append(time.perf_counter())
        evaluate(rules, trial).run()

    began: list[float] = []
    kinds = {
        "reading": lambda: read(False), "reading and summing": lambda: read(True),
        "reading many steps at once": read_together, "evaluating": evaluate_all,
    }  # fmt: skip
    seconds: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(repeat):
        for kind, work in kinds.items():
            work()
            seconds[kind].append(time.perf_counter() - began.pop())
    return {kind: statistics.median(found) for kind, found in seconds.items()}


def evaluation_delays(folder: str, num_steps: int) -> list[float]:
    """Return the seconds from each step becoming visible to its evaluation by all rules, in ascending order."""
    from sagemaker_debug_ext.rules import Rule, create_rule, evaluate
    from sagemaker_debug_ext.store.format.keys import index_key
    from sagemaker_debug_ext.trials import create_trial

    delays: list[float] = []
    began = 0.0

    class Last(Rule):
        def invoke_at_step(self, step):
            visible_at = os.stat(os.path.join(folder, index_key(step, "worker_0"))).st_mtime
            if visible_at > began:  # earlier steps waited for the evaluation to start
                delays.append(time.time() - visible_at)
            return False

    process = subprocess.Popen([sys.executable, "-c", WRITER, folder, str(num_steps)])
    try:
        trial = create_trial(folder, wait_seconds=60)
        rules = [create_rule(name, trial, PARAMETERS.get(name)) for name in rule_names()]
        evaluation = evaluate([*rules, Last(trial)], trial)
        began = time.time()
        evaluation.run()
    finally:
        process.wait()
    return sorted(delays)


def read_and_sum(files: list[str]) -> None:
    """Read files and sum their squares in cache-sized chunks, which is the least that rules can do."""
    import numpy as np

    np.seterr(all="ignore")  # some bytes are not numbers
    buffer = np.empty(2**20, np.float32)
    for file in files:
        with open(file, "rb", buffering=0) as stream:
            while size := stream.readinto(buffer.data.cast("B")):
                chunk = buffer[: size // 4]
                np.dot(chunk, chunk)


def gain_of_two_processes(folder: str, repeat: int) -> float:
    """Return the speed-up of two reading and summing processes over one, the bound for two workers."""
    files = [str(file) for file in Path(folder, "events").rglob("*.tfevents")]
    shares = {1: [files], 2: [files[::2], files[1::2]]}
    seconds: dict[int, list[float]] = {1: [], 2: []}
    with (
        unittest.mock.patch.dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1"),
        multiprocessing.get_context("spawn").Pool(2) as pool,
    ):
        for _ in range(repeat + 1):
            for number, found in seconds.items():
                began = time.perf_counter()
                pool.map(read_and_sum, shares[number], chunksize=1)
                found.append(time.perf_counter() - began)
    one, two = (statistics.median(found[1:]) for found in seconds.values())  # the first one starts the processes
    return one / two


class Table:
    """Prints and keeps rows."""

    def __init__(self) -> None:
        self.rows: list[dict[str, object]] = []

    def add(self, work: str, measured: str, value: float | None, target: float, at_most: bool) -> None:
        is_met = None if value is None else value <= target if at_most else value >= target
        verdict = {None: "not measured", True: "met", False: "MISSED"}[is_met]
        limit = f"{'at most' if at_most else 'at least'} {target:g}"
        figure = "-" if value is None else f"{value:.3g}"
        self.rows.append({"work": work, "measured": measured, "value": value, "target": limit, "met": is_met})
        print(f"{work:58} {figure:>8}  target {limit:13} {verdict:12} {measured}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--original", metavar="PYTHON", help="interpreter with smdebug 1.0.34")
    parser.add_argument("--ray", metavar="PYTHON", help="interpreter with Ray and the requirements of this package")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", metavar="FILE", help="write the results to this file")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    table = Table()
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("ended", "live"):
            write(os.path.join(folder, kind), ended=kind == "ended")
        for kind, count, end, target in (("ended", 1, STEPS, 5), ("ended", 10, STEPS, 8), ("live", 1, LIVE_STEPS, 20)):
            path = os.path.join(folder, kind)
            ours, theirs = steps_a_second(arguments.original, path, count, end, arguments.repeat)
            figures = f"{ours:,.0f} steps/s" + (f" against {theirs:,.0f}" if theirs else "")
            name = f"custom rule, {kind} trial, {count} tensors a step: ratio"
            table.add(name, figures, ours / theirs if theirs else None, target, at_most=False)
        for size, shape in SIZES.items():
            path = os.path.join(folder, size)
            write_network(path, *shape)
            found = all_rules(path, arguments.repeat)
            figures = ", ".join(f"{kind} {seconds * 1000:.1f} ms" for kind, seconds in found.items())
            table.add(
                f"all rules at once, {size} tensors: time / reading", figures,
                found["evaluating"] / found["reading"], 1.5, at_most=True,
            )  # fmt: skip
        delays = evaluation_delays(os.path.join(folder, "delays"), 200)
        figures = f"median {statistics.median(delays) * 1000:.0f} ms, of {len(delays)} steps"
        table.add(
            "step visible to evaluated, p99 in ms", figures, delays[int(len(delays) * 0.99)] * 1000, 300, at_most=True
        )
        ratio, figures = None, "needs --ray"
        if arguments.ray:
            path, small = os.path.join(folder, "large"), os.path.join(folder, "middle")
            given = json.dumps({name: PARAMETERS.get(name) for name in rule_names()})
            seconds = {1: [], 2: []}
            for _ in range(arguments.repeat):
                for num_workers, found in seconds.items():
                    found.append(run_child(arguments.ray, RAY, path, num_workers, given, small))
            one, two = (statistics.median(found) for found in seconds.values())
            num_bytes = sum(file.stat().st_size for file in Path(path, "events").rglob("*.tfevents"))
            bare = gain_of_two_processes(path, arguments.repeat)
            ratio = one / two
            figures = f"{one:.2f} s and {two:.2f} s over {num_bytes / 1e9:.2f} GB; reading and summing alone {bare:.2f}"
        table.add("two Ray workers against one: ratio", figures, ratio, 1.6, at_most=False)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(table.rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
