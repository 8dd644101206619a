"""Keep hook errors out of the training loop.

These guards catch every exception, because errors of frameworks and of the script's own classes have no common base,
and training must go on. Further handlers of this kind need a reason of their own.

Callbacks raise nothing. Calls of the script raise `CALLER_ERRORS`, which say that an argument is wrong or that a call
comes at the wrong time. Creating a hook is not guarded: it comes before training, and a script cannot go on without the
hook it asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Concatenate, Final, ParamSpec, Protocol, TypeVar

from sagemaker_debug_ext.errors import (
    SMDebugNotImplementedError,
    SMDebugRuntimeError,
    SMDebugTypeError,
    SMDebugValueError,
)

CALLER_ERRORS: Final = (SMDebugTypeError, SMDebugValueError, SMDebugRuntimeError, SMDebugNotImplementedError)
"""The errors that a call of the script raises: for a wrong argument, a wrong time, or a feature that is gone."""


class _Hook(Protocol):
    strict: bool

    def _disable(self, error: Exception) -> None: ...


_HookT = TypeVar("_HookT", bound=_Hook)
_P = ParamSpec("_P")
_R = TypeVar("_R")
_AnswerT = TypeVar("_AnswerT")


def fail_safe(method: Callable[Concatenate[_HookT, _P], _R]) -> Callable[Concatenate[_HookT, _P], _R | None]:
    """Keep a method's errors out of training: log the first, switch saving off, return None.

    A strict hook raises them.
    """
    return _guard(method, (), _answer_nothing)


def script_call(method: Callable[Concatenate[_HookT, _P], _R]) -> Callable[Concatenate[_HookT, _P], _R | None]:
    """Do the same as `fail_safe` for a method that scripts call, which raises `CALLER_ERRORS`."""
    return _guard(method, CALLER_ERRORS, _answer_nothing)


def script_query(
    otherwise: Callable[..., _R],
) -> Callable[[Callable[Concatenate[_HookT, _P], _R]], Callable[Concatenate[_HookT, _P], _R]]:
    """Do the same as `script_call` for a method that returns something.

    Args:
        otherwise: Called with the hook and the arguments of a call that fails; returns what the call returns then.
    """
    return lambda method: _guard(method, CALLER_ERRORS, otherwise)


def run_all(*parts: Callable[[], object]) -> None:
    """Call all functions in this order, even if some of them raise an `Exception`; raise the first one afterwards.

    An interruption ends it at once.
    """
    errors: list[Exception] = []
    for part in parts:
        with never_into_script(errors.append):
            part()
    if errors:
        raise errors[0]


def _answer_nothing(*_: object, **__: object) -> None:
    """Return None, as a method does that returns nothing."""


def _guard(
    method: Callable[Concatenate[_HookT, _P], _R],
    raised: tuple[type[Exception], ...],
    otherwise: Callable[..., _AnswerT],
) -> Callable[Concatenate[_HookT, _P], _R | _AnswerT]:
    @functools.wraps(method)
    def guarded(self: _HookT, /, *args: _P.args, **kwargs: _P.kwargs) -> _R | _AnswerT:
        try:
            return method(self, *args, **kwargs)
        except raised:
            raise
        except Exception as error:
            self._disable(error)
            if self.strict:
                raise
            return otherwise(self, *args, **kwargs)

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
