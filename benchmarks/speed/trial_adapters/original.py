"""Trials of smdebug 1.0.34, as published on PyPI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from trial_adapters.base import BaseAdapter


class Adapter(BaseAdapter):
    """Calls smdebug."""

    package: ClassVar[str] = "smdebug"
    # Without the second variable, an ended trial sleeps for a second at its first query.
    environment: ClassVar[Mapping[str, str]] = {"SMDEBUG_LOG_LEVEL": "error", "SMDEBUG_TRAINING_END_DELAY_REFRESH": "0"}

    def write_step(self, path, step, worker, tensors):
        from smdebug.core.modes import ModeKeys
        from smdebug.core.writer import FileWriter

        writer = FileWriter(trial_dir=path, step=step, worker=worker)
        for name, value in tensors:
            writer.write_tensor(value, name, mode=ModeKeys.TRAIN, mode_step=step)
        writer.flush()
        writer.close()

    def finish(self, path, workers, names):
        from smdebug.core.access_layer import training_has_ended
        from smdebug.core.collection_manager import CollectionManager

        for worker in workers:
            manager = CollectionManager()
            manager.create_collection("default")
            manager.get("default").tensor_names = set(names)
            manager.set_num_workers(len(workers))
            manager.export(path, f"{worker}_collections.json")
        training_has_ended(path)

    def all_values(self, trial):
        return {name: trial.tensor(name).values() for name in trial.tensor_names()}
