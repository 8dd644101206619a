"""Train on the CPU with and without the hook: elapsed and processor seconds of a step.

    python benchmarks/speed/bench_train.py                                        # this package
    python benchmarks/speed/bench_train.py --original-python PYTHON               # and the original, in turn

`PYTHON` is an interpreter with torch and smdebug 1.0.34. Each sample is a process with two equal models. It times in
turn: steps of the model without a hook; the same number of its steps while a thread only writes as many bytes as the
hook, from the memory of the parameters (`bare`); and steps of the model with the hook, until everything is written.
Samples of the two libraries alternate. Figures are medians over the turns. `others` is the share of the machine that
other processes used; do not trust samples where it is large.

On a virtual machine the first use of a memory page may cost ten times as much as later ones, and hosts take back free
pages within seconds. Therefore files are removed during the training, so that their pages serve the next files, here
and in the bare writing; the time of the removal is left out. Before each turn that writes, memory of the size of its
files is filled and freed.

The target of 6 ms on the training thread was set for a step of 96 ms, and is applied as that share of the step.

The work of the hook on the training thread is timed where PyTorch calls it, in separate turns, less the time of timing
functions that do nothing. Unsaved steps are timed in the same way, because they are far below the noise of whole steps.
Writing is compared by the processor time of the threads beside the training, because the training's own processor time
varies between turns by as much as a bare `write()`: the hook's own work (`own`) is that of its functions and threads.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import queue
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from measurement import load_adapter, medians, run_child

SIX = ["min", "max", "mean", "std", "l1", "l2"]
FIVE = ["min", "max", "mean", "std", "l2"]
EVERYTHING = ["weights", "biases", "gradients", "losses"]

CONFIGS: dict[str, tuple[int, list[str], list[str]]] = {
    "full-1": (1, EVERYTHING, []),
    "full-10": (10, EVERYTHING, []),
    "six-1": (1, EVERYTHING, SIX),
    "six-10": (10, EVERYTHING, SIX),
    "five-1": (1, EVERYTHING, FIVE),
    "losses-1": (1, ["losses"], []),
    "gradients-1": (1, ["gradients"], []),
    "never": (10**9, EVERYTHING, []),
}
"""Save interval, collections, reductions."""
RECORD_SECONDS = 5e-3
"""Most that the record of the program may take on the training thread, once per training."""

NUM_STEPS = {"cnn": 20, "transformer": 10, "mlp": 4, "deep": 20}
"""Number of steps of a turn."""

NUM_TURNS = {"cnn": 20, "transformer": 5, "mlp": 10, "deep": 20}
MORE_TURNS = 4
"""Factor of the number of turns if one step in ten is saved, because the effect is a tenth of the noise."""

CLEAN_EVERY_BYTES = 1 << 26
FILES_AT_A_TIME = 4


class Row(NamedTuple):
    """A row of the table: model, configuration and target."""

    model: str
    config: str
    target: str
    is_met: Callable[[dict[str, float], dict[str, float] | None], bool | None]


def _ratio(limit: float) -> Callable[[dict[str, float], dict[str, float] | None], bool | None]:
    return lambda found, _: found["ratio"] <= limit


ROWS = [
    Row("transformer", "full-1", "own <= 1.5 x bare (84 MB)", lambda found, _: found["own"] <= 1.5 * found["bare"]),
    Row(
        "transformer",
        "gradients-1",
        "own <= 1.5 x bare, thread <= step / 16 (42 MB)",
        lambda found, _: found["own"] <= 1.5 * found["bare"] and found["thread"] <= found["step"] / 16,
    ),
    Row(
        "transformer",
        "five-1",
        "CPU <= 1/6 of the original's",
        lambda found, original: None if original is None else found["cpu"] <= original["cpu"] / 6,
    ),
    Row("cnn", "full-1", "x 1.15", _ratio(1.15)),
    Row("cnn", "full-10", "x 1.02", _ratio(1.02)),
    Row("cnn", "six-1", "x 1.25", _ratio(1.25)),
    Row("cnn", "six-10", "x 1.03", _ratio(1.03)),
    Row("mlp", "full-1", "x 1.6", _ratio(1.6)),
    Row("mlp", "six-1", "x 1.12", _ratio(1.12)),
    Row(
        "deep",
        "never",
        "x 1.005, thread <= 0.06 ms",
        lambda found, _: found["ratio"] <= 1.005 and found["thread"] <= 60e-6,
    ),
    Row("cnn", "losses-500", "x 1.003", _ratio(1.003)),
]


def build(name: str) -> tuple[Any, Any, Any]:
    """Return a model, a batch of inputs, and labels."""
    import torch
    from torch import nn

    labels = torch.randint(0, 10, (32,))
    if name == "cnn":  # 106 thousand parameters
        layers = [nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        layers += [nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        layers += [nn.Flatten(), nn.Linear(32 * 49, 64), nn.ReLU(), nn.Linear(64, 10)]
        return nn.Sequential(*layers), torch.randn(32, 1, 28, 28), labels
    if name == "deep":  # 150 modules
        blocks = [nn.Sequential(nn.Linear(256, 256), nn.ReLU()) for _ in range(50)]
        return nn.Sequential(*blocks, nn.Linear(256, 10)), torch.randn(32, 256), labels
    if name == "mlp":  # 50 million
        return (
            nn.Sequential(*[_mlp_block(1024, 4096) for _ in range(6)], nn.Linear(1024, 10)),
            torch.randn(32, 1024),
            labels,
        )
    return _transformer(), torch.randint(0, 1000, (4, 32)), labels[:4]


def _mlp_block(width: int, inner: int) -> Any:
    from torch import nn

    class StepBlock(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.up = nn.LayerNorm(width), nn.Linear(width, inner)
            self.act, self.down = nn.GELU(), nn.Linear(inner, width)

        def forward(self, x: Any) -> Any:
            return x + self.down(self.act(self.up(self.norm(x))))

    return StepBlock()


def _transformer() -> Any:
    from torch import nn

    class Transformer(nn.Module):  # 10.5 million
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(1000, 256)
            layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.0, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 13, enable_nested_tensor=False)
            self.head = nn.Linear(256, 10)

        def forward(self, tokens: Any) -> Any:
            return self.head(self.encoder(self.embedding(tokens)).mean(1))

    return Transformer()


class Clock:
    """Elapsed, process and thread seconds of a block, and the share of the machine that other processes used."""

    wall = cpu = thread = others = 0.0

    def __enter__(self) -> Clock:
        self._busy = busy_seconds()
        self._start = (time.perf_counter(), time.process_time(), time.thread_time())
        return self

    def __exit__(self, *_: object) -> None:
        end = (time.perf_counter(), time.process_time(), time.thread_time())
        wall, cpu, thread = (b - a for a, b in zip(self._start, end, strict=True))
        self.others = max(0.0, busy_seconds() - self._busy - cpu) / (wall * (os.cpu_count() or 1))
        self.wall, self.cpu, self.thread = self.wall + wall, self.cpu + cpu, self.thread + thread

    @property
    def other_threads(self) -> float:
        """Processor seconds of all other threads of this process."""
        return self.cpu - self.thread

    def leave_out(self, part: Clock) -> None:
        """Subtract what a part of the block has taken on the thread of the block."""
        self.wall, self.cpu, self.thread = self.wall - part.wall, self.cpu - part.thread, self.thread - part.thread


def busy_seconds() -> float:
    """Return the busy seconds of all processors since the machine started."""
    try:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    except OSError:
        return 0.0
    ticks = [int(field) for field in fields]
    return float(sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


class Training:
    """A model with its loss, optimizer and batch."""

    def __init__(self, name: str) -> None:
        import torch

        torch.manual_seed(0)
        self.model, self.batch, self.labels = build(name)
        self.loss = torch.nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.optimizer.zero_grad()
            self.loss(self.model(self.batch), self.labels).backward()
            self.optimizer.step()

    def num_bytes(self) -> int:
        """Return the bytes of all parameters."""
        return sum(parameter.nbytes for parameter in self.model.parameters())


class Cleaner:
    """Removes all files written so far except the last ones."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._num_files = self._num_bytes = 0

    @property
    def file_bytes(self) -> int:
        """Mean size of the files removed so far."""
        return self._num_bytes // max(self._num_files, 1)

    def clean(self, keep: int) -> Clock:
        """Remove the files, and return the time of it."""
        with Clock() as clock:
            for path in sorted(self._folder.rglob("*.tfevents"))[: -keep or None]:
                self._num_files += 1
                self._num_bytes += path.stat().st_size
                path.unlink()
        return clock


def warm_pages(folder: str, file_bytes: int) -> None:
    """Make the system provide memory for files, so that no measured turn pays for it."""
    path = Path(folder) / "pages"
    with path.open("wb", buffering=0) as file:
        for _ in range(FILES_AT_A_TIME * file_bytes >> 20):
            file.write(bytes(1 << 20))
    path.unlink()


class BareWriter:
    """A thread that only writes files, from the memory of a model's parameters."""

    def __init__(self, folder: Path, training: Training, interval: int) -> None:
        parameters = training.model.parameters()
        self._arrays = [parameter.detach().numpy().reshape(-1).view("uint8").data for parameter in parameters]
        self._folder = folder
        self._interval = interval
        self._num_steps = 0
        self._jobs: queue.Queue[Path | None] = queue.Queue()
        self._thread = threading.Thread(target=self._run)
        self.file_bytes = 0
        folder.mkdir()
        self._thread.start()

    def step(self) -> None:
        """Enqueue a file if this step is due."""
        if self._num_steps % self._interval == 0:
            self._jobs.put(self._folder / f"{self._num_steps:012}.tfevents")
        self._num_steps += 1

    def wait(self) -> None:
        self._jobs.join()

    def close(self) -> None:
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (path := self._jobs.get()) is not None:
            left = self.file_bytes
            with path.open("wb", buffering=0) as file:
                for array in itertools.cycle(self._arrays):
                    file.write(array[:left])
                    left -= len(array)
                    if left <= 0:
                        break
            self._jobs.task_done()


def take_turn(
    training: Training, num_steps: int, cleaner: Cleaner, after_step: Callable[[], object], wait: Callable[[], object]
) -> Clock:
    """Time some steps until everything is written, without the removal of files."""
    clean_every = max(1, CLEAN_EVERY_BYTES // (2 * training.num_bytes()))
    with Clock() as clock:
        for done in range(1, num_steps + 1):
            training.run(1)
            after_step()
            if done % clean_every == 0:
                clock.leave_out(cleaner.clean(keep=1))
        wait()
    cleaner.clean(keep=0)
    return clock


def sample(adapter_name: str, model_name: str, config: str, folder: str, num_steps: int) -> dict[str, float]:
    """Train without a hook, with bare writing, and with the hook, in turn."""
    import torch

    torch.set_num_threads(1)
    if config == "losses-500":
        return sample_default(adapter_name, model_name, folder, num_steps)
    if config == "never":
        return sample_unsaved(adapter_name, model_name, config, folder, num_steps * NUM_TURNS[model_name])
    adapter = load_adapter(adapter_name, "adapters")
    interval, collections, reductions = CONFIGS[config]
    without, watched = Training(model_name), Training(model_name)
    out_dir, bare_dir = Path(folder) / "trial", Path(folder) / "bare"
    hook = adapter.attach(str(out_dir), interval, collections, reductions, watched.model, watched.loss)
    cleaner, bare_cleaner = Cleaner(out_dir), Cleaner(bare_dir)
    bare_writer = BareWriter(bare_dir, without, interval)
    turns = []
    for turn in range(NUM_TURNS[model_name] * (MORE_TURNS if interval == 10 else 1) + 1):
        with Clock() as off:
            without.run(num_steps)
        warm_pages(folder, cleaner.file_bytes)
        on = take_turn(watched, num_steps, cleaner, lambda: None, lambda: adapter.wait(hook))
        bare_writer.file_bytes = cleaner.file_bytes
        warm_pages(folder, cleaner.file_bytes)
        bare = take_turn(without, num_steps, bare_cleaner, bare_writer.step, bare_writer.wait)
        if turn:  # the first turn allocates memory and finds out what to save
            turns.append(
                {
                    "step": off.wall / num_steps,
                    "ratio": on.wall / off.wall,
                    "cpu": (on.cpu - off.cpu) / num_steps,
                    "threads": on.other_threads / num_steps,
                    "bare": bare.other_threads / num_steps,
                    "bare ratio": bare.wall / off.wall,
                    "others": max(off.others, on.others, bare.others),
                }
            )
    bare_writer.close()
    threads = []
    register_nothing(without)
    count_time_of_registered(without)
    count_time_of_registered(watched)
    for _ in range(NUM_TURNS[model_name]):
        Timed.reset()
        without.run(num_steps)
        nothing = Timed.thread / Timed.num_calls
        warm_pages(folder, cleaner.file_bytes)
        Timed.reset()
        take_turn(watched, num_steps, cleaner, lambda: None, lambda: adapter.wait(hook))
        threads.append((Timed.thread - nothing * Timed.num_calls) / num_steps)
    hook.close()
    found = medians(turns)
    thread = statistics.median(threads)
    return {**found, "thread": thread, "own": thread + found["threads"]}


class Timed:
    """Wraps a registered function, and measures its time."""

    wall = thread = 0.0
    num_calls = 0

    @classmethod
    def reset(cls) -> None:
        """Reset the sums."""
        cls.wall = cls.thread = 0.0
        cls.num_calls = 0

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        wall, thread = time.perf_counter(), time.thread_time()
        result = self._function(*args, **kwargs)
        Timed.thread += time.thread_time() - thread
        Timed.wall += time.perf_counter() - wall
        Timed.num_calls += 1
        return result


def register_nothing(training: Training) -> None:
    """Register no-op functions with a model and all its parameters."""
    training.model.register_forward_pre_hook(lambda *_: None)
    for parameter in training.model.parameters():
        parameter.register_hook(lambda _: None)


def sample_unsaved(adapter_name: str, model_name: str, config: str, folder: str, num_steps: int) -> dict[str, float]:
    """Measure the registered functions in steps that save nothing."""
    interval, collections, reductions = CONFIGS[config]
    plain, training = Training(model_name), Training(model_name)
    plain.model.register_forward_pre_hook(lambda *_: None)
    nothing = time_registered(plain, num_steps)
    out_dir = str(Path(folder) / "unsaved")
    hook = load_adapter(adapter_name, "adapters").attach(
        out_dir, interval, collections, reductions, training.model, training.loss
    )
    with Clock() as whole:
        found = time_registered(training, num_steps)
    hook.close()
    wall, thread = (found[key] - nothing[key] for key in ("wall", "thread"))
    step = found["step"]
    return {
        "step": step,
        "ratio": 1 + wall / step,
        "cpu": thread,
        "thread": thread,
        "own": thread,
        "bare": 0.0,
        "bare ratio": 1.0,
        "others": whole.others,
    }


def count_time_of_registered(training: Training) -> None:
    """Wrap every function that is registered with a model, its loss and its parameters in `Timed`."""
    for owner in (*training.model.modules(), training.loss, *training.model.parameters()):
        for kind in ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks"):
            registered = getattr(owner, kind, None) or {}
            for key, function in registered.items():
                registered[key] = Timed(function)


def time_registered(training: Training, num_steps: int) -> dict[str, float]:
    """Return medians over steps: seconds of the registered functions, and of the rest of the step."""
    training.run(5)
    count_time_of_registered(training)
    steps = []
    for _ in range(num_steps):
        Timed.reset()
        with Clock() as clock:
            training.run(1)
        steps.append({"wall": Timed.wall, "thread": Timed.thread, "step": clock.wall - Timed.wall})
    return medians(steps)


def sample_default(adapter_name: str, model_name: str, folder: str, num_steps: int) -> dict[str, float]:
    """Compute the default configuration from 499 steps that save nothing and one that saves losses."""
    unsaved = sample_unsaved(adapter_name, model_name, "never", folder, num_steps * NUM_TURNS[model_name])
    saved = sample(adapter_name, model_name, "losses-1", folder, num_steps)
    found = {key: (unsaved[key] * 499 + saved[key]) / 500 for key in ("cpu", "thread", "own", "bare", "bare ratio")}
    extra = ((unsaved["ratio"] - 1) * 499 + (saved["ratio"] - 1)) / 500
    return {"step": unsaved["step"], "ratio": 1 + extra, **found, "others": max(unsaved["others"], saved["others"])}


def sample_record(num_modules: int = 1000) -> dict[str, float]:
    """Measure the record of a program: processor seconds that training waits for, and those of writing its text."""
    import torch
    from torch import nn

    from sagemaker_debug_ext.hooks.program.pytorch import TorchProgram
    from sagemaker_debug_ext.hooks.pytorch.registration import RegisteredModule

    model = nn.Sequential(*(nn.Linear(2, 2) for _ in range(num_modules - 1)))
    optimizer, root = torch.optim.Adam(model.parameters()), RegisteredModule.of_model(model)
    predictions, targets = model(torch.ones(4, 2)), torch.ones(4, 2)
    program = TorchProgram()
    start = time.thread_time()
    program.note_modules([(root.name, root.modules())], [])
    described = program.record()
    program.note_inputs(model, [targets])
    program.note_loss("MSELoss", "MSELoss", {"reduction": "mean"}, [predictions, targets])
    changed = program.record() != described
    program.note_optimizer(optimizer)
    record = program.record()
    noted = time.thread_time()
    assert changed
    record.to_json()
    return {"thread": noted - start, "writing": time.thread_time() - noted}


def print_record(num_turns: int = 20) -> None:
    """Print the medians of the record's times."""
    found = medians([sample_record() for _ in range(num_turns)])
    is_met = found["thread"] <= RECORD_SECONDS
    print(
        f"record of 1,000 modules: thread {found['thread'] * 1e3:.2f} ms, writing {found['writing'] * 1e3:.2f} ms  "
        f"<= {RECORD_SECONDS * 1e3:g} ms, once per training  {'met' if is_met else 'MISSED'}",
        flush=True,
    )


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="", help="such as cnn:full-1,mlp:six-1,record (default: all)")
    parser.add_argument("--repeat", type=int, default=2, help="processes for each row and library")
    parser.add_argument("--steps", type=int, default=0, help="steps of a turn (default: by model)")
    parser.add_argument("--original-python", default="", help="an interpreter with smdebug 1.0.34")
    parser.add_argument("--tmp", default=tempfile.gettempdir(), help="folder for trials")
    parser.add_argument("--child", nargs=3, metavar=("ADAPTER", "MODEL", "CONFIG"), help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    arguments = parse_arguments()
    folder = tempfile.mkdtemp(prefix="bench-train-", dir=arguments.tmp)
    try:
        if arguments.child:
            adapter, model, config = arguments.child
            print(json.dumps(sample(adapter, model, config, folder, arguments.steps or NUM_STEPS[model])))
            return
        pythons = {"ours": sys.executable}
        if arguments.original_python:
            pythons["original"] = arguments.original_python
        print(
            f"{'model':12} {'config':11} {'library':9} {'step':>9} {'ratio':>7} "
            f"{'CPU +':>9} {'own':>9} {'thread':>9} {'bare':>9} {'bare':>6} {'others':>7}  target"
        )
        for row in ROWS:
            if not arguments.rows or f"{row.model}:{row.config}" in arguments.rows.split(","):
                measure(row, pythons, arguments)
        if not arguments.rows or "record" in arguments.rows.split(","):
            print_record()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(row: Row, pythons: dict[str, str], arguments: argparse.Namespace) -> None:
    """Print one line for each library."""
    samples: dict[str, list[dict[str, float]]] = {adapter: [] for adapter in pythons}
    for _ in range(arguments.repeat):
        for adapter, python in pythons.items():
            options = ["--child", adapter, row.model, row.config, "--tmp", arguments.tmp]
            options += ["--steps", arguments.steps]
            samples[adapter].append(run_child(__file__, python, options, SMDEBUG_LOG_LEVEL="off"))
            with contextlib.suppress(AttributeError):
                os.sync()
    found = {adapter: medians(results) for adapter, results in samples.items()}
    is_met = row.is_met(found["ours"], found.get("original"))
    for adapter, middle in found.items():
        verdict = {None: "not measured", True: "met", False: "MISSED"}[is_met] if adapter == "ours" else ""
        print(
            f"{row.model:12} {row.config:11} {adapter:9} {middle['step'] * 1e3:6.2f} ms {middle['ratio']:7.3f} "
            f"{middle['cpu'] * 1e3:6.2f} ms {middle['own'] * 1e3:6.2f} ms {middle['thread'] * 1e3:6.2f} ms "
            f"{middle['bare'] * 1e3:6.2f} ms {middle['bare ratio']:6.3f} {middle['others']:6.0%}  "
            f"{row.target if adapter == 'ours' else '':34} {verdict}",
            flush=True,
        )


if __name__ == "__main__":
    main()
