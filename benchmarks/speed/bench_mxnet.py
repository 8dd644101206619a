"""Train with MXNet on the CPU with and without the hook: elapsed and processor seconds of a step.

    python benchmarks/speed/bench_mxnet.py                    # this package
    python benchmarks/speed/bench_mxnet.py --original         # and smdebug 1.0.34, if this Python has it, in turn

Each sample is a process with two equal networks, one with a hook and one without, that train in turn. Each turn ends
when MXNet's engine has finished, and the last one closes the hook. Then the same number of bytes is copied out of MXNet
and only written, to the same number of files. Figures are medians of turns within a sample, and of samples. What a hook
adds is the median of the differences between neighbouring turns.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from measurement import medians

EVERYTHING = ["weights", "biases", "gradients", "losses"]
REDUCTIONS = ["min", "max", "mean", "l1", "l2"]

CONFIGS: dict[str, tuple[int | None, list[str], list[str]]] = {
    "default": (None, [], []),
    "losses, each step": (1, ["losses"], []),
    "conv0.*, each 10th step": (10, ["conv0_tensors"], []),
    "all parameters and gradients, each step": (1, EVERYTHING, []),
    "the same, each 10th step": (10, EVERYTHING, []),
    "five reductions of them, each step": (1, EVERYTHING, REDUCTIONS),
}
"""Save interval, collections, reductions."""

MODELS = {"lenet": (40, 20), "wide": (10, 6)}
"""Number of turns, and of steps in each."""

LIBRARIES = {"ours": "sagemaker_debug_ext", "original": "smdebug"}


def parse_arguments() -> argparse.Namespace:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--original", action="store_true", help="measure smdebug 1.0.34 of this Python, too")
    arguments.add_argument("--hybridize", action="store_true", help="run the networks as graphs")
    arguments.add_argument("--repeat", type=int, default=3, help="samples")
    arguments.add_argument("--turns", type=float, default=1.0, help="factor of the number of turns")
    arguments.add_argument("--configs", nargs="+", choices=list(CONFIGS), default=list(CONFIGS))
    arguments.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    arguments.add_argument("--out", metavar="FILE", help="write the figures to this JSON file as well")
    arguments.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    return arguments.parse_args()


class Training:
    """A network that trains on one batch of random images."""

    def __init__(self, model: str, hybridize: bool) -> None:
        import mxnet as mx
        from mxnet.gluon import nn

        self.mx = mx
        mx.random.seed(0)
        with mx.name.NameManager():
            self.net = nn.HybridSequential()
            if model == "lenet":
                self.net.add(nn.Conv2D(6, 5, activation="relu"), nn.MaxPool2D(2), nn.Conv2D(16, 3, activation="relu"))
                self.net.add(nn.MaxPool2D(2), nn.Flatten(), nn.Dense(120, activation="relu"))
            else:
                self.net.add(nn.Flatten(), nn.Dense(2048, activation="relu"), nn.Dense(2048, activation="relu"))
            self.net.add(nn.Dense(10))
            self.loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
        self.net.initialize(mx.init.Xavier())
        if hybridize:
            self.net.hybridize()
        self.trainer = mx.gluon.Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.01})
        self.images = mx.nd.random.uniform(shape=(64, 1, 28, 28))
        self.labels = mx.nd.floor(mx.nd.random.uniform(0, 10, shape=(64,)))

    def train(self, steps: int) -> None:
        for _ in range(steps):
            with self.mx.autograd.record():
                value = self.loss(self.net(self.images), self.labels)
            value.backward()
            self.trainer.step(64)

    def time(self, steps: int, after: Any = None) -> tuple[float, float]:
        """Return elapsed and processor seconds of some steps, and of `after`."""
        began, cpu_began = time.perf_counter(), time.process_time()
        self.train(steps)
        self.mx.nd.waitall()
        if after is not None:
            after()
        return time.perf_counter() - began, time.process_time() - cpu_began


def attach(library: str, config: str, folder: str, training: Training) -> Any:
    interval, collections, reductions = CONFIGS[config]
    smd = importlib.import_module(f"{library}.mxnet")
    arguments: dict[str, Any] = {"include_collections": collections}
    if interval is not None:
        arguments["save_config"] = smd.SaveConfig(save_interval=interval)
    if reductions:
        names = [name for name in reductions if not name.startswith("l")]
        norms = [name for name in reductions if name.startswith("l")]
        arguments["reduction_config"] = smd.ReductionConfig(reductions=names, norms=norms)
    hook = smd.Hook(folder, **arguments)
    if "conv0_tensors" in collections:
        hook.get_collection("conv0_tensors").include("conv0.*")
    hook.register_block(training.net)
    hook.register_block(training.loss)
    hook.set_mode(smd.modes.TRAIN)
    return hook


def write_barely(training: Training, num_bytes: int, num_files: int, folder: Path) -> float:
    """Copy the same number of bytes out of MXNet, and write them to the same number of files. Return the seconds."""
    folder.mkdir()
    array = training.mx.nd.ones((max(num_bytes // max(num_files, 1) // 4, 1),))
    array.wait_to_read()
    began = time.perf_counter()
    for number in range(num_files):
        array.asnumpy().tofile(folder / str(number))
    return time.perf_counter() - began


def measure(library: str, model: str, config: str, arguments: argparse.Namespace) -> dict[str, float]:
    """Measure one sample in this process."""
    folder = Path(tempfile.mkdtemp())
    plain, captured = Training(model, arguments.hybridize), Training(model, arguments.hybridize)
    for training in (plain, captured):
        training.time(5)
    hook = attach(library, config, str(folder / "trial"), captured)
    turns, steps = MODELS[model]
    captured.time(2)  # every configuration saves the first step, so it is not measured
    without, with_hook = [], []
    for _ in range(max(round(turns * arguments.turns) - 1, 1)):
        without.append(plain.time(steps))
        with_hook.append(captured.time(steps))
    last = captured.time(steps, hook.close)
    without.append(plain.time(steps))
    with_hook.append(last)
    files = [path for path in (folder / "trial" / "events").rglob("*") if path.is_file()]
    num_bytes = sum(path.stat().st_size for path in files)
    num_steps = len(with_hook) * steps
    found = {"bare": write_barely(captured, num_bytes, len(files), folder / "bare") / num_steps}
    for index, name in enumerate(("wall", "cpu")):
        found[f"{name} without"] = statistics.median(turn[index] for turn in without) / steps
        # Writing may end in the last turn: its time there belongs to all turns.
        more = sum(turn[index] for turn in with_hook) - sum(turn[index] for turn in without)
        found[f"{name} added, mean"] = more / num_steps
        pairs = zip(with_hook, without, strict=True)
        found[f"{name} added"] = statistics.median(left[index] - right[index] for left, right in pairs) / steps
    found["MB a saved step"] = num_bytes / max(len(files), 1) / 1e6
    shutil.rmtree(folder)
    return found


def run_sample(library: str, model: str, config: str, arguments: argparse.Namespace) -> dict[str, float]:
    command = [sys.executable, "-W", "ignore", __file__, "--child", library, model, config]
    command += ["--turns", str(arguments.turns), *(["--hybridize"] if arguments.hybridize else [])]
    environment = {**os.environ, "SMDEBUG_LOG_LEVEL": "off"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise RuntimeError(done.stdout[-2000:] + done.stderr[-4000:])
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    arguments = parse_arguments()
    if arguments.child:
        library, model, config = arguments.child
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            print(json.dumps(measure(LIBRARIES[library], model, config, arguments)))
        return
    libraries = ["ours", "original"] if arguments.original else ["ours"]
    rows = []
    heads = ("without", "library", "added", "mean", "ratio", "CPU", "bare", "MB")
    print(f"{'ms a step':48} {' '.join(f'{head:>9}' for head in heads)}")
    for model in arguments.models:
        for config in arguments.configs:
            if model != "lenet" and "conv0" in config:
                continue
            samples: dict[str, list[dict[str, float]]] = {library: [] for library in libraries}
            for _ in range(arguments.repeat):
                for library in libraries:
                    samples[library].append(run_sample(library, model, config, arguments))
            for library in libraries:
                found = medians(samples[library])
                rows.append({"model": model, "config": config, "library": library, **found})
                ratio = 1 + found["wall added"] / found["wall without"]
                print(
                    f"{model + ': ' + config:48} {1e3 * found['wall without']:9.3f} {library:>9} "
                    f"{1e3 * found['wall added']:9.3f} {1e3 * found['wall added, mean']:9.3f} {ratio:9.3f} "
                    f"{1e3 * found['cpu added, mean']:9.3f} {1e3 * found['bare']:9.3f} {found['MB a saved step']:9.2f}",
                    flush=True,
                )
    if arguments.out:
        Path(arguments.out).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
