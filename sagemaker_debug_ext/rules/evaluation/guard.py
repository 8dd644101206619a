"""`call_rule`: the one place that catches whatever the code of a rule raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class RuleFailure(Exception):
    """Raised when the code of a rule raised an error.

    Args:
        error: The error.
    """

    def __init__(self, error: BaseException) -> None:
        super().__init__(error)
        self.error = error


def call_rule(function: Callable[..., T], *arguments: object, expected: tuple[type[Exception], ...] = ()) -> T:
    """Call the code of a rule.

    Args:
        function: The function, such as a method of the rule.
        *arguments: Its arguments.
        expected: Errors that have a meaning for the caller and pass unchanged.

    Raises:
        RuleFailure: It raised another error.
    """
    try:
        return function(*arguments)
    except expected:
        raise
    except (Exception, SystemExit) as error:  # rules are foreign code, and the others go on without one that fails
        raise RuleFailure(error) from error
