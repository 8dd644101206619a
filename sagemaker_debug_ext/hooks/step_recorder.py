"""Recording values with a step: tensors of the framework, and tensors and scalars of the script."""

from __future__ import annotations

import time
from typing import Any, Final

from sagemaker_debug_ext.errors import DebugExtError, SMDebugTypeError, brief
from sagemaker_debug_ext.hooks.capture.collection_set import CollectionSet
from sagemaker_debug_ext.hooks.capture.pending import PendingScalars, PendingTensors, Scalar
from sagemaker_debug_ext.hooks.capture.save_plan import SaveDecision, StepPlan
from sagemaker_debug_ext.hooks.capture.step_buffer import Captured, PooledValue, StepBuffer
from sagemaker_debug_ext.hooks.framework import FrameworkAdapter
from sagemaker_debug_ext.hooks.output.tensorboard import summary_spec_for
from sagemaker_debug_ext.vocabulary import SCALAR_COLLECTIONS, CollectionKeys, ModeKeys

_METRIC_COLLECTIONS: Final = frozenset({CollectionKeys.LOSSES, CollectionKeys.METRICS, CollectionKeys.SM_METRICS})


class StepRecorder:
    """Records values with a step, as decided for each; the adapter copies and reduces them.

    Args:
        adapter: The hook of the framework.
        collections: The collections of the hook.
        memory_limit_bytes: Bytes that tensors of the script may hold until they are due.
        has_metrics: Whether the job has a metrics file.
    """

    def __init__(
        self, adapter: FrameworkAdapter, collections: CollectionSet, memory_limit_bytes: int, has_metrics: bool
    ) -> None:
        self.tensors = PendingTensors(memory_limit_bytes)
        """Tensors of the script that are not due yet."""
        self.scalars = PendingScalars()
        """Numbers of the script that belong to a step to come."""
        self._adapter = adapter
        self._collections = collections
        self._has_metrics = has_metrics

    def save(
        self, step: StepBuffer, name: str, value: Any, decision: SaveDecision, taken: Captured | None = None
    ) -> None:
        """Record a tensor as decided; an empty tensor is skipped.

        Args:
            step: The open step.
            name: Name to save it under.
            value: The tensor, as the framework has it.
            decision: What to save of it.
            taken: A copy of it, if there is one already.
        """
        shape = tuple(value.shape)
        if 0 in shape:
            return
        adapter = self._adapter
        now = time.time() if taken is None else taken.wall_time
        if decision.reductions:
            adapter._save_reductions(step, name, value, decision.reductions, now)  # noqa: SLF001 - the adapter's calls
        if adapter.statistics and SCALAR_COLLECTIONS.isdisjoint(decision.collections):
            adapter._save_statistics(step, name, value, now)  # noqa: SLF001 - are not for scripts, which see the hook
        if decision.shape:
            step.shapes[name] = shape
        if decision.value:
            step.tensors[name] = Captured(adapter._copy_value(value), now) if taken is None else taken  # noqa: SLF001
        if adapter.export_tensorboard or self._has_metrics:
            self._observe(step, name, value, decision, now, taken)
        self._collections.note(name, decision.collections)

    def save_pending(self, step: StepBuffer, plan: StepPlan) -> None:
        """Record the tensors of the script whose collections are due."""
        for name, captured, decision in self.tensors.take_due(plan):
            self.save(step, name, captured.value, decision, captured)

    def save_scalar(self, step: StepBuffer | None, name: str, scalar: Scalar) -> None:
        """Record a number with the open step if that is of its mode; otherwise keep it for the next one."""
        self.scalars.save(name, scalar, step)

    def begin_step(self, step: StepBuffer) -> None:
        """Record the numbers that have waited for a step that begins."""
        if self.scalars.waiting:
            self.scalars.begin(step)

    def flush_scalars(self, step: StepBuffer | None, mode: ModeKeys, is_final: bool = False) -> None:
        """Record with the open step the numbers that waited for a step which does not come.

        Args:
            step: The open step.
            mode: Mode of the step to come.
            is_final: Whether none is to come.
        """
        if step is not None and self.scalars.waiting:
            self.scalars.flush_to(step, mode, is_final)

    def copy_tensor(self, value: Any) -> Captured:
        """Return a copy of a tensor of the script, taken now."""
        return Captured(self._adapter._copy_value(value), time.time())  # noqa: SLF001

    def copy_scalar(self, value: Any, name: str) -> Any:
        """Return a copy of a number of the script.

        Raises:
            SMDebugTypeError: The value is not exactly one number.
        """
        adapter = self._adapter
        try:
            copied = adapter._copy_value(value)  # noqa: SLF001
        except (TypeError, ValueError, DebugExtError) as error:
            raise SMDebugTypeError(f"scalar {name!r} must be one number (got {brief(value)})") from error
        is_text = not isinstance(copied, PooledValue) and adapter._to_array(copied).dtype.kind == "U"  # noqa: SLF001
        if is_text or copied.shape not in ((), (1,) * len(copied.shape)):
            raise SMDebugTypeError(f"scalar {name!r} must be one number (got {brief(value)})")
        return copied

    def _observe(
        self, step: StepBuffer, name: str, value: Any, decision: SaveDecision, now: float, taken: Captured | None
    ) -> None:
        """Record whether a tensor is a metric of the job, and how TensorBoard shows it."""
        if self._has_metrics and not _METRIC_COLLECTIONS.isdisjoint(decision.collections):
            step.metrics.add(name)
        if not self._adapter.export_tensorboard:
            return
        summaries = summary_spec_for(name, decision.collections, self._collections)
        if summaries is None:
            return
        step.summaries[name] = summaries
        if not (summaries.is_scalar or decision.value):
            step.summary_values[name] = taken or Captured(self._adapter._copy_value(value), now)  # noqa: SLF001
