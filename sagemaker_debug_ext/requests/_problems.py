"""Collection of problems, so that one error reports all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sagemaker_debug_ext.errors import RequestValidationError, SMDebugTypeError, SMDebugValueError


def _joined(path: str, line: str) -> str:
    return path + line if not path or line.startswith("[") else f"{path}.{line}"


class Problems:
    """A list of problems, each with the path of its member."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    @property
    def lines(self) -> tuple[str, ...]:
        """The problems added so far; each starts with its path."""
        return tuple(self._lines)

    def add(self, path: str, text: str) -> None:
        """Add a problem."""
        self._lines.append(f"{path}: {text}")

    @contextmanager
    def below(self, path: str) -> Iterator[None]:
        """Add errors of the block as problems below `path`, or without a prefix if it is empty, and suppress them."""
        try:
            yield
        except RequestValidationError as error:
            self._lines += [_joined(path, line) for line in error.problems]
        except (SMDebugTypeError, SMDebugValueError) as error:
            self.add(path, str(error))

    def raise_if_any(self) -> None:
        """Raise one error with all problems, if there are any.

        Raises:
            RequestValidationError: There are problems.
        """
        if self._lines:
            raise RequestValidationError(self._lines)
