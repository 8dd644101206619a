"""Scripts that train with a hook of which one function raises at one of its calls."""

from __future__ import annotations

import collections
import logging
import os
import pickle
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

import sagemaker_debug_ext
from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.hooks import fail_safe
from sagemaker_debug_ext.hooks.base import BaseHook
from sagemaker_debug_ext.vocabulary import ModeKeys

PACKAGE = Path(sagemaker_debug_ext.__file__).parent
WATCHED = tuple(str(PACKAGE / folder) + os.sep for folder in ("hooks", "store"))
GUARDS = frozenset({"_disable", "switch_off", "guarded"})
"""What the guard itself consists of; without it nothing is guarded."""

SHELLS = frozenset({("hooks/pytorch/loss_detector.py", "backward"), ("hooks/pytorch/module_hooks.py", "__call__")})
"""What the framework calls and only hands the call to a guarded function; to raise there is to raise in the guard."""

NOT_CALLED = frozenset({"<module>", "<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>"})
LIMIT_SECONDS = 60
"""How long a training may last that takes a tenth of a second."""

SETTINGS = {"include_collections": ["weights"], "save_config": {"save_interval": 2}, "statistics": ["abs_max"]}


class InjectedError(Exception):
    """An error that no handler expects."""


class Place(NamedTuple):
    """A function of the package."""

    file: str
    line: int
    name: str


class Outcome(NamedTuple):
    """What became of a training: the error that reached the script, the weights, and the calls of each function."""

    raised: str | None
    weights: bytes
    calls: dict[Place, int]
    has_raised: bool


class Calls:
    """Counts the calls of the package's functions, and lets one of them raise.

    Args:
        target: The function, and the number of its call, from 1; None lets none raise.
    """

    def __init__(self, target: tuple[Place, int] | None) -> None:
        self.numbers: collections.Counter[Place] = collections.Counter()
        self.target = target
        self._places: dict[CodeType, Place | None] = {}

    def __call__(self, frame: FrameType, _: str, __: object) -> None:
        code = frame.f_code
        if code not in self._places:
            self._places[code] = _place_of(code)
        place = self._places[code]
        if place is None:
            return
        self.numbers[place] += 1
        if self.target == (place, self.numbers[place]):
            self.target = None
            raise InjectedError(f"{place.name} fails")

    def install(self) -> None:
        """Begin to count, on this thread and on those that start from now on."""
        threading.settrace(self)
        sys.settrace(self)


def _place_of(code: CodeType) -> Place | None:
    if not code.co_filename.startswith(WATCHED) or code.co_name in GUARDS | NOT_CALLED:
        return None
    if code.co_filename == fail_safe.__file__ and code.co_name in ("__init__", "__enter__", "__exit__", "skip_value"):
        return None
    file = str(Path(code.co_filename).relative_to(PACKAGE))
    return None if (file, code.co_name) in SHELLS else Place(file, code.co_firstlineno, code.co_name)


class ArrayHook(BaseHook):
    """The hook of a framework whose tensors are arrays."""

    expected_collections = ()

    @fail_safe.fail_safe
    def on_step(self, weights: np.ndarray) -> None:
        """Begin a step and save its weights."""
        if self._begin_step() is not None:
            self._save_custom_tensors()
            self._capture("layer/weight", weights)


def use(hook: Any, step: int) -> None:
    """Call what scripts call on a hook."""
    hook.set_mode(ModeKeys.EVAL if step % 4 == 3 else ModeKeys.TRAIN)
    hook.save_scalar("lr", 0.5)
    hook.save_tensor("batch", np.arange(4.0), "own")
    assert hook.step <= step
    assert isinstance(hook.mode_steps, dict)
    hook.should_save_tensor_or_collection("lr", "own")
    if step == 3:
        hook.get_collection("weights").include("weight")
        hook.get_collections()
        hook.add_collection(Collection("late"))
        hook.has_default_hook_configuration()
        hook.export_collections()
        hook.write_recording()


def train_arrays(folder: Path, begin: Callable[[], object]) -> bytes:
    """Train a linear model with NumPy; return its weights."""
    hook = ArrayHook(folder, flight_recorder=2, **SETTINGS)
    hook.get_collection("weights").include("weight")
    begin()
    rng = np.random.default_rng(0)
    weights = rng.random((4, 3))
    for step in range(6):
        hook.on_step(weights)
        use(hook, step)
        inputs = rng.random((8, 4))
        weights -= 0.1 * inputs.T @ (inputs @ weights - 1.0)
    hook.close()
    return weights.tobytes()


def train_torch(folder: Path, begin: Callable[[], object]) -> bytes:
    """Train a small network with PyTorch; return its weights."""
    import torch

    from sagemaker_debug_ext.pytorch import Hook

    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    loss, optimizer = torch.nn.MSELoss(), torch.optim.Adam(model.parameters())
    hook = Hook(folder, save_all=True, detect_losses=True, export_tensorboard=True, **SETTINGS)
    begin()
    hook.register_module(model)
    hook.register_loss(loss)
    for step in range(6):
        optimizer.zero_grad()
        outputs = model(torch.rand(8, 4))
        hook.record_tensor_value("own_loss", outputs.mean())
        use(hook, step)
        loss(outputs, torch.ones(8, 1)).backward()
        optimizer.step()
    hook.close()
    return b"".join(parameter.detach().numpy().tobytes() for parameter in model.parameters())


def run(
    train: Callable[[Path, Callable[[], object]], bytes], folder: Path, target: tuple[Place, int] | None = None
) -> Outcome | None:
    """Train in a process of its own; return what became of it, None if it hangs or dies.

    Args:
        train: Trains with a hook that writes to a folder; calls back when the hook exists.
        folder: The folder, which is removed.
        target: The function that raises, and at which of its calls.
    """
    results, given = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(LIMIT_SECONDS)
        os.close(results)
        with open(given, "wb") as pipe:
            pickle.dump(_train(train, folder, target), pipe)
        os._exit(0)
    os.close(given)
    with open(results, "rb") as pipe:
        content = pipe.read()
    os.waitpid(pid, 0)
    shutil.rmtree(folder, ignore_errors=True)
    return pickle.loads(content) if content else None


def _train(
    train: Callable[[Path, Callable[[], object]], bytes], folder: Path, target: tuple[Place, int] | None
) -> Outcome:
    logging.disable(logging.CRITICAL)
    threading.excepthook = lambda _: None
    sys.unraisablehook = lambda _: None
    calls = Calls(target)
    raised, weights = None, b""
    try:
        weights = train(folder, calls.install)
    except BaseException as error:  # noqa: BLE001 - whatever reaches the script counts
        raised = repr(error)
    finally:
        sys.settrace(None)
    return Outcome(raised, weights, dict(calls.numbers), target is not None and calls.target is None)
