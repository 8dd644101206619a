"""Type checks of the arguments with which rules are made and run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sagemaker_debug_ext.errors import SMDebugTypeError

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial


def check_trial(trial: object, name: str) -> None:
    """Raise if the argument cannot be an opened trial; objects that behave like one are accepted.

    Raises:
        SMDebugTypeError: It is None, a path or a list.
    """
    if trial is None or isinstance(trial, (str, os.PathLike, Sequence)):
        raise SMDebugTypeError(f"{name} must be a trial, as create_trial(path) returns it (got {trial!r})")


def list_trials(trials: object) -> list[Trial]:
    """Return the further trials of a rule as a list; empty for None.

    Raises:
        SMDebugTypeError: They are no list of trials.
    """
    if trials is None:
        return []
    if isinstance(trials, str) or not isinstance(trials, Iterable):
        raise SMDebugTypeError(f"other_trials must be a list of trials (got {trials!r})")
    listed = list(trials)
    for trial in listed:
        check_trial(trial, "each of other_trials")
    return listed


def copy_parameters(parameters: object) -> dict[str, Any]:
    """Return a copy of the parameters of a rule; empty for None.

    Raises:
        SMDebugTypeError: They are no mapping from names to values.
    """
    if parameters is None:
        return {}
    if not isinstance(parameters, Mapping) or not all(isinstance(name, str) for name in parameters):
        raise SMDebugTypeError(f"parameters must map names to values (got {parameters!r})")
    return dict(parameters)
