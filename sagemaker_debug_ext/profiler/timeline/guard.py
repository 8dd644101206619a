"""Keep what times training out of its way."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, Final, TypeVar

_LOG: Final = logging.getLogger(__name__)
_ALL_ERRORS: Final = (Exception,)
_R = TypeVar("_R")


class Guard:
    """Calls functions whose errors must not reach training: the first is logged, and ends all calls.

    Attributes:
        is_off: Whether an error has ended the calls.
    """

    def __init__(self) -> None:
        self.is_off = False

    def __call__(self, function: Callable[..., _R]) -> Callable[..., _R | None]:
        """Return a function that calls this one, and returns None instead of raising."""

        @functools.wraps(function)
        def guarded(*args: Any) -> _R | None:  # called several times a step; names of arguments would cost time
            if self.is_off:
                return None
            try:
                return function(*args)
            except _ALL_ERRORS:  # frameworks raise what they like, and training goes on without its times
                self.is_off = True
                _LOG.warning("steps are no longer timed", exc_info=True)
                return None

        return guarded
