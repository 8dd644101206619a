"""Find losses: the tensors on which the script calls ``backward``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, Final

import attrs
import torch
from torch.compiler import is_compiling


@attrs.define(eq=False)
class _Replacement:
    original: Callable[..., Any]
    function: Callable[..., Any]
    is_used: bool = True


_replacements: Final[list[_Replacement]] = []
"""Those of all detectors, each of which calls the one before it; some may have ended and still be called."""


class LossDetector:
    """Reports the tensors on which ``backward`` is called, between `attach` and `detach`.

    PyTorch has no hook for that moment, so `torch.autograd.backward`, which every way of starting a backward pass leads
    through, is replaced by a function that calls it.

    Args:
        on_backward: Called before the backward pass with what it starts from: tensors, or what stands for them.
    """

    def __init__(self, on_backward: Callable[[Iterable[Any]], object]) -> None:
        self._on_backward = on_backward
        self._replacement: _Replacement | None = None

    def attach(self) -> None:
        """Replace `torch.autograd.backward`."""
        original = torch.autograd.backward

        @functools.wraps(original)
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            is_whole = isinstance(tensors, tuple) or hasattr(tensors, "__torch_function__")
            if isinstance(tensors, Iterable) and not is_whole:
                tensors = tuple(tensors)  # as in the original, because an iterator can be consumed only once
            if self._replacement is not None and not is_compiling():
                self._on_backward(tensors if isinstance(tensors, tuple) else (tensors,))
            return original(tensors, *args, **kwargs)

        torch.autograd.backward = backward
        self._replacement = _Replacement(original, backward)
        _replacements.append(self._replacement)

    def detach(self) -> None:
        """Look no longer; where something else stands before our function, that stays and only passes on."""
        if self._replacement is not None:
            self._replacement.is_used = False
            self._replacement = None
        while _replacements and not _replacements[-1].is_used:
            if torch.autograd.backward is not _replacements[-1].function:
                break
            torch.autograd.backward = _replacements.pop().original
