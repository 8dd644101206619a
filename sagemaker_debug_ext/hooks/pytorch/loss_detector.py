"""Find losses: the tensors on which the script calls ``backward``."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable
from typing import Any, Final

import attrs
import torch
from torch import Tensor

from sagemaker_debug_ext.hooks.pytorch.tensors import is_single
from sagemaker_debug_ext.hooks.pytorch.torch_compile import is_recording


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
        after_backward: Called when the backward pass has ended.
    """

    def __init__(
        self, on_backward: Callable[[Iterable[Any]], object], after_backward: Callable[[], object] | None = None
    ) -> None:
        self._on_backward = on_backward
        self._after_backward = after_backward
        self._replacement: _Replacement | None = None
        self._excluded: list[weakref.ref[Tensor]] = []

    def losses_among(self, tensors: Iterable[Any]) -> list[Tensor]:
        """Return the losses among the tensors that a backward pass starts from: those of one number, less the excluded.

        Args:
            tensors: What `on_backward` was called with.
        """
        candidates = [tensor for tensor in tensors if isinstance(tensor, Tensor)]
        new = [tensor for tensor in candidates if not any(known() is tensor for known in self._excluded)]
        return [tensor for tensor in new if is_single(tensor)]

    def exclude(self, tensors: Iterable[Tensor]) -> None:
        """Exclude tensors from the losses, because they are captured already; only weak references are kept."""
        self._excluded += map(weakref.ref, tensors)

    def forget_excluded(self) -> None:
        """Forget the excluded tensors."""
        self._excluded.clear()

    def attach(self) -> None:
        """Replace `torch.autograd.backward`."""
        original = torch.autograd.backward

        @functools.wraps(original)
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            is_whole = isinstance(tensors, tuple) or hasattr(tensors, "__torch_function__")
            if isinstance(tensors, Iterable) and not is_whole:
                tensors = tuple(tensors)  # as in the original, because an iterator can be consumed only once
            is_watched = self._replacement is not None and not is_recording()
            if is_watched:
                self._on_backward(tensors if isinstance(tensors, tuple) else (tensors,))
            result = original(tensors, *args, **kwargs)
            if is_watched and self._after_backward is not None:
                self._after_backward()
            return result

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
