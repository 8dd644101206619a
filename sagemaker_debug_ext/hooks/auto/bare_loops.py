"""Loops that train tensors of the script itself, without a module around them: `BareLoop`."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from types import FrameType
from typing import Any, Final, cast

from torch import Tensor, nn

from sagemaker_debug_ext.hooks.program.autograd import leaves_of
from sagemaker_debug_ext.hooks.pytorch.tensors import is_single

_MOST_FRAMES: Final = 20
"""Number of calling functions among whose variables names are looked for."""
_OTHERS: Final = frozenset({"torch", "sagemaker_debug_ext"})
"""Packages whose functions have the tensors of scripts under names of their own."""
_MOST_ELEMENTS: Final = 100
"""Number of elements of a list to look at."""


class Script(nn.Module):
    """Stands for the tensors that a script trains: it has them as parameters, and is never called."""


class BareLoop:
    """Follows backward passes from losses of tensors that the script trains itself.

    The first pass counts as no step, because it may be a single computation before the training of a model.
    """

    def __init__(self) -> None:
        self.model = Script()
        self._has_begun = False

    def data_of(self, tensors: Iterable[Any]) -> tuple[Tensor, ...] | None:
        """Return the data that a loss is computed of; None if the backward pass from some tensors is no step."""
        losses = (tensor for tensor in tensors if isinstance(tensor, Tensor) and is_single(tensor))
        loss = next(losses, None)
        trained, data = ((), ()) if loss is None else leaves_of(loss)
        if not trained:
            return None
        self._keep(trained)
        is_step, self._has_begun = self._has_begun, True
        return data if is_step else None

    def _keep(self, tensors: Sequence[Tensor]) -> None:
        """Make tensors parameters of the model, in place of those that the same variables held before."""
        parameters = self.model._parameters  # noqa: SLF001 - it takes only objects of class Parameter in public
        known = set(map(id, parameters.values()))
        if all(id(tensor) in known for tensor in tensors):
            return
        variables = dict(_variables())
        for number, tensor in enumerate(tensors):
            if id(tensor) not in known:
                name = variables.get(id(tensor), f"parameter_{number}")
                parameters[f"{name}.weight"] = cast("nn.Parameter", tensor)


def _variables() -> Iterator[tuple[int, str]]:
    """Yield the `id` of each tensor that a calling function has, with the name of the variable, the nearest last."""
    frames: list[FrameType] = []
    frame = inspect.currentframe()
    while frame is not None and len(frames) < _MOST_FRAMES:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in _OTHERS:
            frames.append(frame)
        frame = frame.f_back
    for frame in reversed(frames):
        for name, value in list(frame.f_locals.items()):
            if isinstance(value, Tensor):
                yield id(value), name
            elif isinstance(value, (list, tuple)):
                for place, item in enumerate(value[:_MOST_ELEMENTS]):
                    yield id(item), f"{name}_{place}"
