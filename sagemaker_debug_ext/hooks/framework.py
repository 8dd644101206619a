"""`FrameworkAdapter`: the part of a hook that differs from framework to framework."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.config.reductions import Reduction
from sagemaker_debug_ext.config.saving import DEFAULT_SAVE_INTERVAL
from sagemaker_debug_ext.hooks.capture.step_buffer import Captured, PooledValue, StepBuffer
from sagemaker_debug_ext.hooks.output.trial_output import CHIEF, Worker
from sagemaker_debug_ext.hooks.statistics.reductions import (
    can_reduce,
    reduce_array,
    reduction_names,
    without_output_number,
)
from sagemaker_debug_ext.hooks.statistics.summaries import compute_statistics
from sagemaker_debug_ext.store.format.keys import reduction_tensor_name
from sagemaker_debug_ext.store.format.messages import Array, to_array
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys


class FrameworkAdapter:
    """The calls that the hook of each framework overrides; the defaults suit tensors that are NumPy arrays."""

    default_collections: ClassVar[tuple[str, ...]] = (CollectionKeys.LOSSES,)
    """Collections that are always saved."""

    builtin_patterns: ClassVar[Mapping[str, tuple[str, ...]]] = {CollectionKeys.DEFAULT: (), CollectionKeys.ALL: ()}
    """The collections every hook of the framework has, with their patterns."""

    collection_class: ClassVar[type[Collection]] = Collection
    default_save_interval: ClassVar[int] = DEFAULT_SAVE_INTERVAL

    expected_collections: ClassVar[tuple[str, ...]] = (CollectionKeys.LOSSES,)
    """Those of them of which every training has members."""

    loss_hint: ClassVar[str] = "no loss was saved"
    """How a script has losses saved; told if none was."""

    model_hint: ClassVar[str] = "give it a model"
    """How a script gives the hook a model; told if it has none."""

    statistics: tuple[str, ...]
    """Statistics to save of every tensor beside its reductions; set by the hook."""

    export_tensorboard: bool
    """Whether TensorBoard files are written; set by the hook."""

    reduction_ddof: ClassVar[int] = 0
    """The framework's delta degrees of freedom in `std` and `variance`."""

    def _find_worker(self) -> Worker:
        """Return the rank of this process; called once, at the first step."""
        return Worker(CHIEF, 1)

    def _copy_value(self, value: Any) -> Any:
        """Return a copy of a value that has `nbytes` and `shape`, and that `_to_array` understands.

        Raises:
            SMDebugTypeError: The value cannot be saved.
        """
        return np.array(to_array(value))

    def _view(self, value: Any) -> Array:
        """Return a value as an array that is read at once, on this thread."""
        return self._to_array(value)

    def _to_array(self, value: Any) -> Array:
        """Turn a copied or reduced value into the array that is stored; runs on the writing thread."""
        array: Array = value.to_array() if isinstance(value, PooledValue) else value
        return array

    def _reduce(self, value: Any, reductions: Iterable[Reduction]) -> Iterable[tuple[Reduction, Any]]:
        """Yield the reductions of a value, without those that do not exist for it."""
        if can_reduce(value):
            for reduction in reductions:
                yield reduction, reduce_array(value, reduction, self.reduction_ddof)

    def _save_reductions(
        self, step: StepBuffer, name: str, value: Any, reductions: tuple[Reduction, ...], now: float
    ) -> None:
        """Save reductions of a value with a step."""
        names = reduction_names(name, reductions)
        for reduction, number in self._reduce(value, reductions):
            step.tensors[names[reductions.index(reduction)]] = Captured(number, now)

    def _save_statistics(self, step: StepBuffer, name: str, value: Any, now: float) -> None:
        """Save the hook's statistics of a value with a step."""
        bare = without_output_number(name)
        for statistic, number in compute_statistics(self._view(value), self.statistics).items():
            step.tensors[reduction_tensor_name(statistic, False, bare)] = Captured(number, now)

    def _joins_collectives(self) -> bool:
        """Return whether other processes need this one in their collectives, although it saves nothing itself."""
        return False

    def _sync_last_steps(self, last_steps: Mapping[ModeKeys, int]) -> Mapping[ModeKeys, int]:
        """Return the last steps to continue from, given those that this process has found; called once."""
        return last_steps

    def _has_model(self) -> bool:
        """Return whether the script has given the hook a model."""
        return True

    def _is_step_complete(self) -> bool:
        """Return whether the open step is certain to get no more values."""
        return False

    def _is_between_trainings(self) -> bool:
        """Return whether the framework has returned from training, so that only the script can add to the open step."""
        return False

    def _continues_counting(self) -> bool:
        """Return whether steps are counted on from those that an earlier run has left in the folder."""
        return True

    def _before_plan(self) -> None:
        """Add to collections the members that only the framework's hook knows."""

    def _before_end(self, step: StepBuffer) -> None:
        """Complete the open step before it ends."""

    def _detach(self) -> None:
        """Remove everything from the framework's objects."""
