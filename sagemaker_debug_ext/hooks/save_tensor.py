"""Saving single tensors without a hook."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any, Final

import numpy as np

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.config.hook_options import DEFAULT_OUT_DIR
from sagemaker_debug_ext.errors import SMDebugTypeError, brief
from sagemaker_debug_ext.hooks.options.config_file import read_configuration
from sagemaker_debug_ext.hooks.output.trial_output import CHIEF
from sagemaker_debug_ext.store.backends import open_backend
from sagemaker_debug_ext.store.format import manifest
from sagemaker_debug_ext.store.format.keys import collections_key
from sagemaker_debug_ext.store.format.messages import Array, to_array
from sagemaker_debug_ext.store.writer import NamedTensor, StepData, TrialWriter
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

_LOCK: Final = threading.Lock()
_TRIALS: Final[dict[str, _Trial]] = {}


def save_tensor(value: Any, name: str, path: str | os.PathLike[str] | None = None) -> int:
    """Append a tensor to a trial, as the only one of the next step, as a member of collection ``default``.

    For scripts that have no hook: no framework is needed, and nothing has to be closed. The trial is not marked as
    ended, and one that has ended can be appended to. One process at a time may append to a trial.

    Args:
        value: An array, a tensor of any framework, a number, a text, or a list of numbers or texts.
        name: Name to save it under.
        path: Folder of the trial; the tensor folder of the job when not given.

    Returns:
        The step.

    Raises:
        SMDebugTypeError: The value cannot be saved, or the name is no text.
        OSError: Writing failed.
    """
    if not isinstance(name, str):
        raise SMDebugTypeError(f"name must be a text (got {brief(name)})")
    array = _convert(value)
    backend = open_backend(_job_folder() if path is None else path)
    with _LOCK:
        trial = _TRIALS.get(backend.url)
        if trial is None:
            trial = _TRIALS[backend.url] = _Trial(TrialWriter(backend, CHIEF))
        return trial.append(name, array)


class _Trial:
    """A trial that tensors are appended to."""

    def __init__(self, writer: TrialWriter) -> None:
        self._writer = writer
        self._names: set[str] = set()

    def append(self, name: str, array: Array) -> int:
        """Write a step, and list the tensor among the members of its collection."""
        step = max(self._writer.visible_steps, default=-1) + 1
        self._writer.write_step(StepData(step, ModeKeys.GLOBAL, step, [NamedTensor(name, array, time.time())]))
        if name not in self._names:
            self._list(name)
        return step

    def _list(self, name: str) -> None:
        backend, key = self._writer.backend, collections_key(self._writer.worker)
        known = manifest.read_collections(backend, key) if backend.exists(key) else manifest.CollectionsFile({})
        default = Collection.from_dict(
            known.collections.get(CollectionKeys.DEFAULT) or {"name": CollectionKeys.DEFAULT}
        )
        default.add_tensor_name(name)
        collections = {**known.collections, CollectionKeys.DEFAULT: default.to_json_dict()}
        self._writer.write_collections(collections.values(), known.num_workers)
        self._names.add(name)


def _convert(value: Any) -> Array:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        from sagemaker_debug_ext.hooks.pytorch.tensors import copy_tensor, tensor_to_array  # noqa: PLC0415 - loads PyTorch

        return tensor_to_array(copy_tensor(value))
    if hasattr(value, "__array__") and not isinstance(value, np.generic):
        value = value.__array__()
    return to_array(value)


def _job_folder() -> str:
    try:
        out_dir: str = read_configuration(None, os.environ).options.out_dir
    except FileNotFoundError:
        return DEFAULT_OUT_DIR
    return out_dir
