"""Failures of hooks stay out of training."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar


class _Hook(Protocol):
    strict: bool

    def _disable(self, error: Exception) -> None: ...


_HookT = TypeVar("_HookT", bound=_Hook)
_P = ParamSpec("_P")
_R = TypeVar("_R")


def fail_safe(method: Callable[Concatenate[_HookT, _P], _R]) -> Callable[Concatenate[_HookT, _P], _R | None]:
    """Keep a method's failures out of training: log the first, switch saving off, return None.

    A strict hook raises them.
    """

    @functools.wraps(method)
    def guarded(self: _HookT, /, *args: _P.args, **kwargs: _P.kwargs) -> _R | None:
        try:
            return method(self, *args, **kwargs)
        except Exception as error:  # training goes on, whatever broke
            self._disable(error)
            if self.strict:
                raise
            return None

    return guarded
