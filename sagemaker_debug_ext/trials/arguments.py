"""What users pass to trials and tensors: told at once, and by its name, where its type makes no sense."""

from __future__ import annotations

import numbers
import os
from collections.abc import Iterable
from typing import Final

from sagemaker_debug_ext.errors import SMDebugTypeError

_NUMBERS: Final = (int, numbers.Real)  # the usual ones first: the others take five times as long to tell


def check_step(step: object, name: str = "step") -> None:
    """Refuse what cannot be the number of a step.

    Raises:
        SMDebugTypeError: It is no number.
    """
    if not isinstance(step, _NUMBERS):
        raise SMDebugTypeError(f"{name} must be a step, a whole number (got {step!r})")


def list_steps(steps: object, name: str = "steps") -> list[int]:
    """Return steps as a list.

    Raises:
        SMDebugTypeError: They are no collection of numbers.
    """
    if not isinstance(steps, list) and (isinstance(steps, str) or not isinstance(steps, Iterable)):
        raise SMDebugTypeError(f"{name} must be a list of steps (got {steps!r})")
    listed = list(steps)
    for step in listed:
        if not isinstance(step, _NUMBERS):
            raise SMDebugTypeError(f"{name} must hold steps only, which are whole numbers (got {step!r})")
    return listed


def list_tensor_names(names: object) -> list[str]:
    """Return names of tensors as a list.

    Raises:
        SMDebugTypeError: They are no collection, or a single name.
    """
    if isinstance(names, str) or not isinstance(names, Iterable):
        hint = f"; did you mean {[names]!r}?" if isinstance(names, str) else ""
        raise SMDebugTypeError(f"names must be a list of names of tensors (got {names!r}){hint}")
    return list(names)


def check_name(name: object, where: str) -> None:
    """Refuse what cannot be a name.

    Raises:
        SMDebugTypeError: It is no text.
    """
    if not isinstance(name, str):
        raise SMDebugTypeError(f"{where} must be a name (got {name!r})")


def path_text(path: object) -> str:
    """Return the path of a trial as text, without blanks around it.

    Raises:
        SMDebugTypeError: It is no path.
    """
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise SMDebugTypeError(f"path must be a folder of this machine or s3://bucket/prefix, as text (got {path!r})")
    return text.strip()
