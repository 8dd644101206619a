"""Write one worker's part of a trial; each step becomes visible atomically."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import attrs
import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.store import job_end
from sagemaker_debug_ext.store.backends.base import Backend, Buffer
from sagemaker_debug_ext.store.format import manifest
from sagemaker_debug_ext.store.format.index import IndexFile, Location, SavedShape
from sagemaker_debug_ext.store.format.keys import (
    INDEX_PREFIX,
    collections_key,
    event_key,
    index_key,
    mangle_worker,
    try_parse_index_key,
)
from sagemaker_debug_ext.store.format.layout import Entry, StepKind, StepLayout, record_tail
from sagemaker_debug_ext.store.format.messages import EXTENSION_DTYPES, Array, array_bytes, encode_record, varint
from sagemaker_debug_ext.vocabulary import ModeKeys

LOG = logging.getLogger(__name__)

_TOLD: Final[set[str]] = set()
"""The trials for which the warning about dtypes unknown to smdebug has been logged."""

_MAX_LAYOUTS: Final = 32
"""Cache size for step layouts; a job has few kinds of steps, unless its shapes change all the time."""


class NamedTensor(NamedTuple):
    """A value to save, as returned by `messages.to_array`, and its time in seconds since the epoch."""

    name: str
    value: Array
    wall_time: float


class NamedShape(NamedTuple):
    """A shape to save; `original_name` is the framework's own name of the tensor."""

    name: str
    shape: tuple[int, ...]
    original_name: str


class NamedNumbers(NamedTuple):
    """Several numbers of one dtype with their times; each is saved as a tensor without dimensions."""

    names: tuple[str, ...]
    values: Array
    wall_times: Sequence[float] | npt.NDArray[np.float64]


@attrs.define
class StepData:
    """The data of one worker at one step. For equal names the last tensor counts; numbers come after tensors."""

    global_step: int
    mode: ModeKeys
    mode_step: int
    tensors: list[NamedTensor] = attrs.field(factory=list)
    shapes: list[NamedShape] = attrs.field(factory=list)
    numbers: list[NamedNumbers] = attrs.field(factory=list)

    @property
    def num_bytes(self) -> int:
        """Size of the values in bytes, without framing."""
        return sum(tensor.value.nbytes for tensor in self.tensors) + sum(group.values.nbytes for group in self.numbers)

    def __bool__(self) -> bool:
        return bool(self.tensors or self.shapes or self.numbers)


class TrialWriter:
    """Writes one worker's part of a trial. Use it from one thread at a time.

    Args:
        backend: The back end that holds the trial.
        worker: Name of this worker, such as ``worker_0``.

    Raises:
        SMDebugValueError: The worker's name cannot be part of a file name.
    """

    def __init__(self, backend: Backend, worker: str = "worker_0") -> None:
        mangle_worker(worker)
        self.backend = backend
        self.worker = worker
        self._layouts: dict[StepKind, StepLayout] = {}
        self._visible: set[int] | None = None

    def write_step(self, data: StepData) -> int:
        """Write a step and make it visible.

        The records are complete at their final place before the index file that refers to them appears, so readers
        never see an incomplete step. Writing a step again replaces it; the step is not visible in the meantime. A step
        without content writes nothing.

        Returns:
            Number of bytes written.

        Raises:
            OSError: The back end failed; nothing of the step is visible.
        """
        if not data:
            return 0
        has_texts = any(tensor.value.dtype.kind == "U" for tensor in data.tensors)
        parts, index = self._encode_texts(data) if has_texts else self._encode(data)
        if data.global_step in self.visible_steps:  # an old index file must not refer to new records
            self.backend.delete(index_key(data.global_step, self.worker))
        if parts:
            self.backend.write(event_key(data.global_step, self.worker), parts)
        self.backend.write(index_key(data.global_step, self.worker), (index,))
        self.visible_steps.add(data.global_step)
        return sum(array_bytes(part) if isinstance(part, memoryview) else len(part) for part in (*parts, index))

    @property
    def visible_steps(self) -> set[int]:
        """The steps of this worker that readers see; the first access lists the back end."""
        if self._visible is None:
            files = (try_parse_index_key(info.key) for info in self.backend.list(INDEX_PREFIX))
            self._visible = {file.step for file in files if file is not None and file.worker == self.worker}
        return self._visible

    def _encode(self, data: StepData) -> tuple[list[Buffer], bytes]:
        """Return the records and the index of a step whose record lengths follow from dtypes and shapes."""
        tensors, numbers = data.tensors, data.numbers
        step_field = b"\x10" + varint(data.global_step) if data.global_step else b""
        kind = StepKind(
            tuple([tensor.name for tensor in tensors]),
            tuple([(tensor.value.dtype, tensor.value.shape) for tensor in tensors]),
            tuple([(group.names, group.values.dtype) for group in numbers]),
            tuple(data.shapes),
            data.mode,
            len(step_field),
            len(str(data.mode_step)),
        )
        layout = self._layouts.get(kind)
        if layout is None:
            if len(self._layouts) >= _MAX_LAYOUTS:
                self._layouts.clear()
            self._tell_what_the_original_cannot_read(kind)
            layout = StepLayout.build(_entries(data), kind, data.global_step, data.mode_step)
            self._layouts[kind] = layout
        if not layout.template:
            return [], layout.index(data.mode, data.mode_step, None)
        wall_times = [np.array([tensor.wall_time for tensor in tensors])]
        wall_times += [np.asarray(group.wall_times, np.float64) for group in numbers]
        parts = layout.records(
            [_content(tensor.value) for tensor in tensors],
            [group.values for group in numbers],
            np.concatenate(wall_times),
            step_field,
            record_tail(data.mode, data.mode_step),
        )
        return parts, layout.index(data.mode, data.mode_step, event_key(data.global_step, self.worker))

    def _tell_what_the_original_cannot_read(self, kind: StepKind) -> None:
        """Log the first tensor of a trial that only readers with support for its dtype can read."""
        if self.backend.url in _TOLD:
            return
        for name, (dtype, _) in zip(kind.names, kind.specs, strict=True):
            if dtype.name in EXTENSION_DTYPES:
                _TOLD.add(self.backend.url)
                LOG.warning(
                    "tensor %r in %s is saved as %s, which smdebug cannot read: save it as float32 if smdebug is to"
                    " read it; this package reads it where ml_dtypes is installed",
                    name,
                    self.backend.url,
                    dtype,
                )
                return

    def _encode_texts(self, data: StepData) -> tuple[list[Buffer], bytes]:
        """Return the records and the index of a step with strings, whose lengths vary."""
        parts: list[Buffer] = []
        locations: dict[str, Location] = {}
        end = 0
        for name, value, wall_time in {entry.name: entry for entry in _entries(data)}.values():
            record = encode_record(name, value, data.global_step, data.mode, data.mode_step, wall_time)
            length = sum(array_bytes(part) for part in record)
            parts.extend(record)
            locations[name] = Location(end, length)
            end += length
        shapes = {name: SavedShape(shape, original_name) for name, shape, original_name in data.shapes}
        event_file = event_key(data.global_step, self.worker)
        return parts, IndexFile(data.mode, data.mode_step, event_file, locations, shapes).to_json().encode()

    def write_collections(self, collections: Iterable[Mapping[str, Any]], num_workers: int) -> None:
        """Write this worker's collections file, replacing an earlier one.

        Args:
            collections: Dictionaries that each have at least a ``name``.
            num_workers: Number of workers that write to the trial.
        """
        content = manifest.CollectionsFile({item["name"]: item for item in collections}, num_workers)
        self.backend.write(collections_key(self.worker), (content.to_json().encode(),))

    def end(self) -> None:
        """Mark the job as ended."""
        job_end.write_end(self.backend)


def _entries(data: StepData) -> list[Entry]:
    entries = [Entry(*tensor) for tensor in data.tensors]
    for names, values, wall_times in data.numbers:
        singles = (values[at : at + 1].reshape(()) for at in range(len(names)))
        entries += map(Entry, names, singles, wall_times)
    return entries


def _content(array: Array) -> Buffer:
    """Return the bytes of an array in C order, without a copy if the array is C-contiguous."""
    if not array.size:
        return b""
    if array.ndim and array.dtype.isbuiltin == 1 and array.dtype.kind in "biuf" and array.flags.c_contiguous:
        return array.data.cast("B")
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
