"""Which forward passes train and which evaluate, by what happens: `ObservedModes`.

Whether layers work as in training is up to the script, and may be wrong. Whether a pass trains is a fact: it has
gradients, and a backward pass and an update follow.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from typing import Any, Final

import attrs
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim.optimizer import Optimizer

from sagemaker_debug_ext.hooks.pytorch.tensors import flatten_tensors
from sagemaker_debug_ext.vocabulary import ModeKeys

_REGULAR: Final = 5
"""Number of backward passes, each of a single forward pass, from which on further forward passes are noticed."""
_MOST_WALKS: Final = 50
"""Number of backward passes to look at before models that none of them told anything of are left alone."""
_MARK: Final = "sagemaker_debug_ext_pass"
"""Key of the model and the number of a forward pass in the metadata of the operation that made its output."""
_MOST: Final = 0.5
"""Fraction of a model above which an optimizer that has it trains the model rather than a new head."""
_MOST_SERVING: Final = 8
"""Number of passes without gradients in a row, of models that no optimizer updates, that may serve training."""
_MOST_OPERATIONS: Final = 20_000
"""Number of operations of a backward pass to look at."""


@attrs.define(eq=False)
class _Model:
    """What has happened to a model.

    Args:
        module: The model.
        is_set_to_train: Whether any pass with gradients since the last update was in training mode.
        num_passes: Number of passes with gradients since the last update.
        num_forward: Number of passes with gradients since the last backward pass through the model.
        num_backward: Number of backward passes that each went through the last forward pass only; None once one went
            through others.
        last_mark: Number of the last pass whose output was marked.
        is_updated: Whether an optimizer has updated it.
        learns_in_evaluation: Whether updates follow passes in evaluation mode.
    """

    module: nn.Module
    is_set_to_train: bool = False
    num_passes: int = 0
    num_forward: int = 0
    num_backward: int | None = 0
    last_mark: int = 0
    is_updated: bool = False
    learns_in_evaluation: bool = False

    @property
    def is_regular(self) -> bool:
        """Whether each backward pass goes through the last forward pass only, as far as is known."""
        return (self.num_backward or 0) >= _REGULAR

    @property
    def is_undecided(self) -> bool:
        """Whether the next backward pass tells something new about the model."""
        return self.num_forward > 0 and self.num_backward is not None and (self.num_forward > 1 or not self.is_regular)


class ObservedModes:
    """Tells the mode of each forward pass of a model.

    * A pass in evaluation mode trains if an update follows.
    * A pass without gradients in training mode evaluates if a loss is computed of what it returns, or if the pass
      before it had no gradients either, and the model has been updated. Single passes without gradients serve training:
      those of a generator that feeds a discriminator, and those that make targets. A few in a row may do so too, of
      models that nothing updates; more of them evaluate, as those of a model that was trained elsewhere. Passes that
      estimate the averages of batch normalisations anew, as ``torch.optim.swa_utils.update_bn`` does, never do.
    * A pass with gradients in training mode evaluates if no backward pass goes through it, of a model whose backward
      passes go through the last forward pass only. So do the passes in which a policy is asked for actions.

    What follows is not known when a pass begins. It is taken to be as after the pass before, and corrected later.
    """

    def __init__(self) -> None:
        self._models: dict[int, _Model] = {}
        self._shares: dict[tuple[int, int, int], tuple[weakref.ref[Optimizer], float]] = {}
        self._num_without_gradients = 0
        self._last: _Model | None = None
        self._num_marked = 0
        self._num_walks = 0
        self._num_updates = 0  # since the last loss from which nothing can go backward

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
            if not module.training:
                return ModeKeys.EVAL
            may_serve = self._num_without_gradients <= (1 if model.is_updated else _MOST_SERVING)
            return ModeKeys.TRAIN if may_serve or _estimates_averages(module) else ModeKeys.EVAL
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
        model = self._models.get(id(module))
        if model is None:
            return
        self._num_marked += 1
        for output in (outputs,) if type(outputs) is Tensor else flatten_tensors(outputs):
            operation: Any = output.grad_fn  # whose metadata PyTorch's own types do not know
            if operation is not None:
                operation.metadata[_MARK] = (id(module), self._num_marked)
                model.last_mark = self._num_marked

    def note_loss(self, loss: Any) -> bool:
        """Note a loss, and return whether the last pass evaluates, which was taken to train.

        It does if the loss is computed without gradients, too. So it does if nothing can go backward from a loss that
        is computed with gradients on, unless a backward pass is to come or such a loss precedes each update, as one by
        which a script chooses the samples to train on.
        """
        if self._num_without_gradients != 1:
            return False
        if not torch.is_grad_enabled():
            return True
        found = flatten_tensors(loss)
        if not found or any(tensor.requires_grad for tensor in found):
            return False
        num_updates, self._num_updates = self._num_updates, 0
        return num_updates > 1 and not any(model.num_forward for model in self._models.values())

    def note_backward(self, tensors: Iterable[Any]) -> None:
        """Note a backward pass that starts from tensors."""
        undecided = [model for model in self._models.values() if model.is_undecided]
        used: dict[int, set[int]] = {}
        if undecided:
            self._num_walks += 1
            for owner, number in _marks_before(tensors):
                used.setdefault(owner, set()).add(number)
        for model in self._models.values():
            numbers = used.get(id(model.module), set())
            if model not in undecided:
                model.num_forward = 0
            elif numbers == {model.last_mark}:
                model.num_backward = (model.num_backward or 0) + 1 if model.num_forward == 1 else _REGULAR
                model.num_forward = 0
            elif numbers or self._num_walks > _MOST_WALKS:
                model.num_backward = None
                model.num_forward = 0

    def note_update(self, optimizer: Optimizer) -> bool:
        """Note an update of parameters, and return whether a model learns from passes in evaluation mode."""
        learns_in_evaluation = False
        self._num_updates += 1
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
        key = (id(optimizer), sum(len(group["params"]) for group in optimizer.param_groups), id(module))
        known = self._shares.get(key)
        if known is None or known[0]() is not optimizer:
            updated = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
            sizes = [(parameter.numel(), id(parameter) in updated) for parameter in module.parameters()]
            num_updated = sum(size for size, is_updated in sizes if is_updated)
            share = num_updated / max(sum(size for size, _ in sizes), 1)
            known = self._shares[key] = (weakref.ref(optimizer), share)
        return known[1]


def _estimates_averages(module: nn.Module) -> bool:
    """Return whether batch normalisations of a model average all batches alike, as where averages are made anew."""
    return any(isinstance(part, _BatchNorm) and part.momentum is None for part in module.modules())


def _marks_before(tensors: Iterable[Any]) -> Iterator[tuple[int, int]]:
    """Yield the marks of the passes that a backward pass from tensors goes through."""
    waiting: list[Any] = [tensor.grad_fn for tensor in tensors if isinstance(tensor, Tensor)]
    waiting = [node for node in waiting if node is not None]
    seen = set(waiting)
    while waiting and len(seen) < _MOST_OPERATIONS:
        node = waiting.pop()
        mark = node.metadata.get(_MARK)
        if mark is not None:
            yield mark
        before = {other for other, _ in node.next_functions if other is not None} - seen
        seen |= before
        waiting += before
