"""Tensors that are spread over the processes of a job (``DTensor``): what this process holds of them."""

from __future__ import annotations

import sys
from typing import Any

from torch import Tensor

_MODULES = ("torch.distributed.tensor", "torch.distributed._tensor")
"""Where PyTorch keeps the class; older versions know the second place only."""


def is_sharded(value: object) -> bool:
    """Tell whether a tensor is spread over processes; never loads what the script has not loaded."""
    kind = type(value)
    if kind is Tensor or not isinstance(value, Tensor):
        return False
    return any(isinstance(value, found) for found in _classes())


def _classes() -> list[type[Any]]:
    loaded = (sys.modules.get(name) for name in _MODULES)
    return [module.DTensor for module in loaded if module is not None and hasattr(module, "DTensor")]


def is_partial(value: Any) -> bool:
    """Tell whether what processes hold of a tensor that is spread over them has yet to be added up."""
    return any(placement.is_partial() for placement in value.placements)


def local_shard(value: Any) -> Tensor:
    """Return this process's part of a sharded tensor, which takes no communication."""
    shard: Tensor = value.detach().to_local()
    return shard
