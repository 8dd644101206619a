"""What is registered with a user's modules: callables that copies of the module do without.

A model with a hook attached may be copied (for averaged weights, say) or stored whole. Neither copy is anybody's
training, so what they get in place of the hook does nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.compiler import is_compiling


def do_nothing(*_: Any) -> None:
    """Stand in for a tap in copies of a module."""


class Tap:
    """Calls a function of the hook; copies and pickles of it do nothing, and neither does what `torch.compile` traces.

    Args:
        function: What to call.
        first: Arguments to put before those of the call.
    """

    def __init__(self, function: Callable[..., Any], *first: Any) -> None:
        self._function = function
        self._first = first

    def __call__(self, *arguments: Any) -> None:
        """Call the function; what it returns is nothing to the module."""
        if not is_compiling():
            self._function(*self._first, *arguments)

    def __deepcopy__(self, _: dict[int, Any]) -> Callable[..., None]:
        return do_nothing

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _return_stand_in, ()


def _return_stand_in() -> Callable[..., None]:
    return do_nothing
