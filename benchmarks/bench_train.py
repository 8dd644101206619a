"""What a hook adds to training on the CPU: seconds and CPU seconds a step, against the same training without it.

    python benchmarks/bench_train.py                                        # this package
    python benchmarks/bench_train.py --original-python PYTHON --repeat 7    # and the original, run alternating

Each sample is a process of its own: it warms up without a hook, times steps without a hook, attaches the hook, lets it
save a few steps, and times the same number of steps with it, closing included; so both halves of a ratio come from
one process, seconds apart. Samples of the two libraries alternate. `PYTHON` is an interpreter with torch and smdebug
1.0.34. Figures are medians; `others` is the share of the machine that other processes used meanwhile, and samples with
much of it should not be trusted.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SIX = ["min", "max", "mean", "std", "l1", "l2"]
FIVE = ["min", "max", "mean", "std", "l2"]
EVERYTHING = ["weights", "biases", "gradients", "losses"]

CONFIGS: dict[str, tuple[int, list[str], list[str]]] = {
    "full-1": (1, EVERYTHING, []),
    "full-10": (10, EVERYTHING, []),
    "six-1": (1, EVERYTHING, SIX),
    "six-10": (10, EVERYTHING, SIX),
    "five-1": (1, EVERYTHING, FIVE),
    "losses-500": (500, ["losses"], []),
    "never": (10**9, EVERYTHING, []),
}
"""Save interval, collections, reductions."""

NUM_STEPS = {"cnn": 200, "transformer": 20, "mlp": 10, "deep": 400}
DEFAULT_CONFIGS = {
    "cnn": ["full-1", "full-10", "six-1", "six-10", "losses-500"],
    "transformer": ["full-1", "five-1"],
    "mlp": ["full-1", "six-1"],
    "deep": ["never"],
}


def build(name: str) -> tuple[Any, Any, Any]:
    """Return a model with a batch: images or numbers, and labels."""
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

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.up = nn.LayerNorm(width), nn.Linear(width, inner)
            self.act, self.down = nn.GELU(), nn.Linear(inner, width)

        def forward(self, x: Any) -> Any:
            return x + self.down(self.act(self.up(self.norm(x))))

    return Block()


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
    """Wall, process and thread seconds of a block, and the share of the machine that others used."""

    def __enter__(self) -> Clock:
        self._busy = busy_seconds()
        self._start = (time.perf_counter(), time.process_time(), time.thread_time())
        return self

    def __exit__(self, *_: object) -> None:
        end = (time.perf_counter(), time.process_time(), time.thread_time())
        self.wall, self.cpu, self.thread = (b - a for a, b in zip(self._start, end, strict=True))
        self.others = max(0.0, busy_seconds() - self._busy - self.cpu) / (self.wall * (os.cpu_count() or 1))


def busy_seconds() -> float:
    """Return what all processors have worked since the machine started."""
    try:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    except OSError:
        return 0.0
    ticks = [int(field) for field in fields]
    return float(sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def sample(adapter_name: str, model_name: str, config: str, folder: str, num_steps: int) -> dict[str, float]:
    """Train without and with the hook in this process."""
    import torch

    sys.path.insert(0, str(Path(__file__).parent))
    adapter = importlib.import_module(f"adapters.{adapter_name}")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model, batch, labels = build(model_name)
    loss_function = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def train(steps: int) -> None:
        for _ in range(steps):
            optimizer.zero_grad()
            loss_function(model(batch), labels).backward()
            optimizer.step()

    train(5)
    with Clock() as off:
        train(num_steps)
    interval, collections, reductions = CONFIGS[config]
    out_dir = str(Path(folder) / "trial")
    hook = adapter.attach(out_dir, interval, collections, reductions, model, loss_function)
    train(3)
    with Clock() as on:
        train(num_steps)
        hook.close()
    written = sum(path.stat().st_size for path in Path(out_dir).rglob("*") if path.is_file())
    contents = b"\0" * (1 << 20)
    per_step = written // (num_steps // interval + 1)
    raw_file = Path(folder) / "raw"
    with Clock() as raw, raw_file.open("wb") as file:
        for _ in range(per_step >> 20):
            file.write(contents)
    return {
        "wall_off": off.wall / num_steps,
        "wall_on": on.wall / num_steps,
        "ratio": on.wall / off.wall,
        "cpu_added": (on.cpu - off.cpu) / num_steps,
        "thread_added": (on.thread - off.thread) / num_steps,
        "raw_write_cpu": raw.cpu,
        "others": max(off.others, on.others),
    }


def run_child(python: str, arguments: list[str]) -> dict[str, float]:
    environment = {**os.environ, "SMDEBUG_LOG_LEVEL": "off", "PYTHONWARNINGS": "ignore"}
    root = str(Path(__file__).resolve().parents[1])
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [root, environment.get("PYTHONPATH")]))
    done = subprocess.run([python, __file__, *arguments], capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise SystemExit(done.stderr[-4000:])
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(NUM_STEPS), help="of %(default)s")
    parser.add_argument("--configs", default="", help=f"of {','.join(CONFIGS)}; what suits the model when not given")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--steps", type=int, default=0, help="steps a sample; what suits the model when not given")
    parser.add_argument("--original-python", default="", help="an interpreter with smdebug 1.0.34")
    parser.add_argument("--tmp", default=tempfile.gettempdir(), help="where trials are written")
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
            f"{'CPU +':>9} {'thread +':>9} {'raw':>8} {'others':>7}"
        )
        for model in arguments.models.split(","):
            for config in arguments.configs.split(",") if arguments.configs else DEFAULT_CONFIGS[model]:
                measure(model, config, pythons, arguments)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(model: str, config: str, pythons: dict[str, str], arguments: argparse.Namespace) -> None:
    """Print one line for each library."""
    samples: dict[str, list[dict[str, float]]] = {adapter: [] for adapter in pythons}
    for _ in range(arguments.repeat):
        for adapter, python in pythons.items():
            options = ["--child", adapter, model, config, "--tmp", arguments.tmp, "--steps", str(arguments.steps)]
            samples[adapter].append(run_child(python, options))
            with contextlib.suppress(AttributeError):
                os.sync()
    for adapter, found in samples.items():
        middle = {key: statistics.median(each[key] for each in found) for key in found[0]}
        print(
            f"{model:12} {config:11} {adapter:9} {middle['wall_off'] * 1e3:6.2f} ms {middle['ratio']:7.3f} "
            f"{middle['cpu_added'] * 1e3:6.2f} ms {middle['thread_added'] * 1e3:6.2f} ms "
            f"{middle['raw_write_cpu'] * 1e3:5.1f} ms {middle['others']:6.0%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
