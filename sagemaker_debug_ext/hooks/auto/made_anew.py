"""Layers that each forward pass of a model makes anew, so that no optimizer trains them."""

from __future__ import annotations

import collections
import weakref
from typing import Any, Final

import torch
from torch import nn

Shapes = tuple[tuple[int, ...], ...]

_FEWEST: Final = 2
"""Number of layers that must have gone before their successors came."""
_NUM_COMPARED: Final = 8
"""Number of elements that tell weights apart."""


class MadeAnew:
    """Finds layers that are called once, and are gone when others like them come.

    Those that the script keeps where PyTorch does not look, such as global ones, are called again.

    Attributes:
        shapes: Shapes of the parameters of a layer that is made anew each time; empty if none is known.
    """

    def __init__(self) -> None:
        self.shapes: Shapes = ()
        self._waiting = collections.defaultdict[Any, list[weakref.ref[nn.Module]]](list)
        self._elements: dict[Any, list[float]] = {}
        self._num_gone: collections.Counter[Any] = collections.Counter()

    def is_kept(self, layer: nn.Module, inputs: tuple[Any, ...]) -> bool:
        """Return whether a layer that runs within a model has run before; note it otherwise.

        A layer with the same numbers as the one before is a fixed filter, and one that gets data themselves may change
        them at random on purpose.
        """
        parameters = list(layer.parameters())
        kind = type(layer), tuple(tuple(parameter.shape) for parameter in parameters)
        waiting = self._waiting[kind]
        if any(other() is layer for other in waiting):
            return True
        is_trained = torch.is_grad_enabled() and any(isinstance(x, torch.Tensor) and x.requires_grad for x in inputs)
        elements = parameters[0].detach().reshape(-1)[:_NUM_COMPARED].tolist()
        is_another = is_trained and elements != self._elements.get(kind, elements)
        self._num_gone[kind] += is_another and any(other() is None for other in waiting)
        self._elements[kind] = elements
        self._waiting[kind] = [weakref.ref(layer), *(other for other in waiting if other() is not None)]
        if self._num_gone[kind] >= _FEWEST:
            self.shapes = kind[1]
        return False
