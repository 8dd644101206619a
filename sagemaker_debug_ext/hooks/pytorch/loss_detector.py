"""Finds losses by what the script calls ``backward`` on."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor


class LossDetector:
    """Tells what ``backward`` is called on, between `attach` and `detach`.

    PyTorch has no hook for that moment, so `torch.autograd.backward`, which every way of starting a backward pass leads
    through, is replaced by a function that calls it.

    Args:
        on_backward: Called with the tensors before the backward pass.
    """

    def __init__(self, on_backward: Callable[[Iterable[Tensor]], object]) -> None:
        self._on_backward = on_backward
        self._original: Callable[..., Any] | None = None
        self._replacement: Callable[..., Any] | None = None

    def attach(self) -> None:
        """Begin to look."""
        original = torch.autograd.backward

        @functools.wraps(original)
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if self._original is not None:
                self._on_backward((tensors,) if isinstance(tensors, Tensor) else tuple(tensors))
            return original(tensors, *args, **kwargs)

        self._original, self._replacement = original, backward
        torch.autograd.backward = backward

    def detach(self) -> None:
        """Look no longer; should somebody else have replaced the function since, ours stays and only passes on."""
        if torch.autograd.backward is self._replacement and self._original is not None:
            torch.autograd.backward = self._original
        self._original = None
