"""Gather the shards of distributed tensors on the first worker.

The processes communicate in a separate CPU group, so that gathering does not interleave with the messages of training.
All processes must gather the same tensors at the same steps.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import timedelta
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor, nn

from sagemaker_debug_ext.config.collection import compile_pattern
from sagemaker_debug_ext.hooks.capture.save_plan import SaveDecision, StepPlan
from sagemaker_debug_ext.hooks.pytorch.distributed import is_distributed, is_partial, is_sharded, local_shard
from sagemaker_debug_ext.hooks.pytorch.optimizer_hooks import OptimizerHooks
from sagemaker_debug_ext.hooks.pytorch.registration import ModuleRegistry
from sagemaker_debug_ext.vocabulary import ModeKeys

LOG = logging.getLogger(__name__)

TIMEOUT_SECONDS: Final = 300.0
"""Seconds that a process waits for the others before it stops gathering."""


class _Piece(NamedTuple):
    """A shard, its offset, and the shape of the full tensor."""

    values: Tensor
    shape: tuple[int, ...]
    offset: tuple[int, ...]


class ShardGatherer:
    """Assembles tensors that are sharded over the processes of a job.

    All processes must create it at the same point, because they exchange the names of their tensors here.

    Args:
        patterns: Tensors whose names match one of these patterns are gathered.
        names: The tensors with a shard in this process.
    """

    def __init__(self, patterns: Collection[str], names: Iterable[str]) -> None:
        self._group = torch.distributed.new_group(backend="gloo", timeout=timedelta(seconds=TIMEOUT_SECONDS))
        own = [name for name in names if any(re.search(pattern, name) for pattern in patterns)]
        self._is_stopped = False
        self.names = frozenset(name for names in self.tell_all(own) for name in names)
        """The tensors that are gathered, whichever process has shards of them."""

    def tell_all(self, message: Any) -> list[Any]:
        """Exchange messages, and return the message of every process."""
        answers: list[Any] = [None] * torch.distributed.get_world_size()
        torch.distributed.all_gather_object(answers, message, group=self._group)
        return answers

    def agree_on_steps(self, last_steps: Mapping[ModeKeys, int]) -> dict[ModeKeys, int]:
        """Return the last steps that any process has found, of those that each has found itself."""
        answers: list[Mapping[ModeKeys, int]] = self.tell_all(dict(last_steps))
        return {mode: max(steps.get(mode, -1) for steps in answers) for mode in set().union(*answers)}

    def gather(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the whole tensors on the first worker, and nothing on the others.

        Args:
            tensors: The shards of this process; may be empty.

        Raises:
            RuntimeError: A process has ended, or does not take part.
            ValueError: The script has ended its process groups.
        """
        if self._is_stopped:
            return {}
        pieces = {name: piece for name, tensor in tensors.items() if (piece := _piece(tensor)) is not None}
        is_first = torch.distributed.get_rank() == 0
        received: list[Any] | None = [None] * torch.distributed.get_world_size() if is_first else None
        torch.distributed.gather_object(pieces, received, dst=0, group=self._group)
        wholes: dict[str, Tensor] = {}
        for shards in received or ():
            for name, piece in shards.items():
                if name not in wholes:
                    wholes[name] = torch.empty(piece.shape, dtype=piece.values.dtype, device="cpu")
                place = tuple(slice(at, at + size) for at, size in zip(piece.offset, piece.values.shape, strict=True))
                wholes[name][place] = piece.values
        return wholes

    def try_to_gather(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Gather tensors; on failure, log the error and stop gathering."""
        try:
            return self.gather(tensors)
        except (RuntimeError, ValueError):  # a process has ended, or the script has destroyed its process groups
            LOG.exception("tensors are no longer gathered")
            self._is_stopped = True
            return {}


def _piece(tensor: Any) -> _Piece | None:
    """Return this process's shard of a tensor, or None if it has none or only a partial sum."""
    from torch.distributed.tensor import _utils  # noqa: PLC0415 - no public function returns the offset

    if is_partial(tensor):
        return None
    _, offset = _utils.compute_local_shape_and_global_offset(tensor.shape, tensor.device_mesh, tensor.placements)
    shard = local_shard(tensor)
    if not shard.numel():
        return None
    return _Piece(shard.cpu(), tuple(tensor.shape), tuple(offset))


_GRADIENT: Final = "gradient/"


class FullTensorSaver:
    """Gather sharded tensors on rank 0 and save them unsharded.

    Whether anything is exchanged depends on nothing that is another process's own.

    Args:
        roots: The registered models.
        save: Saves what was decided of a tensor.
    """

    def __init__(self, roots: ModuleRegistry, save: Callable[[str, Tensor, SaveDecision], object]) -> None:
        self._roots = roots
        self._save = save
        self._patterns: tuple[str, ...] = ()
        self.gathering: ShardGatherer | None = None
        """Assembles tensors; None while no tensor is to be gathered."""

    def add(self, patterns: tuple[str, ...]) -> None:
        """Add patterns; tensors whose names match are saved unsharded.

        Raises:
            SMDebugValueError: A pattern is not a regular expression.
        """
        for pattern in patterns:
            compile_pattern(pattern, "gather()")
        self._patterns += patterns

    def needs_all_processes(self) -> bool:
        """Return whether processes that save nothing must take part."""
        return bool(self._patterns) and is_distributed()

    def agree_on_steps(self, last_steps: Mapping[ModeKeys, int]) -> Mapping[ModeKeys, int]:
        """Meet the other processes, if any is needed; return the last steps that count of what all have found."""
        if not self.needs_all_processes():
            return last_steps
        sharded = [name for name, parameter in self._parameters().items() if is_sharded(parameter)]
        self.gathering = ShardGatherer(self._patterns, [*sharded, *(_GRADIENT + name for name in sharded)])
        return self.gathering.agree_on_steps(last_steps)

    def has(self, name: str) -> bool:
        """Return whether a tensor is saved as a whole."""
        return self.gathering is not None and name in self.gathering.names

    def begin_step(self, plan: StepPlan, is_training: bool, is_strict: bool, optimizers: OptimizerHooks) -> None:
        """Gather the tensors that are due: weights now, gradients as the optimizer finds them.

        Args:
            plan: What is due.
            is_training: Whether gradients may come.
            is_strict: Raise errors instead of disabling gathering.
            optimizers: Tell when gradients are there.
        """
        self.save_weights(plan, is_strict)
        owners = self.gradients_due(plan) if is_training else None
        if owners is not None:
            optimizers.save_before_updates(
                owners, lambda updated: self.save_gradients(plan, owners, updated, is_strict)
            )

    def save_weights(self, plan: StepPlan, is_strict: bool) -> None:
        """Save the parameters that are due.

        Args:
            plan: What is due.
            is_strict: Raise errors instead of disabling gathering.
        """
        due = {name for name in self._due(plan) if not name.startswith(_GRADIENT)}
        if due:
            named = self._parameters()
            self._gather(plan, {name: named[name] for name in due if name in named}, is_strict)

    def gradients_due(self, plan: StepPlan) -> dict[str, nn.Parameter] | None:
        """Return the parameters of this process whose gradients are due, by the name of the gradient.

        Returns:
            None if no gradient is due in any process.
        """
        gradients = {name for name in self._due(plan) if name.startswith(_GRADIENT)}
        if not gradients:
            return None
        named = self._parameters()
        return {name: named[bare] for name in gradients if (bare := name.removeprefix(_GRADIENT)) in named}

    def save_gradients(
        self, plan: StepPlan, owners: Mapping[str, nn.Parameter], updated: set[int], is_strict: bool
    ) -> None:
        """Save the gradients of those parameters that an optimizer is about to update."""
        found = {name: owner.grad for name, owner in owners.items() if owner.grad is not None and id(owner) in updated}
        self._gather(plan, found, is_strict)

    def _parameters(self) -> dict[str, nn.Parameter]:
        return {name: parameter for root in self._roots for name, parameter in self._roots.parameters_of(root)}

    def _due(self, plan: StepPlan) -> list[str]:
        names = self.gathering.names if self.gathering is not None else ()
        return [name for name in names if plan.decide(name) is not None]

    def _gather(self, plan: StepPlan, shards: Mapping[str, Tensor], is_strict: bool) -> None:
        assert self.gathering is not None
        wholes = self.gathering.gather(shards) if is_strict else self.gathering.try_to_gather(shards)
        for name, whole in wholes.items():
            decision = plan.decide(name)
            if decision is not None:
                self._save(name, whole, decision)
