"""Hold a trial still, or let it refresh, for a while; and read simple options from texts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial

__all__ = ["no_refresh", "parse_bool", "parse_list_from_str", "refresh"]


@contextlib.contextmanager
def no_refresh(trials: Trial | Sequence[Trial]) -> Iterator[None]:
    """Hold trials still inside: queries answer from what is known. Afterwards they are as before, come what may."""
    with _refreshing(trials, False):
        yield


@contextlib.contextmanager
def refresh(trials: Trial | Sequence[Trial]) -> Iterator[None]:
    """Let trials look for new steps inside. Afterwards they are as before, come what may."""
    with _refreshing(trials, True):
        yield


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
    """Read a boolean that may come as a text.

    Args:
        arg: A boolean, or ``true`` or ``false`` in any case.
        default: What to return for None.

    Raises:
        SMDebugValueError: It is anything else.
    """
    if arg is None or isinstance(arg, bool):
        return default if arg is None else arg
    text = str(arg).strip().lower()
    if text not in ("true", "false"):
        raise SMDebugValueError(f"a boolean must be true or false (got {arg!r})")
    return text == "true"


def parse_list_from_str(arg: str | Sequence[str] | None, delimiter: str = ",") -> list[str]:
    """Read a list that may come as a text.

    Args:
        arg: A list, or a text whose items are separated by `delimiter`; blanks around items, and empty items, are
            dropped.
        delimiter: What separates items.

    Returns:
        The items; none for None and for the empty text.

    Raises:
        SMDebugTypeError: It is neither.
    """
    if arg is None:
        return []
    if not isinstance(arg, str):
        if not isinstance(arg, Iterable):
            raise SMDebugTypeError(f"a list, or a text that holds one, was expected (got {arg!r})")
        return list(arg)
    return [item.strip() for item in arg.split(delimiter) if item.strip()]
