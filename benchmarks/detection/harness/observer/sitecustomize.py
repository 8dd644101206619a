"""Saves what training leaves behind when a program ends; in effect in each process that has this folder on its path.

At exit, the process writes a JSON file to the folder that the environment variable `FOLDER_VARIABLE` names. It lists
digests of the parameters and buffers of all PyTorch modules, of the states of optimizers, of all TensorFlow variables,
which are those of Keras too, and of random states. Generators start from the same seeds in all processes.
"""

from __future__ import annotations

import atexit
import functools
import gc
import hashlib
import json
import os
import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from sagemaker_debug_ext._imports.callbacks import when_imported

FOLDER_VARIABLE = "FINAL_STATE_FOLDER"

_CREATED: dict[str, list[Any]] = {"modules": [], "optimizers": [], "variables": []}


def _keep_created(kind: str, owner: type) -> None:
    """Keep each new object of a class until the process ends."""
    initialise = owner.__init__

    @functools.wraps(initialise)
    def keeping(self: Any, *args: Any, **kwargs: Any) -> None:
        _CREATED[kind].append(self)
        initialise(self, *args, **kwargs)

    owner.__init__ = keeping


def _digest(array: Any) -> str:
    return f"{array.dtype} {tuple(array.shape)} {hashlib.sha256(array.tobytes()).hexdigest()[:16]}"


def _digest_tensor(tensor: Any) -> str:
    import torch

    try:
        values = tensor.detach().cpu().contiguous()
        return f"{values.dtype} {tuple(values.shape)} {_digest(values.reshape(-1).view(torch.uint8).numpy())}"
    except (RuntimeError, ValueError, NotImplementedError) as error:  # of lazy, sparse and quantized tensors
        return type(error).__name__


def _modules() -> list[tuple[str, str]]:
    """Return name and digest of each tensor of each module: those created, then copies that live."""
    import torch

    created = _CREATED["modules"]
    known = set(map(id, created))
    copies = [item for item in gc.get_objects() if issubclass(type(item), torch.nn.Module) and id(item) not in known]
    return [*_tensors(created), *sorted(_tensors(copies))]  # the garbage collector has no order


def _tensors(modules: list[Any]) -> list[tuple[str, str]]:
    found = []
    for module in modules:
        for name, tensor in {**vars(module).get("_parameters", {}), **vars(module).get("_buffers", {})}.items():
            if tensor is not None:
                found.append((f"{type(module).__name__}.{name}", _digest_tensor(tensor)))
    return found


def _optimizers() -> list[tuple[str, str]]:
    """Return name and digest of each parameter and each state of the optimizers of PyTorch."""
    found = []
    for optimizer in _CREATED["optimizers"]:
        for group in vars(optimizer).get("param_groups", ()):
            for parameter in group["params"]:
                found.append((f"{type(optimizer).__name__}.parameter", _digest_tensor(parameter)))
                for name, state in optimizer.state.get(parameter, {}).items():
                    value = _digest_tensor(state) if hasattr(state, "detach") else repr(state)
                    found.append((f"{type(optimizer).__name__}.{name}", value))
    return found


def _variables() -> list[tuple[str, str]]:
    """Return name and digest of each variable of TensorFlow."""
    return [_variable(variable) for variable in _CREATED["variables"]]


def _variable(variable: Any) -> tuple[str, str]:
    try:
        return variable.name, _digest(variable.numpy())
    except (NotImplementedError, AttributeError, RuntimeError, ValueError) as error:  # it belongs to a graph
        return "?", type(error).__name__


def _random() -> list[tuple[str, str]]:
    """Return the state of each global generator."""
    found = [("random", hashlib.sha256(repr(random.getstate()).encode()).hexdigest()[:16])]
    if "numpy.random" in sys.modules:
        found.append(("numpy", hashlib.sha256(repr(sys.modules["numpy.random"].get_state()).encode()).hexdigest()[:16]))
    if "torch" in sys.modules:
        found.append(("torch", _digest_tensor(sys.modules["torch"].get_rng_state())))
    if "tensorflow" in sys.modules:
        tf = sys.modules["tensorflow"]
        found.append(("tensorflow", _digest(tf.random.uniform((4,)).numpy()) if tf.executing_eagerly() else "graph"))
    return found


def _save(folder: Path, pid: int) -> None:
    if os.getpid() != pid:
        return
    state = {
        "modules": _modules() if "torch" in sys.modules else [],
        "optimizers": _optimizers(),
        "variables": _variables(),
        "random": _random(),
    }
    (folder / f"{pid}.json").write_text(json.dumps(state), encoding="utf-8")


def _watch(module: str, path: str, kind: str) -> None:
    def react(loaded: ModuleType) -> None:
        owner: Any = loaded
        for name in path.split("."):
            owner = getattr(owner, name)
        _keep_created(kind, owner)

    when_imported(module, react)


def _seed(module: str, path: str) -> None:
    """Seed a generator as soon as its package is loaded."""

    def react(loaded: ModuleType) -> None:
        function: Any = loaded
        for name in path.split("."):
            function = getattr(function, name)
        function(0)

    when_imported(module, react)


def _observe(folder: str) -> None:
    random.seed(0)
    _seed("numpy", "random.seed")
    _seed("torch", "manual_seed")
    _seed("tensorflow", "random.set_seed")
    _watch("torch.nn.modules.module", "Module", "modules")
    _watch("torch.optim.optimizer", "Optimizer", "optimizers")
    _watch("tensorflow.python.ops.resource_variable_ops", "BaseResourceVariable", "variables")
    atexit.register(_save, Path(folder), os.getpid())


if FOLDER_VARIABLE in os.environ:
    _observe(os.environ[FOLDER_VARIABLE])
