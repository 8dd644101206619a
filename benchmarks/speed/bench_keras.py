"""Train with Keras on TensorFlow with and without the hook.

    python benchmarks/speed/bench_keras.py                # every configuration, medians of 9 alternations
    python benchmarks/speed/bench_keras.py --repeat 25 --config default

Trainings with and without the hook alternate within one process, with one model and one hook. Graphs are built before
the clock starts, and everything is on disk when it stops.

- `ratio`: elapsed seconds with the hook divided by those without.
- `CPU`: the same for the processor seconds of the whole process, writing thread included.
- `null`: as `CPU`, for two trainings without a hook, which is the noise of the machine.
- `thread`, `writing`: milliseconds that the record of a program takes; see `measure_record`.
- `of the least`: the added processor time, as a multiple of the framework's own copy of the same tensors to the host
  plus writing the same number of bytes to a file. It is computed from the best turns, because the system may take three
  times as long to provide memory for files, now for one and then for the other.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf

import sagemaker_debug_ext.tensorflow as smd
from sagemaker_debug_ext.hooks.keras.names import layers_of
from sagemaker_debug_ext.hooks.program.keras import keras_program

BATCH = 32
RECORD = "record of 1,000 layers"


class Config(NamedTuple):
    """A model, the save interval, the saved collections, and the number of steps of a training."""

    model: str
    interval: int
    collections: tuple[str, ...]
    steps: int


CONFIGS = {
    "default": Config("cnn", 500, (), 100),
    "never due": Config("cnn", 10**9, ("weights", "biases", "gradients", "layers"), 100),
    "losses, every step": Config("cnn", 1, ("losses",), 100),
    "weights, gradients, every step": Config("mlp", 1, ("weights", "biases", "gradients"), 10),
    "weights, gradients, one step in ten": Config("mlp", 10, ("weights", "biases", "gradients"), 20),
}


def build(name: str, jit: bool) -> tuple[Any, np.ndarray]:
    """Return a model and its inputs for one step."""
    layers = keras.layers
    if name == "cnn":  # 106 thousand parameters
        parts = [keras.Input((28, 28, 1)), layers.Conv2D(16, 3, padding="same", activation="relu")]
        parts += [layers.MaxPooling2D(), layers.Conv2D(32, 3, padding="same", activation="relu"), layers.MaxPooling2D()]
        parts += [layers.Flatten(), layers.Dense(64, activation="relu"), layers.Dense(10)]
        shape: tuple[int, ...] = (28, 28, 1)
    else:  # 10.5 million
        parts = [keras.Input((1024,)), *(layers.Dense(1024, activation="relu") for _ in range(10)), layers.Dense(10)]
        shape = (1024,)
    model = keras.Sequential(parts)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", loss, metrics=["accuracy"], jit_compile=jit)
    return model, np.random.default_rng(0).normal(size=(BATCH, *shape)).astype("float32")


class Clock:
    """Elapsed and processor seconds of a block."""

    def __enter__(self) -> Clock:
        self._start = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall, self.cpu = time.perf_counter() - self._start[0], time.process_time() - self._start[1]


def write_least(model: Any, folder: Path, num_times: int) -> None:
    """Copy variables and as many gradients to the host, and write them to new files."""
    variables = [tf.convert_to_tensor(variable.value) for variable in model.trainable_variables] * 2
    for _ in range(num_times):
        copies = [variable.numpy() for variable in variables]
        with tempfile.NamedTemporaryFile(dir=folder, prefix="raw", delete=False) as file:
            for copy in copies:
                file.write(memoryview(copy).cast("B"))


def alternate(
    functions: dict[str, Callable[[], object]], repeat: int, clean: Callable[[], None]
) -> dict[str, list[Clock]]:
    """Time functions in turn, and clean up after each. The first turn is not counted."""
    found: dict[str, list[Clock]] = {name: [] for name in functions}
    for turn in range(repeat + 1):
        for name, function in functions.items():
            with Clock() as clock:
                function()
            clean()
            if turn:
                found[name].append(clock)
    return found


def measure(config: Config, repeat: int, jit: bool, folder: Path) -> dict[str, float]:
    """Measure one configuration."""
    model, inputs = build(config.model, jit)
    images = np.tile(inputs, (config.steps, *[1] * (inputs.ndim - 1)))
    labels = np.zeros(len(images), "int64")
    hook = smd.KerasHook(
        folder / "trial",
        save_config=smd.SaveConfig(save_interval=config.interval),
        include_collections=config.collections,
        strict=True,
    )

    def train(*callbacks: Any) -> None:
        model.fit(images, labels, batch_size=BATCH, verbose=0, shuffle=False, callbacks=list(callbacks))

    def train_captured() -> None:
        train(hook)
        hook.export_collections()  # waits until everything is written

    num_saved = -(-config.steps // config.interval)
    saves_weights = "weights" in config.collections and config.interval < config.steps
    functions = {"without": train, "with": train_captured, "again without": train}
    if saves_weights:
        functions["least"] = lambda: write_least(model, folder, num_saved)

    def clean() -> None:
        # New files then use memory that has just become free, which the system provides fastest.
        for path in [*folder.glob("raw*"), *folder.glob("trial/events/*/*")]:
            path.unlink()

    found = alternate(functions, repeat, clean)

    def median(values: Any) -> float:
        return statistics.median(values)

    without, captured, again = found["without"], found["with"], found["again without"]
    result = {
        "step ms": 1000 * median(clock.wall for clock in without) / config.steps,
        "ratio": median(b.wall / a.wall for a, b in zip(without, captured, strict=True)),
        "CPU": median(b.cpu / a.cpu for a, b in zip(without, captured, strict=True)),
        "null": median(b.cpu / a.cpu for a, b in zip(without, again, strict=True)),
    }
    if saves_weights:
        least = {name: min(clock.cpu for clock in clocks) for name, clocks in found.items()}
        result["MB a step"] = 8 * model.count_params() / 1e6
        result["of the least"] = (least["with"] - min(least["without"], least["again without"])) / least["least"]
    hook.close()
    return result


def measure_record(repeat: int) -> dict[str, float]:
    """Measure the record of a new model of 1,000 layers, in medians of processor milliseconds.

    `thread` is what training waits for, and `writing` is the text, which is made on the writing thread.
    """
    found = []
    for _ in range(repeat):
        inputs = keras.Input((2,))
        chains = [inputs] * 37
        for _ in range(27):  # Keras cannot build a chain of 1,000 layers
            chains = [keras.layers.Dense(2)(chain) for chain in chains]
        model = keras.Model(inputs, keras.layers.Average()(chains))
        model.compile("adam", "mse")
        start = time.thread_time()
        record = keras_program(model, {id(layer): name for name, layer in layers_of(model)})
        made = time.thread_time()
        record.to_json()
        found.append((made - start, time.thread_time() - made))
    thread, writing = (1000 * statistics.median(values) for values in zip(*found, strict=True))
    return {"thread": thread, "writing": writing}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", choices=[*CONFIGS, RECORD], action="append")
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--compiled", action="store_true", help="compile the steps (jit_compile=True)")
    parser.add_argument("--out", metavar="FILE", help="write the figures to this JSON file as well")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    tf.config.threading.set_intra_op_parallelism_threads(1)
    results = {}
    for name in options.config or [*CONFIGS, RECORD]:
        folder = Path(tempfile.mkdtemp(prefix="bench-keras-"))
        try:
            if name == RECORD:
                results[name] = measure_record(options.repeat)
            else:
                results[name] = measure(CONFIGS[name], options.repeat, options.compiled, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        print(f"{name:36}", "  ".join(f"{key} {value:.3f}" for key, value in results[name].items()), flush=True)
    if options.out:
        Path(options.out).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
