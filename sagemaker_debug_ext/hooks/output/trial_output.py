"""Write one worker's part of a trial on a background thread."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np

from sagemaker_debug_ext.errors import DebugExtError, IndexReaderException, SMDebugRuntimeError
from sagemaker_debug_ext.hooks.capture.pending import SCALAR_PREFIX
from sagemaker_debug_ext.hooks.capture.step_buffer import StepBuffer, SummarySpec
from sagemaker_debug_ext.hooks.fail_safe import run_all
from sagemaker_debug_ext.hooks.output.background import BackgroundWriter
from sagemaker_debug_ext.hooks.output.sagemaker_metrics import Metric, MetricsFile
from sagemaker_debug_ext.hooks.output.spill_file import SpillFile, pack, unpack
from sagemaker_debug_ext.hooks.output.tensorboard import Summary, TensorBoardOutput
from sagemaker_debug_ext.hooks.statistics.reductions import widen_extension_dtypes
from sagemaker_debug_ext.store import job_end
from sagemaker_debug_ext.store.backends import Backend, LocalBackend
from sagemaker_debug_ext.store.claims import acquire_claim, owns_claim, release_claim
from sagemaker_debug_ext.store.format.keys import index_key, program_key
from sagemaker_debug_ext.store.format.messages import Array
from sagemaker_debug_ext.store.format.program import ProgramRecord
from sagemaker_debug_ext.store.reader import read_index
from sagemaker_debug_ext.store.writer import NamedTensor, StepData, TrialWriter
from sagemaker_debug_ext.vocabulary import ModeKeys

LOG = logging.getLogger(__name__)

_Output = TypeVar("_Output")

_MAX_STEPS_LOOKED_AT: Final = 1000

CHIEF: Final = "worker_0"
"""The worker that writes when only one does."""


class Worker(NamedTuple):
    """A training process among its peers."""

    name: str
    num_workers: int


class TrialOutput:
    """Writes one worker's part of a trial in the background.

    Args:
        backend: The folder of the trial.
        worker: Who writes. A worker without peers claims a local folder for itself.
        num_writers: How many workers write.
        memory_limit_bytes: The most bytes that may wait to be written.
        on_failure: Called once, on the writing thread, with the first error.
        tensorboard: Where to show steps in TensorBoard, if anywhere.
        metrics: Where to write metrics of the job, if anywhere.
        spill_limit_bytes: The most bytes that may wait in a file when the memory limit is reached.

    Raises:
        SMDebugRuntimeError: Another process has claimed the folder.
    """

    def __init__(
        self,
        backend: Backend,
        worker: Worker,
        num_writers: int,
        memory_limit_bytes: int,
        on_failure: Callable[[Exception], object],
        tensorboard: TensorBoardOutput | None = None,
        metrics: MetricsFile | None = None,
        spill_limit_bytes: int = 0,
    ) -> None:
        self._tensorboard = tensorboard
        self._metrics = metrics
        self._backend = backend
        self._num_writers = num_writers
        self._writer = TrialWriter(backend, worker.name)
        job_end.unfinish(backend, worker.name)
        self._background = BackgroundWriter(memory_limit_bytes, on_failure)
        self._spill = SpillFile(spill_limit_bytes)
        self._can_spill = spill_limit_bytes > 0
        self._unwritten_collections: list[Mapping[str, Any]] | None = None
        self._has_claim = False
        if worker.num_workers == 1 and isinstance(backend, LocalBackend):
            self._has_claim = acquire_claim(backend)
            if not self._has_claim:
                if owns_claim(backend):
                    raise SMDebugRuntimeError(
                        f"out_dir must belong to one hook, and another one of this process writes to {backend.url!r}: "
                        "use that hook, or choose another folder"
                    )
                raise SMDebugRuntimeError(
                    f"out_dir must belong to one process, and another one writes to {backend.url!r}; "
                    "if none does, remove claim.smd there"
                )

    def last_steps(self) -> dict[ModeKeys, int]:
        """Return the last step that this worker has saved, over all modes and in each; empty if there is none.

        Modes that the last steps do not have are left out, so that a long trial is not read from end to end.
        """
        steps = sorted(self._writer.visible_steps, reverse=True)
        found: dict[ModeKeys, int] = dict.fromkeys([ModeKeys.GLOBAL], steps[0]) if steps else {}
        for step in steps[:_MAX_STEPS_LOOKED_AT]:
            try:
                index = read_index(self._backend, index_key(step, self._writer.worker))
            except IndexReaderException:  # a damaged file of the earlier run: its number counts all the same
                continue
            found.setdefault(index.mode, index.mode_step)
        return found

    def write_step(self, step: StepBuffer, to_array: Callable[[Any], Array], may_drop: bool = False) -> bool:
        """Write a step later; blocks while too much waits, unless the step may be dropped.

        A step that comes twice is written once.

        Args:
            step: The step; nothing may change it any more.
            to_array: Turns a captured value into an array, on the writing thread.
            may_drop: Drop the step instead of waiting.

        Returns:
            Whether it will be written, as far as can be known.
        """
        if step.is_released:
            return True
        job, num_bytes = functools.partial(self._write_step, step, to_array), step.num_bytes
        if not self._can_spill:
            return self._background.submit(job, num_bytes, wait=not may_drop)
        return (
            self._background.submit(job, num_bytes, wait=False)
            or self._spill_step(step, to_array)
            or self._background.submit(job, num_bytes)
        )

    def _spill_step(self, step: StepBuffer, to_array: Callable[[Any], Array]) -> bool:
        """Spill a step to the file; return False if it has no room or cannot be written."""
        try:
            take_back = self._spill.put(pack(step, to_array))
        except OSError:
            LOG.exception("training waits from now on when too much waits to be written")
            self._can_spill = False
            return False
        if take_back is None:
            return False
        self._background.submit(lambda: self._write(*unpack(take_back()), to_array))
        step.release()
        return True

    def write_collections(self, collections: Sequence[Mapping[str, Any]]) -> None:
        """Write the collections file later."""
        self._unwritten_collections = list(collections)
        self._background.submit(functools.partial(self._write_collections, self._unwritten_collections))

    def write_program(self, record: ProgramRecord) -> None:
        """Write the record of the program later."""
        key = program_key(self._writer.worker)
        self._background.submit(lambda: self._backend.write(key, (record.to_json().encode(),)))

    def flush(self, timeout_seconds: float | None = None) -> bool:
        """Wait until everything handed over is written, or writing has failed; return False on time-out."""
        return self._background.flush(timeout_seconds)

    def close(self, mark_end: bool) -> None:
        """Write what waits, and if asked to, mark the trial as ended once all its workers have come this far.

        Where writing has failed before, a reader still learns the collections and the end, if that much can be written.

        Raises:
            OSError: The back end failed.
        """
        run_all(
            self._background.close,
            self._spill.close,
            self._write_last_collections,
            lambda: job_end.finish(self._backend, self._writer.worker, self._num_writers) if mark_end else None,
            lambda: release_claim(self._backend) if self._has_claim else None,
        )

    def _write_last_collections(self) -> None:
        if self._unwritten_collections is not None:
            self._write_collections(self._unwritten_collections)

    def _write_step(self, step: StepBuffer, to_array: Callable[[Any], Array]) -> None:
        if not step.is_released:
            self._write(step, step.to_data(to_array), to_array)
            step.release()

    def _write(self, step: StepBuffer, data: StepData, to_array: Callable[[Any], Array]) -> None:
        self._writer.write_step(data)
        if self._tensorboard is not None or step.metrics:
            tensors = {
                tensor.name: tensor._replace(value=widen_extension_dtypes(tensor.value)) for tensor in data.tensors
            }
            for name, (value, wall_time) in step.summary_values.items():
                tensors[name] = NamedTensor(name, widen_extension_dtypes(to_array(value)), wall_time)
            self._metrics = self._try(self._metrics, lambda file: file.write(_metrics(step, tensors)))
            self._tensorboard = self._try(
                self._tensorboard, lambda output: output.write_step(step.position, _summaries(step, tensors))
            )

    def _try(self, output: _Output | None, write: Callable[[_Output], object]) -> _Output | None:
        """Write to an output beside the trial; return it, or None if it failed and is disabled.

        The trial does not depend on these outputs, so their failure does not stop writing.
        """
        if output is None:
            return None
        try:
            write(output)
        except (OSError, DebugExtError, ValueError):
            LOG.exception("%s failed and is given up", type(output).__name__)
            return None
        return output

    def _write_collections(self, collections: list[Mapping[str, Any]]) -> None:
        self._writer.write_collections(collections, self._num_writers)
        if self._unwritten_collections is collections:
            self._unwritten_collections = None


def _metrics(step: StepBuffer, tensors: Mapping[str, NamedTensor]) -> list[Metric]:
    """Return the mean of every tensor that is a metric."""
    _, mode, mode_step = step.position
    return [
        Metric(name, mode.name, mode_step, float(np.mean(tensors[name].value)), tensors[name].wall_time)
        for name in sorted(step.metrics & tensors.keys())
        if tensors[name].value.dtype.kind in "biuf"
    ]


def _summaries(step: StepBuffer, tensors: Mapping[str, NamedTensor]) -> list[Summary]:
    """Return what TensorBoard shows of a step: numbers of the script, and tensors with a summary."""
    return [
        Summary(spec.tag, tensor.value, tensor.wall_time, spec.is_scalar)
        for name, tensor in tensors.items()
        if (spec := step.summaries.get(name) or _scalar_spec(tensor)) is not None
    ]


def _scalar_spec(tensor: NamedTensor) -> SummarySpec | None:
    is_scalar = tensor.name.startswith(SCALAR_PREFIX) and tensor.value.size == 1
    return SummarySpec(tensor.name, is_scalar=True) if is_scalar else None
