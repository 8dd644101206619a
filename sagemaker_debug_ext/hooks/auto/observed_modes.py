"""Which forward passes train and which evaluate, by what happens: `ObservedModes`.

Whether layers work as in training is up to the script, and may be wrong. Whether a pass trains is a fact: it has
gradients, and a backward pass and an update follow.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator
from typing import Any, Final

import attrs
import torch
from torch import Tensor, nn
from torch.optim.optimizer import Optimizer

from sagemaker_debug_ext.hooks.pytorch.tensors import flatten_tensors
from sagemaker_debug_ext.vocabulary import ModeKeys

_REGULAR: Final = 5
"""Number of backward passes, each of a single forward pass, from which on further forward passes are noticed."""
_MARK: Final = "sagemaker_debug_ext_pass"
"""Key of the model and the number of a forward pass in the metadata of the operation that made its output."""
_MOST: Final = 0.5
"""Fraction of a model above which an optimizer that has it trains the model rather than a new head."""
_MOST_OPERATIONS: Final = 20_000
"""Number of operations of a backward pass to look at."""


@attrs.define(eq=False)
class _Model:
    """What has happened to a model.

    Args:
        module: The model.
        is_set_to_train: Whether any pass with gradients since the last update was in training mode.
        num_passes: Number of passes with gradients since the last update.
        num_forward: Number of passes with gradients since the last backward pass.
        num_backward: Number of backward passes that each had gone through a single forward pass; None once one did not.
        is_updated: Whether an optimizer has updated it.
        learns_in_evaluation: Whether updates follow passes in evaluation mode.
    """

    module: nn.Module
    is_set_to_train: bool = False
    num_passes: int = 0
    num_forward: int = 0
    num_backward: int | None = 0
    is_updated: bool = False
    learns_in_evaluation: bool = False

    @property
    def is_regular(self) -> bool:
        """Whether each backward pass goes through a single forward pass, as far as is known."""
        return (self.num_backward or 0) >= _REGULAR


class ObservedModes:
    """Tells the mode of each forward pass of a model.

    * A pass in evaluation mode trains if an update follows.
    * A pass without gradients in training mode evaluates, of a model that has been updated, unless it may serve
      another model, as that of a generator that feeds a discriminator does: if there are several models, only a pass
      whose output a loss is computed of, and one that follows another pass without gradients, evaluate.
    * A pass with gradients in training mode evaluates if no backward pass goes through it, of a model whose backward
      passes go through a single forward pass each. So do the passes in which a policy is asked for actions.

    What follows is not known when a pass begins. It is taken to be as after the pass before, and corrected later.
    """

    def __init__(self) -> None:
        self._models: dict[int, _Model] = {}
        self._owners: dict[tuple[int, int], float] = {}
        self._num_without_gradients = 0
        self._last: _Model | None = None
        self._num_marked = 0

    def is_left(self, module: nn.Module) -> bool:
        """Return whether the last pass evaluated, which was taken to train, given that a pass of a model begins."""
        last = self._last
        if last is None or last.module is not module or not torch.is_grad_enabled():
            return False
        return last.num_forward > 0 and last.is_regular and last.is_set_to_train

    def mode_of(self, module: nn.Module) -> ModeKeys:
        """Return the mode of a pass that begins, as far as it is known by then."""
        model = self._models.setdefault(id(module), _Model(module))
        if not torch.is_grad_enabled():
            self._last = None
            self._num_without_gradients += 1
            is_first = self._num_without_gradients == 1 and len(self._models) > 1
            may_serve = is_first or not model.is_updated
            return ModeKeys.TRAIN if module.training and may_serve else ModeKeys.EVAL
        self._last = model
        self._num_without_gradients = 0
        if not module.training and model.num_passes:
            model.learns_in_evaluation = False  # no update has followed the pass before
        model.is_set_to_train = module.training or (model.is_set_to_train and model.num_passes > 0)
        model.num_passes += 1
        model.num_forward += 1
        return ModeKeys.TRAIN if module.training or model.learns_in_evaluation else ModeKeys.EVAL

    def mark(self, module: nn.Module, outputs: Any) -> None:
        """Mark the operations that made the outputs of a pass, so that backward passes through them are told."""
        self._num_marked += 1
        for output in (outputs,) if type(outputs) is Tensor else flatten_tensors(outputs):
            operation: Any = output.grad_fn  # whose metadata PyTorch's own types do not know
            if operation is not None:
                operation.metadata[_MARK] = (id(module), self._num_marked)

    def note_loss(self) -> bool:
        """Note a loss, and return whether the last pass evaluates, which was taken to train."""
        return not torch.is_grad_enabled() and self._num_without_gradients == 1

    def note_backward(self, tensors: Iterable[Any]) -> None:
        """Note a backward pass that starts from tensors."""
        several = [model for model in self._models.values() if model.num_forward > 1 and model.num_backward is not None]
        num_used = collections.Counter(owner for owner, _ in set(_marks_before(tensors))) if several else {}
        for model in self._models.values():
            if model in several:
                model.num_backward = _REGULAR if num_used[id(model.module)] == 1 else None
            elif model.num_forward == 1 and model.num_backward is not None:
                model.num_backward += 1
            model.num_forward = 0

    def note_update(self, optimizer: Optimizer) -> bool:
        """Note an update of parameters, and return whether a model learns from passes in evaluation mode."""
        learns_in_evaluation = False
        for model in self._models.values():
            share = self._share_of(optimizer, model.module) if model.num_passes else 0.0
            model.is_updated = model.is_updated or share > 0
            if share > _MOST:
                model.num_passes = 0
                model.learns_in_evaluation = not model.is_set_to_train
                learns_in_evaluation = learns_in_evaluation or model.learns_in_evaluation
        return learns_in_evaluation

    def _share_of(self, optimizer: Optimizer, module: nn.Module) -> float:
        """Return the fraction of a model that an optimizer has: little of it has that of a new head on a frozen one."""
        pair = (id(optimizer), id(module))
        if pair not in self._owners:
            updated = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
            sizes = [(parameter.numel(), id(parameter) in updated) for parameter in module.parameters()]
            num_updated = sum(size for size, is_updated in sizes if is_updated)
            self._owners[pair] = num_updated / max(sum(size for size, _ in sizes), 1)
        return self._owners[pair]


def _marks_before(tensors: Iterable[Any]) -> Iterator[tuple[int, int]]:
    """Yield the marks of the passes that a backward pass from tensors goes through."""
    waiting: list[Any] = [
        tensor.grad_fn for tensor in tensors if isinstance(tensor, Tensor) and tensor.grad_fn is not None
    ]
    seen = set(waiting)
    while waiting and len(seen) < _MOST_OPERATIONS:
        node = waiting.pop()
        mark = node.metadata.get(_MARK)
        if mark is not None:
            yield mark
        else:
            before = {other for other, _ in node.next_functions if other is not None} - seen
            seen |= before
            waiting += before
