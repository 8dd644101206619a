"""Layers that each forward pass makes anew, so that no optimizer trains them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable

from torch import nn


class MadeAnew:
    """Compares the weights that no optimizer trains, from one loss to the next.

    Args:
        is_trained: Returns whether an optimizer that is known has a parameter.
    """

    def __init__(self, is_trained: Callable[[nn.Parameter], bool]) -> None:
        self._is_trained = is_trained
        self._last: list[weakref.ref[nn.Parameter]] = []
        self._last_shapes: tuple[tuple[int, ...], ...] = ()

    def observe(self, weights: Iterable[nn.Parameter]) -> tuple[tuple[int, ...], ...]:
        """Return the shapes of weight matrices in place of which the loss before had others; empty if there are none.

        Args:
            weights: The parameters of layers that a loss depends on.
        """
        untrained = [weight for weight in weights if weight.ndim > 1 and not self._is_trained(weight)]
        shapes = tuple(tuple(weight.shape) for weight in untrained)
        now = set(map(id, untrained))
        have_stayed = any(id(weight) in now for reference in self._last if (weight := reference()) is not None)
        are_new = shapes == self._last_shapes and not have_stayed
        self._last, self._last_shapes = [weakref.ref(weight) for weight in untrained], shapes
        return shapes if are_new else ()
