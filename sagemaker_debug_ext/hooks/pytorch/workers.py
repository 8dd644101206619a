"""Who this process is among those of a distributed training with PyTorch."""

from __future__ import annotations

import sys

import torch

from sagemaker_debug_ext.hooks.output import CHIEF, Worker


def is_distributed() -> bool:
    """Tell whether the script has set up PyTorch's own distributed training."""
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def find_worker() -> Worker:
    """Return who this process is; the only one if the script has set up nothing."""
    if is_distributed():
        return Worker(f"worker_{torch.distributed.get_rank()}", torch.distributed.get_world_size())
    return _find_peer() or Worker(CHIEF, 1)


def _find_peer() -> Worker | None:
    """Ask the libraries for distributed training that the script has loaded, but never load one."""
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
