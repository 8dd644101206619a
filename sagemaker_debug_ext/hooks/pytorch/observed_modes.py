"""Which forward passes train and which evaluate, by what happens: `ObservedModes`.

Whether layers work as in training is up to the script, and may be wrong. Whether a pass trains is a fact: it has
gradients, and a backward pass and an update follow.
"""

from __future__ import annotations

from typing import Final

import attrs
import torch
from torch import nn
from torch.optim.optimizer import Optimizer

from sagemaker_debug_ext.vocabulary import ModeKeys

_REGULAR: Final = 5
"""Number of backward passes, each after a single forward pass, from which on further forward passes are noticed."""


@attrs.define(eq=False)
class _Model:
    """What has happened to a model.

    Args:
        module: The model.
        is_set_to_train: Whether any pass with gradients since the last update was in training mode.
        num_passes: Number of passes with gradients since the last update.
        num_forward: Number of passes with gradients since the last backward pass.
        num_backward: Number of backward passes that each followed a single forward pass; None once one did not.
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


class ObservedModes:
    """Tells the mode of each forward pass of a model.

    * A pass in evaluation mode trains if an update follows.
    * A pass without gradients in training mode evaluates if the pass before it had none either, and the model has been
      updated; single passes without gradients serve others, as those of a generator that feeds a discriminator do.
    * A pass with gradients in training mode evaluates if no backward pass follows, of a model whose passes have each
      been followed by one so far.

    What follows is not known when a pass begins. It is taken to be as after the pass before, and corrected later.
    """

    def __init__(self) -> None:
        self._models: dict[int, _Model] = {}
        self._owners: dict[tuple[int, int], bool] = {}
        self._num_without_gradients = 0
        self._is_guess = False

    def mode_of(self, module: nn.Module) -> ModeKeys:
        """Return the mode of a pass that begins, as far as it is known by then."""
        model = self._models.setdefault(id(module), _Model(module))
        self._is_guess = False
        if not torch.is_grad_enabled():
            self._num_without_gradients += 1
            serves_others = self._num_without_gradients == 1 or not model.is_updated
            return ModeKeys.TRAIN if module.training and serves_others else ModeKeys.EVAL
        self._num_without_gradients = 0
        if not module.training and model.num_passes:
            model.learns_in_evaluation = False  # no update has followed the pass before
        model.is_set_to_train = module.training or (model.is_set_to_train and model.num_passes > 0)
        model.num_passes += 1
        model.num_forward += 1
        if module.training:
            self._is_guess = model.num_forward > 1 and (model.num_backward or 0) >= _REGULAR
            return ModeKeys.EVAL if self._is_guess else ModeKeys.TRAIN
        return ModeKeys.TRAIN if model.learns_in_evaluation else ModeKeys.EVAL

    def note_backward(self) -> bool:
        """Note a backward pass, and return whether the last forward pass trains, which was taken to evaluate."""
        for model in self._models.values():
            if model.num_forward == 1 and model.num_backward is not None:
                model.num_backward += 1
            elif model.num_forward > 1 and (model.num_backward or 0) < _REGULAR:
                model.num_backward = None
            model.num_forward = 0
        is_wrong, self._is_guess = self._is_guess, False
        return is_wrong

    def note_update(self, optimizer: Optimizer) -> bool:
        """Note an update of parameters, and return whether a model learns from passes in evaluation mode."""
        learns_in_evaluation = False
        for model in self._models.values():
            if model.num_passes and self._has_most_of(optimizer, model.module):
                model.num_passes = 0
                model.is_updated = True
                model.learns_in_evaluation = not model.is_set_to_train
                learns_in_evaluation = learns_in_evaluation or model.learns_in_evaluation
        return learns_in_evaluation

    def _has_most_of(self, optimizer: Optimizer, module: nn.Module) -> bool:
        """Return whether an optimizer has most of a model, rather than a new head that is trained on a frozen one."""
        pair = (id(optimizer), id(module))
        if pair not in self._owners:
            updated = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
            sizes = [(parameter.numel(), id(parameter) in updated) for parameter in module.parameters()]
            num_updated = sum(size for size, is_updated in sizes if is_updated)
            self._owners[pair] = 2 * num_updated > sum(size for size, _ in sizes)
        return self._owners[pair]
