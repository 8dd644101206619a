"""Keep hook errors out of the training loop.

These three guards catch every exception, because errors of frameworks and of the script's own classes have no common
base, and training must go on. Further handlers of this kind need a reason of their own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Concatenate, ParamSpec, Protocol, TypeVar


class _Hook(Protocol):
    strict: bool

    def _disable(self, error: Exception) -> None: ...


_HookT = TypeVar("_HookT", bound=_Hook)
_P = ParamSpec("_P")
_R = TypeVar("_R")


def fail_safe(method: Callable[Concatenate[_HookT, _P], _R]) -> Callable[Concatenate[_HookT, _P], _R | None]:
    """Keep a method's errors out of training: log the first, switch saving off, return None.

    A strict hook raises them.
    """

    @functools.wraps(method)
    def guarded(self: _HookT, /, *args: _P.args, **kwargs: _P.kwargs) -> _R | None:
        try:
            return method(self, *args, **kwargs)
        except Exception as error:
            self._disable(error)
            if self.strict:
                raise
            return None

    return guarded


class never_into_script:  # noqa: N801 - reads as a statement, and a class costs less than a generator
    """``with`` block whose errors do not reach a script that does not know of the hook.

    Args:
        report: Called with `details` and the error; may raise the error.
        details: What else to call `report` with.
    """

    __slots__ = ("_details", "_report")

    def __init__(self, report: Callable[..., object], *details: object) -> None:
        self._report = report
        self._details = details

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        self._report(*self._details, error)
        return True


def skip_value(name: str, report: Callable[[str, Exception], object]) -> never_into_script:
    """Return a ``with`` block that skips one value if it cannot be captured, because others may be sound.

    Args:
        name: Name of the value.
        report: Called with the name and the error; may raise the error.
    """
    return never_into_script(report, name)
