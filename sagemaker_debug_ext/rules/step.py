"""What rules read at one step: each tensor fetched and each statistic computed once, for all rules together."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.errors import TensorUnavailableForStep
from sagemaker_debug_ext.vocabulary import ModeKeys

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial

Array = npt.NDArray[Any]
ReductionKey = tuple[str, bool]
"""Name of a reduction, and whether it is of the absolute values."""

T = TypeVar("T")

KEPT_BYTES: Final = 512 * 2**20
"""How many bytes of values a step keeps for the next rule; what exceeds them is read again."""


def is_numeric(dtype: np.dtype[Any]) -> bool:
    """Tell whether a tensor of that type holds numbers; booleans count as 0 and 1."""
    # bfloat16 and its kin are void to NumPy's kinds, and yet can be cast
    return dtype.kind in "biufc" or (dtype.kind == "V" and np.can_cast(dtype, np.float64))


def to_float64(value: Array) -> Array:
    """Return `value` in double precision, so that no statistic of it overflows earlier than it must."""
    return value.astype(np.complex128 if value.dtype.kind == "c" else np.float64, copy=False)


def usable_value(trial: Trial, name: str, step: int, mode: ModeKeys = ModeKeys.GLOBAL) -> Array | None:
    """Return a tensor's value of the default worker, or None where a rule has nothing to look at.

    That is the case when only reductions, or nothing, was saved at the step, and for tensors that are empty or hold no
    numbers.
    """
    try:
        value = trial.tensor(name).value(step, mode=mode)
    except TensorUnavailableForStep:
        return None
    return value if value.size and is_numeric(value.dtype) else None


def as_scalar(value: Array | None) -> float | None:
    """Return the number that a tensor of exactly one element holds; None for any other tensor."""
    if value is None or value.size != 1 or value.dtype.kind == "c":
        return None
    return float(value.reshape(-1)[0])


class StepView:
    """The tensors of one step, each read at most once.

    Args:
        trial: The trial.
        step: A global step that the trial has.
    """

    def __init__(self, trial: Trial, step: int) -> None:
        self.trial = trial
        self.step = step
        self.mode = trial.mode(step) or ModeKeys.GLOBAL
        self.mode_step = trial.mode_step(step)
        self._values: dict[str, Array | None] = {}
        self._kept_bytes = 0
        self._reductions: dict[str, dict[ReductionKey, float]] = {}
        self._statistics: dict[tuple[str, Callable[[Array], Any]], Any] = {}

    @functools.cached_property
    def tensor_names(self) -> tuple[str, ...]:
        """Names of the tensors saved at this step, sorted."""
        return tuple(self.trial.tensor_names(step=self.step))

    def value(self, name: str) -> Array | None:
        """Return the tensor's value of the default worker; None as in `usable_value`."""
        if name in self._values:
            return self._values[name]
        value = usable_value(self.trial, name, self.step)
        size = 0 if value is None else value.nbytes
        if self._kept_bytes + size <= KEPT_BYTES:
            self._values[name] = value
            self._kept_bytes += size
        return value

    def scalar(self, name: str) -> float | None:
        """Return the tensor's only element; None if it has another size or no value."""
        return as_scalar(self.value(name))

    def statistic(self, name: str, function: Callable[[Array], T]) -> T | None:
        """Return ``function(value)``, computed once per step for all rules; None if there is no value.

        Args:
            name: The tensor.
            function: A module-level function of the value, not a lambda: it is also the key of the result.
        """
        key = (name, function)
        if key not in self._statistics:
            value = self.value(name)
            self._statistics[key] = None if value is None else function(value)
        return cast("T | None", self._statistics[key])

    def reductions(self, name: str) -> dict[ReductionKey, float]:
        """Return the reductions of the tensor that the hook saved; empty if it saved none."""
        if name not in self._reductions:
            saved = self.trial.tensor(name).reduction_values(self.step)
            self._reductions[name] = {key: float(np.asarray(value).reshape(-1)[0]) for key, value in saved.items()}
        return self._reductions[name]

    def default_worker(self, name: str) -> str:
        """Return the worker whose value of the tensor is read."""
        return min(self.trial.tensor(name).workers(self.step))


class StepViews:
    """Gives the view of a step; rules that share an instance share what they read.

    Only the latest step is kept, because rules visit steps in order.

    Args:
        trial: The trial.
    """

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self._latest: StepView | None = None

    def at(self, step: int) -> StepView:
        """Return the view of a global step."""
        if self._latest is None or self._latest.step != step:
            self._latest = StepView(self.trial, step)
        return self._latest
