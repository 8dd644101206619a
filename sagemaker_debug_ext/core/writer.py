"""Writing one worker's part of one step by hand, as tests and rule containers for Debugger do."""

from __future__ import annotations

import os
import time
from types import TracebackType
from typing import Any

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.store.backends import open_backend
from sagemaker_debug_ext.store.format.keys import event_key
from sagemaker_debug_ext.store.format.messages import to_array
from sagemaker_debug_ext.store.writer import NamedShape, NamedTensor, StepData, TrialWriter
from sagemaker_debug_ext.vocabulary import ModeKeys

__all__ = ["FileWriter"]


class FileWriter:
    """Collects the tensors of one worker at one step, and writes them on flush, close or exit of the context.

    Args:
        trial_dir: Folder of the trial.
        worker: Name of the worker, such as ``worker_0``.
        step: Global step.
        wtype: ``events``; TensorBoard files are written by hooks only.
        mode: Mode of the step, unless it is given with a tensor.
        max_queue: Has no effect: tensors wait until they are flushed.
        flush_secs: Has no effect, likewise.
        verbose: Has no effect; see the logger of the package.
        write_checksum: Has no effect: every record has its checksum.

    Raises:
        SMDebugValueError: `wtype` is not ``events``.
    """

    def __init__(
        self,
        trial_dir: str | os.PathLike[str],
        worker: str,
        step: int = 0,
        wtype: str = "events",
        mode: ModeKeys | None = ModeKeys.GLOBAL,
        max_queue: int = 10,  # noqa: ARG002 - part of the API
        flush_secs: float = 120,  # noqa: ARG002 - likewise
        verbose: bool = False,  # noqa: ARG002 - likewise
        write_checksum: bool = False,  # noqa: ARG002 - likewise
    ) -> None:
        if wtype != "events":
            raise SMDebugValueError(
                f"wtype must be 'events' (got {wtype!r}); Hook(export_tensorboard=True) writes TensorBoard files"
            )
        self._writer = TrialWriter(open_backend(trial_dir), worker)
        self._mode = mode or ModeKeys.GLOBAL
        self._data = StepData(step, self._mode, step)
        self._is_written = True

    def name(self) -> str:
        """Return the path of the event file."""
        return f"{self._writer.backend.url}/{event_key(self._data.global_step, self._writer.worker)}"

    def write_tensor(
        self,
        tdata: Any,
        tname: str,
        write_index: bool = True,
        mode: ModeKeys | None = ModeKeys.GLOBAL,
        mode_step: int | None = None,
        timestamp: float | None = None,
    ) -> None:
        """Add a tensor.

        Args:
            tdata: An array, number, string, or list of these.
            tname: Name of the tensor.
            write_index: Must be true, because readers find tensors by the index only.
            mode: Mode of the step, the same for all its tensors; None and GLOBAL mean that of the writer.
            mode_step: Step within the mode; by default the global step.
            timestamp: Time of the value, in seconds since the epoch; by default now.

        Raises:
            SMDebugTypeError: The value cannot be saved.
            SMDebugValueError: The tensors of the step have different modes or mode steps, or `write_index` is false.
        """
        if not write_index:
            raise SMDebugValueError(f"write_index must be true (got {write_index!r})")
        self._settle(mode, mode_step)
        self._data.tensors.append(NamedTensor(tname, to_array(tdata), time.time() if timestamp is None else timestamp))

    def write_shape(
        self,
        name: str,
        shape: tuple[int, ...],
        mode: ModeKeys | None = ModeKeys.GLOBAL,
        mode_step: int | None = None,
        original_name: str | None = None,
    ) -> None:
        """Add the shape of a tensor; see `write_tensor`."""
        self._settle(mode, mode_step)
        self._data.shapes.append(NamedShape(name, tuple(shape), original_name or name))

    def flush(self) -> None:
        """Write the added tensors; the step becomes visible atomically."""
        if not self._is_written:
            self._writer.write_step(self._data)
            self._is_written = True

    def close(self) -> None:
        """Write the tensors that have been added but not written yet."""
        self.flush()

    def __enter__(self) -> FileWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _settle(self, mode: ModeKeys | None, mode_step: int | None) -> None:
        """Add an entry of the index file to the step."""
        within = self._data.global_step if mode_step is None else mode_step
        wanted = (self._mode if mode in (None, ModeKeys.GLOBAL) else mode, within)
        if self._data and wanted != (self._data.mode, self._data.mode_step):
            raise SMDebugValueError(
                f"mode and mode_step must be {self._data.mode} and {self._data.mode_step}, as for the other tensors of "
                f"the step (got {mode} and {within})"
            )
        self._data.mode, self._data.mode_step = wanted
        self._is_written = False
