"""smdebug 1.0.34, as it comes from the package registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar


class Adapter:
    """See `trial_adapters.base.Adapter`."""

    name: ClassVar[str] = "smdebug 1.0.34"
    # By default an ended trial sleeps for a second at its first query.
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

    def open(self, path):
        from smdebug.trials import create_trial

        return create_trial(path)

    def names(self, trial):
        return trial.tensor_names()

    def steps(self, trial):
        return trial.steps()

    def value(self, trial, name, step):
        return trial.tensor(name).value(step)

    def values(self, trial, name):
        return trial.tensor(name).values()

    def all_values(self, trial):
        return {name: trial.tensor(name).values() for name in trial.tensor_names()}
