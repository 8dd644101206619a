"""The trials that the original library wrote."""

from __future__ import annotations

from typing import Final

ENDED: Final = (
    "dtypes",
    "keras",
    "keras_tape",
    "multi_worker",
    "scalars_custom",
    "torch_jsonconfig",
    "torch_mnistlike",
    "torch_reductions_noraw",
    "torch_reductions_raw",
    "torch_shapes",
    "torch_tensorboard",
    "xgboost",
)
RUNNING: Final = ("incomplete", "multi_worker_running")
GOLDEN_TRIALS: Final = tuple(sorted(ENDED + RUNNING))
