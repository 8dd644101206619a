"""Whole tensors of models that are spread over processes: the first worker gets all shards of those asked for.

The processes talk in a group of their own, on the CPU, so that nothing comes between the messages of training. All of
them must do the same: have the same tensors gathered, at the same steps.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor

from sagemaker_debug_ext.hooks.pytorch.shards import is_partial, local_shard
from sagemaker_debug_ext.vocabulary import ModeKeys

LOG = logging.getLogger(__name__)

TIMEOUT_SECONDS: Final = 300.0
"""How long one process waits for the others before it gives gathering up."""


class _Piece(NamedTuple):
    """A shard, the shape of the whole, and where in it the shard lies."""

    values: Tensor
    shape: tuple[int, ...]
    offset: tuple[int, ...]


class Gathering:
    """Puts tensors together that are spread over the processes of a job.

    To be created by all processes at the same point; they find out here which tensors any of them has.

    Args:
        patterns: What to gather: tensors in whose names one of the patterns is found.
        names: The tensors of which this process has a shard.
    """

    def __init__(self, patterns: Collection[str], names: Iterable[str]) -> None:
        self._group = torch.distributed.new_group(backend="gloo", timeout=timedelta(seconds=TIMEOUT_SECONDS))
        own = [name for name in names if any(re.search(pattern, name) for pattern in patterns)]
        self._is_stopped = False
        self.names = frozenset(name for some in self.tell_all(own) for name in some)
        """The tensors that are gathered, whichever process has shards of them."""

    def tell_all(self, message: Any) -> list[Any]:
        """Return what every process says."""
        answers: list[Any] = [None] * torch.distributed.get_world_size()
        torch.distributed.all_gather_object(answers, message, group=self._group)
        return answers

    def agree_on_steps(self, last_steps: Mapping[ModeKeys, int]) -> dict[ModeKeys, int]:
        """Return the last steps that any process has found, of those that each has found itself."""
        everyones: list[Mapping[ModeKeys, int]] = self.tell_all(dict(last_steps))
        return {mode: max(some.get(mode, -1) for some in everyones) for mode in set().union(*everyones)}

    def gather(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the whole tensors on the first worker, and nothing on the others.

        Args:
            tensors: What this process has shards of; it may have none.

        Raises:
            RuntimeError: A process is gone, or does not take part.
            ValueError: The script has ended its process groups.
        """
        if self._is_stopped:
            return {}
        pieces = {name: piece for name, tensor in tensors.items() if (piece := _piece(tensor)) is not None}
        is_first = torch.distributed.get_rank() == 0
        received: list[Any] | None = [None] * torch.distributed.get_world_size() if is_first else None
        torch.distributed.gather_object(pieces, received, dst=0, group=self._group)
        wholes: dict[str, Tensor] = {}
        for some in received or ():
            for name, piece in some.items():
                if name not in wholes:
                    wholes[name] = torch.empty(piece.shape, dtype=piece.values.dtype, device="cpu")
                place = tuple(slice(at, at + size) for at, size in zip(piece.offset, piece.values.shape, strict=True))
                wholes[name][place] = piece.values
        return wholes

    def try_to_gather(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Do what `gather` does; where that fails, log it and exchange nothing any more."""
        try:
            return self.gather(tensors)
        except (RuntimeError, ValueError):  # a process is gone, or the script has ended its groups
            LOG.exception("tensors are no longer gathered")
            self._is_stopped = True
            return {}


def _piece(tensor: Any) -> _Piece | None:
    """Return this process's part of a tensor; None if it has none, or one that has yet to be added to others."""
    from torch.distributed.tensor import _utils  # noqa: PLC0415 - there is no public way to learn the offset

    if is_partial(tensor):
        return None
    _, offset = _utils.compute_local_shape_and_global_offset(tensor.shape, tensor.device_mesh, tensor.placements)
    shard = local_shard(tensor)
    if not shard.numel():
        return None
    return _Piece(shard.cpu(), tuple(tensor.shape), tuple(offset))
