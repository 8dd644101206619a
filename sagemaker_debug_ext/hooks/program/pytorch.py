"""The record of PyTorch models and losses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from sagemaker_debug_ext.store.format.program import LayerRecord, LossRecord, ProgramRecord


def torch_program(
    models: Iterable[tuple[str, Iterable[tuple[str, nn.Module]]]], losses: Iterable[tuple[str, nn.Module]]
) -> ProgramRecord:
    """Return the record of registered modules.

    Args:
        models: Each model's class with its modules and their names.
        losses: The losses with their names.
    """
    known = [(name, list(modules)) for name, modules in models]
    return ProgramRecord(
        framework="PyTorch",
        framework_version=torch.__version__,
        model=known[0][0] if known else None,
        layers=tuple(_layer(name, module) for _, modules in known for name, module in modules),
        losses=tuple(
            LossRecord(name=name, type=type(loss).__name__, arguments=_arguments(loss)) for name, loss in losses
        ),
        unknown=("tail: the layers before the output, because the model calls its modules in Python",),
    )


def _layer(name: str, module: nn.Module) -> LayerRecord:
    units = getattr(module, "out_features", getattr(module, "out_channels", None))
    return LayerRecord(
        name=name,
        type=type(module).__name__,
        units=units if isinstance(units, int) else None,
        is_training=module.training,
    )


def _arguments(loss: nn.Module) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(loss).items()
        if not name.startswith("_") and name != "training" and isinstance(value, (bool, int, float, str))
    }
