"""Whether scripts reset gradients between updates: `GradientResets`.

Gradients that nobody has reset are the same object, at the same version, when the next backward pass begins. Only one
parameter of each optimizer is looked at. A reset through ``grad.data`` leaves the version as it is. Such a gradient
counts as kept if it is not 0, which is read at steps that are saved only.
"""

from __future__ import annotations

import collections
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
        is_unsure: Whether the gradient was the same before one of them, and its values were not read.
        number: Number among the optimizers of its class, in the order of their first updates.
    """

    parameter: Tensor
    gradient: weakref.ref[Tensor] | None = None
    version: int = 0
    num_backward: int = 0
    is_reset: bool = False
    is_unsure: bool = False
    number: int = 0

    def look(self) -> bool:
        """Return whether the gradient is the same as at the last look."""
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
        self._num_of_class: collections.Counter[str] = collections.Counter()

    def note_backward(self, reads_values: bool) -> None:
        """Note that a backward pass begins.

        Args:
            reads_values: Whether values of gradients may be read, which waits for the device that holds them.
        """
        for optimizer in self._optimizers.values():
            is_same = optimizer.look()
            is_kept = is_same and (not reads_values or bool(optimizer.parameter.grad.any()))  # type: ignore[union-attr]
            optimizer.is_reset = optimizer.is_reset or not is_kept
            optimizer.is_unsure = optimizer.is_unsure or (is_same and not reads_values)
            optimizer.num_backward += 1

    def note_backward_done(self) -> None:
        """Note that a backward pass has ended, which has changed gradients."""
        for optimizer in self._optimizers.values():
            optimizer.look()

    def note_update(self, optimizer: Optimizer) -> bool | None:
        """Note an update, and return whether its gradients include those of the update before.

        The answer is None at the first update of an optimizer, if no backward pass has come since the one before, and
        if it takes values that were not read.
        """
        known = self._optimizers.get(id(optimizer))
        if known is None or known.parameter.grad is None:
            parameter = _first_with_gradient(optimizer)
            if parameter is not None:
                self._follow(optimizer, parameter)
            return None
        is_known = known.num_backward > 0 and (known.is_reset or not known.is_unsure)
        is_kept = not known.is_reset if is_known else None
        known.num_backward, known.is_reset, known.is_unsure = 0, False, False
        known.look()
        return is_kept

    def number_of(self, optimizer: Optimizer) -> int:
        """Return the number of an optimizer among those of its class."""
        return self._optimizers[id(optimizer)].number

    def _follow(self, optimizer: Optimizer, parameter: Tensor) -> None:
        name, key = type(optimizer).__name__, id(optimizer)
        if key not in self._optimizers:
            weakref.finalize(optimizer, self._optimizers.pop, key, None).atexit = False
            self._num_of_class[name] += 1
        self._optimizers[key] = started = _Optimizer(parameter, number=self._num_of_class[name] - 1)
        started.look()


def _first_with_gradient(optimizer: Optimizer) -> Tensor | None:
    """Return the first parameter of an optimizer that has a gradient."""
    parameters = (parameter for group in optimizer.param_groups for parameter in group["params"])
    return next((parameter for parameter in parameters if parameter.grad is not None), None)
