"""Whether scripts reset gradients between updates: `GradientResets`.

Gradients that nobody has reset are the same object, at the same version, when the next backward pass begins. Only one
parameter of each optimizer is looked at, and no value is read, so nothing waits for a device.
"""

from __future__ import annotations

import weakref

import attrs
from torch import Tensor
from torch.optim.optimizer import Optimizer


@attrs.define(eq=False)
class _Optimizer:
    """What has happened to the gradient of one parameter since the last update.

    Args:
        parameter: The parameter.
        gradient: Its gradient when it was looked at last; None if it had none.
        version: The version of that gradient.
        num_backward: Number of backward passes since the last update.
        is_reset: Whether the gradient was reset before any of these passes.
    """

    parameter: Tensor
    gradient: weakref.ref[Tensor] | None = None
    version: int = 0
    num_backward: int = 0
    is_reset: bool = False

    def look(self) -> bool:
        """Look at the gradient, and return whether it is what it was before."""
        gradient = self.parameter.grad
        if gradient is None:
            self.gradient = None
            return False
        version = gradient._version  # noqa: SLF001 - the only way to see that a tensor was written to
        if self.gradient is not None and self.gradient() is gradient:
            is_same, self.version = version == self.version, version
            return is_same
        self.gradient, self.version = weakref.ref(gradient), version
        return False


class GradientResets:
    """Follows backward passes and updates, and finds updates that use the gradients of the update before once more.

    A script that changes gradients in any way before a backward pass counts as one that resets them.
    """

    def __init__(self) -> None:
        self._optimizers: dict[int, _Optimizer] = {}

    def note_backward(self) -> None:
        """Note that a backward pass begins."""
        for optimizer in self._optimizers.values():
            optimizer.is_reset = not optimizer.look() or optimizer.is_reset
            optimizer.num_backward += 1

    def note_backward_done(self) -> None:
        """Note that a backward pass has ended, which has changed gradients."""
        for optimizer in self._optimizers.values():
            optimizer.look()

    def note_update(self, optimizer: Optimizer) -> bool | None:
        """Note an update, and return whether its gradients include those of the update before.

        The answer is None at the first update of an optimizer, and if no backward pass has come since the one before.
        """
        known = self._optimizers.get(id(optimizer))
        if known is None or known.parameter.grad is None:
            parameter = _first_with_gradient(optimizer)
            if parameter is not None:
                weakref.finalize(optimizer, self._optimizers.pop, id(optimizer), None).atexit = False
                self._optimizers[id(optimizer)] = started = _Optimizer(parameter)
                started.look()
            return None
        is_kept = None if not known.num_backward else not known.is_reset
        known.num_backward, known.is_reset = 0, False
        known.look()
        return is_kept


def _first_with_gradient(optimizer: Optimizer) -> Tensor | None:
    """Return the first parameter of an optimizer that has a gradient."""
    parameters = (parameter for group in optimizer.param_groups for parameter in group["params"])
    return next((parameter for parameter in parameters if parameter.grad is not None), None)
