"""Checks of arguments of trials and tensors; errors name the argument."""

from __future__ import annotations

import numbers
import os
from collections.abc import Iterable
from typing import Final

from sagemaker_debug_ext.errors import SMDebugTypeError

_NUMBERS: Final = (int, numbers.Real)  # int first, because a check against the abstract class takes five times as long


def check_step(step: object, name: str = "step") -> None:
    """Raise if a value is not a step number.

    Raises:
        SMDebugTypeError: The value is not an integer.
    """
    if not isinstance(step, _NUMBERS):
        raise SMDebugTypeError(f"{name} must be a step, a whole number (got {step!r})")


def list_steps(steps: object, name: str = "steps") -> list[int]:
    """Return steps as a list.

    Raises:
        SMDebugTypeError: `steps` is not an iterable of integers.
    """
    if not isinstance(steps, list) and (isinstance(steps, str) or not isinstance(steps, Iterable)):
        raise SMDebugTypeError(f"{name} must be a list of steps (got {steps!r})")
    listed = list(steps)
    for step in listed:
        if not isinstance(step, _NUMBERS):
            raise SMDebugTypeError(f"{name} must hold steps only, which are whole numbers (got {step!r})")
    return listed


def list_tensor_names(names: object) -> list[str]:
    """Return tensor names as a list.

    Raises:
        SMDebugTypeError: `names` is a single name or not iterable.
    """
    if isinstance(names, str) or not isinstance(names, Iterable):
        hint = f"; did you mean {[names]!r}?" if isinstance(names, str) else ""
        raise SMDebugTypeError(f"names must be a list of names of tensors (got {names!r}){hint}")
    return list(names)


def check_name(name: object, where: str) -> None:
    """Raise if a value is not a name.

    Raises:
        SMDebugTypeError: The value is not a string.
    """
    if not isinstance(name, str):
        raise SMDebugTypeError(f"{where} must be a name (got {name!r})")


def path_text(path: object) -> str:
    """Return the path of a trial as a string, without surrounding whitespace.

    Raises:
        SMDebugTypeError: The value is not a path.
    """
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise SMDebugTypeError(f"path must be a folder of this machine or s3://bucket/prefix, as text (got {path!r})")
    return text.strip()
