"""Capturing PyTorch tensors: reading their values, copying and reducing them."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from sagemaker_debug_ext.config.collection import Collection as BaseCollection
from sagemaker_debug_ext.config.reductions import Reduction
from sagemaker_debug_ext.errors import SMDebugTypeError
from sagemaker_debug_ext.hooks.base import BaseHook
from sagemaker_debug_ext.hooks.capture.step_buffer import Captured, PooledValue, StepBuffer
from sagemaker_debug_ext.hooks.fail_safe import skip_value
from sagemaker_debug_ext.hooks.pytorch.buffer_pool import BufferPool
from sagemaker_debug_ext.hooks.pytorch.collections import Collection
from sagemaker_debug_ext.hooks.pytorch.distributed import is_partial, is_sharded, local_shard
from sagemaker_debug_ext.hooks.pytorch.module_hooks import Due
from sagemaker_debug_ext.hooks.pytorch.statistics.reducer import Reducer
from sagemaker_debug_ext.hooks.pytorch.tensors import (
    PlainTensor,
    as_dense,
    capturable,
    check_can_store,
    flatten_tensors,
    is_plain,
    plain_tensor,
    reduce_tensor,
    tensor_to_array,
)
from sagemaker_debug_ext.store.format.messages import Array
from sagemaker_debug_ext.vocabulary import CollectionKeys

LOG = logging.getLogger(__name__)


class TensorHook(BaseHook):
    """Saves PyTorch tensors: parameters, gradients, and inputs and outputs of modules.

    Args:
        args: As for `BaseHook`.
        kwargs: As for `BaseHook`.
    """

    builtin_patterns: ClassVar[Mapping[str, tuple[str, ...]]] = {
        CollectionKeys.DEFAULT: (),
        CollectionKeys.ALL: (),
        CollectionKeys.WEIGHTS: ("^(?!gradient).*weight",),
        CollectionKeys.BIASES: ("^(?!gradient).*bias",),
        CollectionKeys.GRADIENTS: ("^gradient",),
        CollectionKeys.LOSSES: ("[Ll]oss_(?!input).*output",),
    }
    collection_class: ClassVar[type[BaseCollection]] = Collection
    reduction_ddof: ClassVar[int] = 1

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._num_seen: dict[str, int] = {}
        self._left_out: set[str] = set()
        super().__init__(*args, **kwargs)
        self._copies = BufferPool(self._options.memory_limit_bytes)
        self._reducer = Reducer(self._copies, may_copy=self._dispatcher.flight_recorder is None)

    # --- saving -------------------------------------------------------------------------------------------------------

    def _capture(self, name: str, value: Any) -> None:
        plan = self._current_plan()
        decision = None if plan is None else plan.decide(name)
        if decision is None:
            return
        with skip_value(name, self._leave_out):
            found = plain_tensor(value) or self._find_values(name, value)
            if found is not None:
                self._save(name, found, decision)

    def _save_weights(self, weights: Due) -> None:
        """Save parameters; copy those that need PyTorch in one call."""
        if self._steps.open is not None:
            with self._reducer.together(self._steps.open):
                self._save_parameters(self._steps.open, weights)

    def _save_parameters(self, step: StepBuffer, weights: Due) -> None:
        save = self._recorder.save
        others = []
        for name, parameter, decision in weights:
            plain = plain_tensor(parameter)
            if plain is not None:
                save(step, name, plain, decision)
                continue
            with skip_value(name, self._leave_out):
                value = self._find_values(name, parameter)
                if value is not None:
                    others.append((name, as_dense(value), decision))
        copies = iter(self._copies.copy_all([value for _, value, decision in others if decision.value]))
        now = time.time()
        for name, value, decision in others:
            taken = Captured(next(copies), now) if decision.value else None
            save(step, name, value, decision, taken)

    def _offer_numbered(self, prefix: str, values: Any) -> None:
        tensors: Iterable[Tensor] = ()
        with skip_value(prefix, self._leave_out):  # reading attributes of a user-defined class runs its code
            tensors = flatten_tensors(values)
        for value in tensors:
            index = self._num_seen.get(prefix, 0)
            self._num_seen[prefix] = index + 1
            self._capture(f"{prefix}_{index}", value)

    # --- reading values -----------------------------------------------------------------------------------------------

    def _find_values(self, name: str, value: Tensor) -> Tensor | None:
        """Return the part of a tensor that this process holds, or None if it cannot read any.

        For a sharded tensor this is the process's own shard; the shape of the full tensor is saved beside it.
        """
        if is_sharded(value):
            if is_partial(value) and not name.startswith("gradient/"):  # partial gradients are its own
                self._warn_left_out(name, "what the processes hold of it has yet to be added up")
                return None
            if self._steps.open is not None:
                self._steps.open.shapes[name] = tuple(value.shape)
            value = local_shard(value)
        try:
            found = capturable(value)
        except SMDebugTypeError as error:
            self._warn_left_out(name, error)
            return None
        if found is None:
            LOG.debug("%s is not saved: a %s whose values cannot be read", name, type(value).__name__)
        return found

    def _leave_out(self, name: str, error: Exception) -> None:
        """Skip a value that cannot be read, unless the hook is strict."""
        if self.strict:
            raise error
        self._warn_left_out(name, error)

    def _warn_left_out(self, name: str, reason: object) -> None:
        """Log once for each name why its tensor is not saved."""
        if name not in self._left_out:
            self._left_out.add(name)
            LOG.warning("%s is not saved: %s", name, reason)

    # --- called by BaseHook -------------------------------------------------------------------------------------------

    def _copy_value(self, value: Any) -> Any:
        if isinstance(value, PlainTensor) or (isinstance(value, np.ndarray) and is_plain(value)):
            return self._copies.copy_array(value)
        if not isinstance(value, Tensor):
            return super()._copy_value(value)
        check_can_store(value.dtype)
        return self._copies.copy(as_dense(value))

    def _view(self, value: Any) -> Array:
        if isinstance(value, PlainTensor):
            return value.to_array()
        return tensor_to_array(as_dense(value)) if isinstance(value, Tensor) else super()._view(value)

    def _to_array(self, value: Any) -> Array:
        return tensor_to_array(value) if isinstance(value, Tensor) else super()._to_array(value)

    def _reduce(self, value: Any, reductions: Iterable[Reduction]) -> Iterable[tuple[Reduction, Any]]:
        if isinstance(value, PlainTensor):
            value = value.tensor
        elif isinstance(value, np.ndarray) and is_plain(value) and value.flags.writeable:
            value = torch.from_numpy(value)
        if not isinstance(value, Tensor):
            yield from super()._reduce(value, reductions)
            return
        for reduction, number in reduce_tensor(value, reductions):
            # What the device computes on the stream of training comes over in the order of that stream.
            yield reduction, self._copies.copy(number) if number.is_cuda else number

    def _save_reductions(
        self, step: StepBuffer, name: str, value: Any, reductions: tuple[Reduction, ...], now: float
    ) -> None:
        if isinstance(value, PooledValue):
            value = value.to_array()
        if not self._reducer.take(step, name, value, reductions, now):
            super()._save_reductions(step, name, value, reductions, now)

    def _save_statistics(self, step: StepBuffer, name: str, value: Any, now: float) -> None:
        is_tensor = isinstance(value, Tensor)
        if not (is_tensor and self._reducer.take_statistics(step, name, value, self.statistics, now)):
            super()._save_statistics(step, name, value, now)

    def _before_end(self, step: StepBuffer) -> None:
        if step.deferred:
            self._reducer.send(step.deferred)

    def _end(self) -> None:
        super()._end()
        self._copies.clear()
        self._reducer.clear()
