"""What happens to finished steps: they are written, dropped, or kept by the flight recorder."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from typing import Any, Final

import attrs
import numpy as np

from sagemaker_debug_ext.config.hook_options import HookOptions
from sagemaker_debug_ext.hooks import registry
from sagemaker_debug_ext.hooks.capture.collection_set import CollectionSet
from sagemaker_debug_ext.hooks.capture.counters import StepCounters
from sagemaker_debug_ext.hooks.capture.pending import SCALAR_PREFIX
from sagemaker_debug_ext.hooks.capture.step_buffer import StepBuffer
from sagemaker_debug_ext.hooks.output.checkpoint_state import CheckpointState
from sagemaker_debug_ext.hooks.output.flight_recorder import FlightRecorder
from sagemaker_debug_ext.hooks.output.sagemaker_metrics import MetricsFile
from sagemaker_debug_ext.hooks.output.tensorboard import TensorBoardOutput
from sagemaker_debug_ext.hooks.output.trial_output import TrialOutput, Worker
from sagemaker_debug_ext.hooks.statistics.reductions import widen_extension_dtypes
from sagemaker_debug_ext.store.backends import Backend, open_backend
from sagemaker_debug_ext.store.format.messages import Array
from sagemaker_debug_ext.store.format.program import ProgramRecord, ReportRecord
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

LOG = logging.getLogger(__name__)

_MOST_REPORTS: Final = 20
"""Number of reports that are kept."""
_SCALAR_LOSS: Final = re.compile(f"{SCALAR_PREFIX}.*loss", re.IGNORECASE)
"""Pattern of scalar names that denote a loss."""


class StepDispatcher:
    """Dispatch finished steps: write them, drop them, or hand them to the flight recorder.

    Nothing is written before `open`, because the rank of the process is known only at the first step.

    Args:
        backend: The folder of the trial.
        options: The arguments of the hook.
        collections: The collections of the hook.
        to_array: Turns a captured value into an array; mostly called on the writing thread.
        lock: The hook's lock, held while a step goes to the flight recorder, which other threads may empty.
        metrics: The metrics file of the job, if it has one.
        checkpoints: The state file beside the job's checkpoints, if it has any.
    """

    def __init__(
        self,
        backend: Backend,
        options: HookOptions,
        collections: CollectionSet,
        to_array: Callable[[Any], Array],
        lock: threading.RLock,
        metrics: MetricsFile | None = None,
        checkpoints: CheckpointState | None = None,
    ) -> None:
        num_recorded = options.flight_recorder
        self.url = backend.url
        self.output: TrialOutput | None = None
        """The output of the trial; None while this process does not write."""
        self.flight_recorder = FlightRecorder(num_recorded, options.memory_limit_bytes) if num_recorded else None
        self.last_saved_step = -1
        """Global step of the last step written or submitted; -1 before the first."""
        self.num_dropped_steps = 0
        self.has_taken = False
        """Whether any step was submitted."""
        self.checkpoints = checkpoints
        self._backend = backend
        self._options = options
        self._collections = collections
        self._to_array = to_array
        self._lock = lock
        self._metrics = metrics
        self._has_exported = False
        self._program: ProgramRecord | None = None
        self._described: ProgramRecord | None = None
        self._reports: dict[tuple[str, int], ReportRecord] = {}

    def open(
        self,
        worker: Worker,
        num_writers: int,
        on_failure: Callable[[Exception], object],
    ) -> dict[ModeKeys, int]:
        """Start writing as a worker of the job.

        Args:
            worker: The rank of this process.
            num_writers: How many workers write.
            on_failure: Called once, on the writing thread, with the first error.

        Returns:
            The last step that an earlier run of this worker has saved, over all modes and in each.

        Raises:
            SMDebugRuntimeError: Another process has claimed the folder.
        """
        options = self._options
        tensorboard_dir = options.tensorboard_dir or f"{self.url}/tensorboard"
        self.output = TrialOutput(
            self._backend,
            worker,
            num_writers,
            options.memory_limit_bytes,
            on_failure,
            TensorBoardOutput(open_backend(tensorboard_dir)) if options.writes_tensorboard else None,
            self._metrics,
            options.spill_limit_bytes if options.when_full == "spill" else 0,
        )
        registry.mark_written(self.url)
        return self.output.last_steps()

    def submit(self, step: StepBuffer) -> None:
        """Dispatch a step that has ended; nothing may change it any more. It may be dispatched twice in a row."""
        if self.output is None:
            return
        self.has_taken = True
        # The collections file is written before the step, so that readers of new tensors know their collections.
        self.export_collections_if_changed()
        if self.flight_recorder is not None:
            with self._lock:
                self._record(self.flight_recorder, step)
        else:
            self._write(self.output, step)

    def write_recording(self) -> None:
        """Write the steps that the flight recorder keeps, if there is one."""
        if self.output is None or self.flight_recorder is None:
            return
        for step in self.flight_recorder.take():
            self._write(self.output, step)

    def describe_program(self, record: ProgramRecord) -> None:
        """Write a record of the program, with the collections file if the trial has not been opened."""
        if record == self._described:
            return
        self._program = self._described = record
        if self._has_exported:
            self.export_collections()

    def note_report(self, report: ReportRecord) -> None:
        """Keep a report of the script for the record, unless there is a better one by the same function on as many."""
        key = (report.function, report.num_samples)
        known = self._reports.get(key)
        if (known is None and len(self._reports) < _MOST_REPORTS) or (known and report.kappa > known.kappa):
            self._reports[key] = report

    def export_collections_if_changed(self) -> None:
        """Write the collections file if it does not show all collections and members."""
        if self._collections.has_news or not self._has_exported:
            self.export_collections()

    def export_collections(self) -> None:
        """Write the collections file."""
        if self.output is not None:
            self._has_exported = False  # so that the next step exports them if this call is interrupted
            if self._program is not None:
                self.output.write_program(self._program)
                self._program = None
            self.output.write_collections(self._collections.export())
            self._has_exported = True

    def update_checkpoints(self, counters: StepCounters, ended: StepBuffer | None) -> None:
        """Write the state file if the checkpoints have changed; disable it if that fails.

        Args:
            counters: The step counters of the hook.
            ended: The step that has ended and is not submitted yet.
        """
        if self.checkpoints is None:
            return
        try:
            self.checkpoints.update(counters, ended.position.global_step if ended else self.last_saved_step)
        except OSError:
            LOG.exception("the state of checkpoints is no longer written")
            self.checkpoints = None

    def flush(self, timeout_seconds: float | None = None) -> bool:
        """Wait until all submitted steps are written or writing has failed; return False on time-out."""
        return self.output is not None and self.output.flush(timeout_seconds)

    def finish(self, mark_end: bool) -> None:
        """Write the remaining steps, and end the trial.

        Args:
            mark_end: Whether to mark the trial as ended.

        Raises:
            OSError: The back end failed.
        """
        if self.output is None:
            return
        try:
            if self._described is not None and self._reports:
                self.output.write_program(attrs.evolve(self._described, reports=tuple(self._reports.values())))
        finally:
            self.output.close(mark_end)

    def _record(self, recorder: FlightRecorder, step: StepBuffer) -> None:
        is_alarming = self._is_alarming(step)
        recorder.add(step)
        if is_alarming:
            LOG.warning("a loss of step %s is not finite: the last steps are written", step.position.global_step)
            self.write_recording()

    def _is_alarming(self, step: StepBuffer) -> bool:
        """Return whether a loss of the step is not finite: a member of ``losses``, or a number named a loss."""
        losses = self._collections.get(CollectionKeys.LOSSES)
        for name, captured in step.tensors.items():
            if losses.matches(name) or _SCALAR_LOSS.match(name):
                array = widen_extension_dtypes(self._to_array(captured.value))
                if array.dtype.kind == "f" and not np.isfinite(array).all():
                    return True
        return False

    def _write(self, output: TrialOutput, step: StepBuffer) -> None:
        if self._options.dry_run:
            return
        if output.write_step(step, self._to_array, may_drop=self._options.when_full == "drop"):
            self.last_saved_step = step.position.global_step
            return
        step.release()
        self.num_dropped_steps += 1
        if self.num_dropped_steps == 1:
            LOG.warning("step %s is left out: too much waits to be written", step.position.global_step)
