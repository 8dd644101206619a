"""Context managers that control the refreshing of trials, and parsers of simple options."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial

_TrialsT = TypeVar("_TrialsT", bound="Trial | Sequence[Trial]")

__all__ = ["no_refresh", "parse_bool", "parse_list_from_str", "refresh", "str2bool"]


@contextlib.contextmanager
def no_refresh(trials: _TrialsT) -> Iterator[_TrialsT]:
    """Disable refreshing of trials within the context, so that queries use known steps only; restore it afterwards.

    The value of the context is the argument: a trial, or a list of trials.
    """
    with _refreshing(trials, False):
        yield trials


@contextlib.contextmanager
def refresh(trials: _TrialsT) -> Iterator[_TrialsT]:
    """Enable refreshing of trials within the context; restore the previous state afterwards. See `no_refresh`."""
    with _refreshing(trials, True):
        yield trials


@contextlib.contextmanager
def _refreshing(trials: Trial | Sequence[Trial], value: bool) -> Iterator[None]:
    several = list(trials) if isinstance(trials, Sequence) else [trials]
    before = [trial.dynamic_refresh for trial in several]
    try:
        for trial in several:
            trial.dynamic_refresh = value
        yield
    finally:
        for trial, former in zip(several, before, strict=True):
            trial.dynamic_refresh = former


def parse_bool(arg: bool | str | None, default: bool | None = None) -> bool | None:
    """Parse a boolean that may be a string.

    Args:
        arg: A boolean, or the string ``true`` or ``false``, ignoring case.
        default: Result for None.

    Raises:
        SMDebugValueError: `arg` is neither.
    """
    if arg is None or isinstance(arg, bool):
        return default if arg is None else arg
    text = str(arg).strip().lower()
    if text not in ("true", "false"):
        raise SMDebugValueError(f"a boolean must be true or false (got {arg!r})")
    return text == "true"


def parse_list_from_str(arg: str | Sequence[str] | None, delimiter: str = ",") -> list[str]:
    """Parse a list that may be a string.

    Args:
        arg: A list, or a string whose items are separated by `delimiter`; blanks around items, and empty items, are
            dropped.
        delimiter: Separator of the items.

    Returns:
        The items; an empty list for None and the empty string.

    Raises:
        SMDebugTypeError: `arg` is neither.
    """
    if arg is None:
        return []
    if not isinstance(arg, str):
        if not isinstance(arg, Iterable):
            raise SMDebugTypeError(f"a list or a string was expected (got {arg!r})")
        return list(arg)
    return [item.strip() for item in arg.split(delimiter) if item.strip()]


def str2bool(v: bool | str) -> bool:
    """Parse a boolean that may be one of the usual words.

    Args:
        v: A boolean, or ``y``, ``yes``, ``t``, ``true``, ``on``, ``1`` or their opposites, ignoring case.

    Raises:
        SMDebugValueError: `v` is none of these.
    """
    if isinstance(v, bool):
        return v
    words = dict.fromkeys(("y", "yes", "t", "true", "on", "1"), True)
    words |= dict.fromkeys(("n", "no", "f", "false", "off", "0"), False)
    if v.lower() not in words:
        raise SMDebugValueError(f"a boolean must be one of {', '.join(words)} (got {v!r})")
    return words[v.lower()]
