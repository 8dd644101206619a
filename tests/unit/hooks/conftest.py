"""A hook without framework, and what it wrote."""

from __future__ import annotations

import errno
from typing import ClassVar

import numpy as np
import pytest

from sagemaker_debug_ext.hooks import registry
from sagemaker_debug_ext.hooks.base import BaseHook
from sagemaker_debug_ext.hooks.fail_safe import fail_safe
from sagemaker_debug_ext.hooks.output.trial_output import Worker
from sagemaker_debug_ext.store import job_end, reader
from sagemaker_debug_ext.store.backends import Backend, MemoryBackend, open_backend
from sagemaker_debug_ext.store.format import keys, manifest
from support.hooks import closing_hooks


class PlainHook(BaseHook):
    """A hook whose steps are given as dictionaries of tensors."""

    builtin_patterns: ClassVar = {"default": (), "all": (), "losses": ("loss",), "gradients": ("^gradient",)}
    worker = Worker("worker_0", 1)

    def _find_worker(self):
        return self.worker

    @fail_safe
    def run_step(self, tensors=None):
        plan = self._begin_step()
        for name, value in (tensors or {}).items():
            self._capture(name, value() if callable(value) else np.asarray(value))
        self._save_custom_tensors()
        return plan is not None


class Trial:
    """What lies in a folder, read with the store alone."""

    def __init__(self, path):
        self.backend = path if isinstance(path, Backend) else open_backend(path)

    @property
    def steps(self):
        """(global step, mode, mode step) → tensor name → value."""
        found = {}
        for info in reader.list_index(self.backend):
            index = reader.read_index(self.backend, info.key)
            values = {
                name: reader.read_tensor(self.backend, index.event_file, location, name)
                for name, location in index.tensors.items()
            }
            position = (keys.parse_index_key(info.key).step, index.mode.name, index.mode_step)
            found[position] = values | {name: shape.shape for name, shape in index.shapes.items()}
        return found

    @property
    def has_ended(self):
        return job_end.has_ended(self.backend)

    def collections(self, worker="worker_0"):
        return manifest.read_collections(self.backend, keys.collections_key(worker))


@pytest.fixture(autouse=True)
def _no_hook_left():
    yield
    registry.del_hook()


@pytest.fixture
def out_dir(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def trial(out_dir):
    return Trial(out_dir)


@pytest.fixture
def make_hook(tmp_path):
    """Return a function that makes hooks, which save every step and are closed at the end of the test."""
    with closing_hooks(PlainHook, tmp_path) as make:
        yield make


class FailingBackend(MemoryBackend):
    """Fails writing once `budget` objects are written."""

    def __init__(self, budget, error=None):
        super().__init__()
        self.budget = budget
        self.error = error or OSError(errno.ENOSPC, "No space left on device")
        self.attempts = 0

    def write(self, key, parts):
        self.attempts += 1
        if self.attempts > self.budget:
            raise self.error
        super().write(key, parts)


@pytest.fixture
def failing_backend():
    return FailingBackend


@pytest.fixture
def hook_class():
    return PlainHook


@pytest.fixture
def read_trial():
    """Return a function that opens what lies in a folder or a back end."""
    return Trial
