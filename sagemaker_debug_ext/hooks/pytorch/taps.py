"""What is registered with a user's modules: callables that copies of the module do without.

A model with a hook attached may be copied (for averaged weights, say) or stored whole. Neither copy is anybody's
training, so what they get in place of the hook does nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Final

import torch
from torch.compiler import is_compiling

_is_tracing: Final[Callable[[], bool]] = torch._C._is_tracing  # noqa: SLF001 - `torch.jit.is_tracing`, in one call


class Tap:
    """Calls a function of the hook; copies and pickles of it do nothing, nor does it while the model is traced.

    What `torch.compile` and `torch.jit.trace` make would call it, or hold what it has done.

    Args:
        function: What to call.
        first: Arguments to put before those of the call.
    """

    def __init__(self, function: Callable[..., Any], *first: Any) -> None:
        self._function = function
        self._first = first

    def __call__(self, *arguments: Any) -> None:
        """Call the function; what it returns is nothing to the module."""
        if not (is_compiling() or _is_tracing()):
            self._function(*self._first, *arguments)

    def __deepcopy__(self, _: dict[int, Any]) -> Callable[..., None]:
        return _stand_in()

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return getattr, (contextlib.nullcontext(), "__exit__")


def _stand_in() -> Callable[..., None]:
    """Return a function of the standard library that takes anything and does nothing.

    What is stored is loaded where this package is missing.
    """
    return contextlib.nullcontext().__exit__


def is_stand_in(function: object) -> bool:
    """Tell whether a function is what copies of a module have in place of a tap."""
    return getattr(function, "__func__", None) is contextlib.nullcontext.__exit__
