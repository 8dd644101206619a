"""This process's parts of tensors that are sharded over the processes of a job (``DTensor``)."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import Tensor

from sagemaker_debug_ext.hooks.output.trial_output import CHIEF, Worker

_MODULES = ("torch.distributed.tensor", "torch.distributed._tensor")
"""Modules that may contain the class; older PyTorch versions have only the second."""


def is_sharded(value: object) -> bool:
    """Return whether a tensor is sharded over processes, without importing any module."""
    kind = type(value)
    if kind is Tensor or not isinstance(value, Tensor):
        return False
    return any(isinstance(value, found) for found in _classes())


def _classes() -> list[type[Any]]:
    loaded = (sys.modules.get(name) for name in _MODULES)
    return [module.DTensor for module in loaded if module is not None and hasattr(module, "DTensor")]


def is_partial(value: Any) -> bool:
    """Return whether the processes hold partial sums of a tensor that are not reduced yet."""
    return any(placement.is_partial() for placement in value.placements)


def local_shard(value: Any) -> Tensor:
    """Return this process's part of a sharded tensor, without communication."""
    shard: Tensor = value.detach().to_local()
    return shard


def is_distributed() -> bool:
    """Return whether the script has set up PyTorch's own distributed training."""
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def find_worker() -> Worker:
    """Return the rank of this process; a single worker if the script has set up no distributed training."""
    if is_distributed():
        return Worker(f"worker_{torch.distributed.get_rank()}", torch.distributed.get_world_size())
    return _find_peer() or Worker(CHIEF, 1)


def _find_peer() -> Worker | None:
    """Query the libraries for distributed training that the script has imported, without importing any."""
    for name in ("horovod.torch", "smdistributed.dataparallel.torch.distributed"):
        library = sys.modules.get(name)
        if library is None:
            continue
        is_ready = getattr(library, "is_initialized", None)
        rank = getattr(library, "rank", None) or getattr(library, "get_rank", None)
        size = getattr(library, "size", None) or getattr(library, "get_world_size", None)
        if rank is not None and size is not None and (is_ready is None or is_ready()):
            return Worker(f"worker_{rank()}", size())
    return None
