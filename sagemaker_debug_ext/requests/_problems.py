"""Collects what is wrong in several places, so that one error can tell all of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sagemaker_debug_ext.errors import RequestValidationError, SMDebugTypeError, SMDebugValueError


def _joined(path: str, line: str) -> str:
    return path + line if not path or line.startswith("[") else f"{path}.{line}"


class Problems:
    """A list of problems, each with the path of the member it is about."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    @property
    def lines(self) -> tuple[str, ...]:
        """The problems noted, each beginning with its path."""
        return tuple(self._lines)

    def add(self, path: str, text: str) -> None:
        """Note one problem."""
        self._lines.append(f"{path}: {text}")

    @contextmanager
    def below(self, path: str) -> Iterator[None]:
        """Note what goes wrong in the block as problems below `path`, or right here if it is empty; raise nothing."""
        try:
            yield
        except RequestValidationError as error:
            self._lines += [_joined(path, line) for line in error.problems]
        except (SMDebugTypeError, SMDebugValueError) as error:
            self.add(path, str(error))

    def raise_if_any(self) -> None:
        """Raise one error with all problems noted.

        Raises:
            RequestValidationError: There are any.
        """
        if self._lines:
            raise RequestValidationError(self._lines)
