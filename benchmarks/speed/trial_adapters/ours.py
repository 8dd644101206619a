"""Trials of this package."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import ClassVar

from trial_adapters.base import BaseAdapter


class Adapter(BaseAdapter):
    """Calls this package."""

    package: ClassVar[str] = "sagemaker_debug_ext"
    environment: ClassVar[Mapping[str, str]] = {"SAGEMAKER_DEBUG_EXT_CACHE_DIR": "off"}

    def __init__(self):
        self._writers = {}

    def write_step(self, path, step, worker, tensors):
        from sagemaker_debug_ext.store.backends import open_backend
        from sagemaker_debug_ext.store.format.messages import to_array
        from sagemaker_debug_ext.store.writer import NamedTensor, StepData, TrialWriter
        from sagemaker_debug_ext.vocabulary import ModeKeys

        if (path, worker) not in self._writers:
            self._writers[path, worker] = TrialWriter(open_backend(path), worker)
        named = [NamedTensor(name, to_array(value), time.time()) for name, value in tensors]
        self._writers[path, worker].write_step(StepData(step, ModeKeys.TRAIN, step, named))

    def finish(self, path, workers, names):
        from sagemaker_debug_ext.store.backends import open_backend
        from sagemaker_debug_ext.store.writer import TrialWriter

        for worker in workers:
            collection = {"name": "default", "include_regex": [], "tensor_names": list(names)}
            TrialWriter(open_backend(path), worker).write_collections([collection], len(workers))
        TrialWriter(open_backend(path)).end()

    def all_values(self, trial):
        return trial.values()
