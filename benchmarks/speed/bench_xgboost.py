"""Train with XGBoost with and without the hook, for each collection.

    python benchmarks/speed/bench_xgboost.py                                        # this package
    python benchmarks/speed/bench_xgboost.py --original-python PYTHON --repeat 9    # and the original, in turn

Trainings with and without the hook alternate within one process, and include closing the hook. `PYTHON` is an
interpreter with xgboost and smdebug 1.0.34. Figures are medians:

- `alone`: seconds of a training without the hook.
- `ratio`: elapsed seconds with the hook divided by those without.
- `null`: the same for two trainings without a hook, which is the noise of the machine.
- `added`: processor seconds of the hook, in its callbacks and on its own thread, divided by those of a training without
  it. Other processes on the machine hardly change it.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import shutil
import statistics
import sys
import tempfile
import time
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import xgboost as xgb

from measurement import run_child

CONFIGS: dict[str, list[str]] = {
    "default": [],
    "losses": ["losses"],
    "hyperparameters": ["hyperparameters"],
    "predictions, labels": ["predictions", "labels"],
    "feature_importance": ["feature_importance"],
    "trees": ["trees"],
    "average_shap": ["average_shap"],
    "full_shap": ["full_shap"],
}
"""Collections in addition to the metrics, which are always saved."""

INTERVAL = 10
PARAMETERS = {"objective": "binary:logistic", "max_depth": 6, "eta": 0.1, "tree_method": "hist", "seed": 0}


def make_ours(folder: str, collections: list[str], data: dict[str, Any]) -> Any:
    import sagemaker_debug_ext.xgboost as smd

    return smd.Hook(folder, include_collections=collections, **data)


def make_original(folder: str, collections: list[str], data: dict[str, Any]) -> Any:
    """Return the original's hook, with a stand-in for `pkg_resources`, which new installations lack."""
    from packaging import version

    if "pkg_resources" not in sys.modules:
        resources: Any = types.ModuleType("pkg_resources")
        resources.get_distribution = lambda _: types.SimpleNamespace(version=xgb.__version__)
        resources.parse_version = version.parse
        sys.modules["pkg_resources"] = resources
    return importlib.import_module("smdebug.xgboost").Hook(folder, include_collections=collections, **data)


LIBRARIES: dict[str, Callable[[str, list[str], dict[str, Any]], Any]] = {"ours": make_ours, "original": make_original}


class Timed(xgb.callback.TrainingCallback):
    """Passes all calls to a hook, and measures their processor time."""

    def __init__(self, hook: Any) -> None:
        self.hook = hook
        self.seconds = 0.0

    def time(self, call: Callable[..., Any], *arguments: Any) -> Any:
        start = time.thread_time()
        try:
            return call(*arguments)
        finally:
            self.seconds += time.thread_time() - start

    def before_training(self, model: Any) -> Any:
        return self.time(self.hook.before_training, model)

    def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        return bool(self.time(self.hook.before_iteration, model, epoch, evals_log))

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        return bool(self.time(self.hook.after_iteration, model, epoch, evals_log))

    def after_training(self, model: Any) -> Any:
        return self.time(self.hook.after_training, model)


def sample(library: str, config: str, repeat: int, num_rows: int, num_rounds: int, folder: str) -> dict[str, float]:
    """Train without a hook, with one, and without one again, in turn."""
    random = np.random.default_rng(0)
    features = random.random((num_rows, 30), dtype=np.float32)
    labels = (features[:, :5].sum(axis=1) + random.normal(0, 0.3, num_rows) > 2.5).astype(int)
    split = num_rows * 4 // 5
    training = xgb.DMatrix(features[:split], label=labels[:split])
    validation = xgb.DMatrix(features[split:], label=labels[split:])
    # A tenth of the rows, so that SHAP values take a time in proportion to the training.
    explained = xgb.DMatrix(features[: num_rows // 10], label=labels[: num_rows // 10])
    data = {"hyperparameters": PARAMETERS, "train_data": explained, "validation_data": validation}
    parameters = {**PARAMETERS, "nthread": 1}

    def train(hook: Any = None) -> tuple[float, float]:
        """Return the elapsed seconds, and the processor seconds of the hook, or of training if there is no hook."""
        gc.collect()
        timed = None if hook is None else Timed(hook)
        start, cpu_start, own_start = time.perf_counter(), time.process_time(), time.thread_time()
        xgb.train(
            parameters,
            training,
            num_rounds,
            evals=[(training, "train"), (validation, "validation")],
            callbacks=[] if timed is None else [timed],
            verbose_eval=False,
        )
        if timed is not None:
            timed.time(hook.close)
        elapsed, cpu = time.perf_counter() - start, time.process_time() - cpu_start
        if timed is None:
            return elapsed, cpu
        return elapsed, timed.seconds + cpu - (time.thread_time() - own_start)

    train()
    found: dict[str, list[float]] = {"seconds": [], "ratio": [], "null": [], "added": []}
    for number in range(repeat):
        before = train()
        hook = LIBRARIES[library](f"{folder}/{number}", CONFIGS[config], data)
        captured = train(hook)
        after = train()
        found["seconds"].append(before[0])
        # The mean of the trainings before and after, so that a machine that slows down does not count against the hook.
        found["ratio"].append(2 * captured[0] / (before[0] + after[0]))
        found["null"].append(after[0] / before[0])
        found["added"].append(2 * captured[1] / (before[1] + after[1]))
    return {name: statistics.median(values) for name, values in found.items()}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--configs", default=";".join(CONFIGS), help="separated by ';' (default: %(default)s)")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--original-python", default="", help="an interpreter with smdebug 1.0.34")
    parser.add_argument("--tmp", default=tempfile.gettempdir(), help="folder for trials")
    parser.add_argument("--child", nargs=2, metavar=("LIBRARY", "CONFIG"), help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    folder = tempfile.mkdtemp(prefix="bench-xgboost-", dir=arguments.tmp)
    try:
        if arguments.child:
            warnings.simplefilter("ignore")
            library, config = arguments.child
            print(json.dumps(sample(library, config, arguments.repeat, arguments.rows, arguments.rounds, folder)))
            return
        pythons = {"ours": sys.executable}
        if arguments.original_python:
            pythons["original"] = arguments.original_python
        print(f"{'saved':22} {'library':9} {'alone':>8} {'ratio':>7} {'null':>7} {'added':>8}")
        for config in arguments.configs.split(";"):
            for library, python in pythons.items():
                options = ["--child", library, config, "--repeat", str(arguments.repeat), "--tmp", folder]
                options += ["--rows", str(arguments.rows), "--rounds", str(arguments.rounds)]
                found = run_child(__file__, python, options, SMDEBUG_LOG_LEVEL="off", OMP_NUM_THREADS="1")
                print(
                    f"{config:22} {library:9} {found['seconds']:6.2f} s {found['ratio']:7.3f} "
                    f"{found['null']:7.3f} {found['added']:8.2%}",
                    flush=True,
                )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
