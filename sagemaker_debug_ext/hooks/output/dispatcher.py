"""What becomes of the steps that have ended: written, left out, or kept by the flight recorder until it is asked."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from sagemaker_debug_ext.hooks.capture.collection_set import CollectionSet
from sagemaker_debug_ext.hooks.capture.step_buffer import StepBuffer
from sagemaker_debug_ext.hooks.output.flight_recorder import FlightRecorder
from sagemaker_debug_ext.hooks.output.trial_output import TrialOutput
from sagemaker_debug_ext.hooks.statistics.reductions import widen_extension_dtypes
from sagemaker_debug_ext.store.format.messages import Array
from sagemaker_debug_ext.vocabulary import CollectionKeys

LOG = logging.getLogger(__name__)

_SCALAR_LOSS: Final = re.compile("scalar/.*loss", re.IGNORECASE)
"""A number that the script saves, and calls a loss."""


class StepDispatcher:
    """Brings ended steps to where they are written, and before them the collections that their tensors belong to.

    Args:
        output: Where steps are written.
        collections: The collections of the hook.
        to_array: Turns a captured value into an array; mostly called on the writing thread.
        recorder: Keeps the steps instead, if there is one.
        lock: Held while a step is given to the recorder: another thread may ask for what that keeps.
        may_drop: Leave steps out rather than have training wait.
    """

    def __init__(
        self,
        output: TrialOutput,
        collections: CollectionSet,
        to_array: Callable[[Any], Array],
        recorder: FlightRecorder | None,
        lock: threading.RLock,
        may_drop: bool,
    ) -> None:
        self.output = output
        self.last_saved_step = -1
        """Global step of the last step written, or on its way; -1 before the first."""
        self.num_dropped_steps = 0
        """How many steps were left out."""
        self.has_taken = False
        """Whether there was a step to write, or to leave out."""
        self._collections = collections
        self._to_array = to_array
        self._recorder = recorder
        self._lock = lock
        self._may_drop = may_drop
        self._has_exported = False

    def take(self, step: StepBuffer, is_dry: bool) -> None:
        """Take a step that has ended.

        Args:
            step: The step; nothing may change it any more.
            is_dry: Write no steps.
        """
        self.has_taken = True
        # Before the step: a reader that meets new tensors then knows their collections.
        self.export_collections_if_changed()
        if self._recorder is not None:
            with self._lock:
                self._record(self._recorder, step, is_dry)
        elif not is_dry:
            self._write(step)

    def write_recorded(self, is_dry: bool) -> None:
        """Write the steps that the recorder keeps, if there is one."""
        for step in self._recorder.take() if self._recorder is not None else ():
            if not is_dry:
                self._write(step)

    def export_collections_if_changed(self) -> None:
        """Write the collections file if it does not show all collections and members."""
        if self._collections.has_news or not self._has_exported:
            self.export()

    def export(self) -> None:
        """Write the collections file."""
        self._has_exported = True
        self.output.write_collections(self._collections.export())

    def _record(self, recorder: FlightRecorder, step: StepBuffer, is_dry: bool) -> None:
        is_alarming = self._is_alarming(step)
        recorder.add(step)
        if is_alarming:
            LOG.warning("a loss of step %s is not finite: the last steps are written", step.position.global_step)
            self.write_recorded(is_dry)

    def _is_alarming(self, step: StepBuffer) -> bool:
        """Tell whether a loss of the step is not finite: of collection ``losses``, or a number that is called so."""
        losses = self._collections.get(CollectionKeys.LOSSES)
        for name, captured in step.tensors.items():
            if losses.matches(name) or _SCALAR_LOSS.match(name):
                array = widen_extension_dtypes(self._to_array(captured.value))
                if array.dtype.kind == "f" and not np.isfinite(array).all():
                    return True
        return False

    def _write(self, step: StepBuffer) -> None:
        if self.output.write_step(step, self._to_array, may_drop=self._may_drop):
            self.last_saved_step = step.position.global_step
            return
        step.release()
        self.num_dropped_steps += 1
        if self.num_dropped_steps == 1:
            LOG.warning("step %s is left out: too much waits to be written", step.position.global_step)
