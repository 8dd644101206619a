"""Write one worker's part of a trial: each step becomes visible whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import attrs

from sagemaker_debug_ext.store import manifest
from sagemaker_debug_ext.store.backends.base import Backend, Buffer
from sagemaker_debug_ext.store.index import IndexFile, Location, SavedShape
from sagemaker_debug_ext.store.keys import collections_key, event_key, index_key, mangle_worker
from sagemaker_debug_ext.store.messages import Array, array_bytes, encode_record
from sagemaker_debug_ext.vocabulary import ModeKeys


class NamedTensor(NamedTuple):
    """A value to save, as `messages.to_array` returns it, and when it was taken (seconds since the epoch)."""

    name: str
    value: Array
    wall_time: float


class NamedShape(NamedTuple):
    """A shape to save; `original_name` is the framework's own name of the tensor."""

    name: str
    shape: tuple[int, ...]
    original_name: str


@attrs.define
class StepData:
    """What one worker saves at one step; tensors of the same name: the last one counts."""

    global_step: int
    mode: ModeKeys
    mode_step: int
    tensors: list[NamedTensor] = attrs.field(factory=list)
    shapes: list[NamedShape] = attrs.field(factory=list)

    @property
    def num_bytes(self) -> int:
        """Bytes of the values, without framing."""
        return sum(tensor.value.nbytes for tensor in self.tensors)


class TrialWriter:
    """Writes one worker's part of a trial. Use it from one thread at a time.

    Args:
        backend: Where the trial lies.
        worker: Name of this worker, such as ``worker_0``.

    Raises:
        SMDebugValueError: The worker's name has no place in a file name.
    """

    def __init__(self, backend: Backend, worker: str = "worker_0") -> None:
        mangle_worker(worker)
        self.backend = backend
        self.worker = worker

    def write_step(self, data: StepData) -> int:
        """Write a step and make it visible.

        The records are complete at their final place before the index that points at them appears, so a reader never
        sees half a step. Writing the same step again replaces it. A step without content writes nothing.

        Returns:
            Bytes written.

        Raises:
            OSError: The back end failed; nothing of the step is visible.
        """
        if not data.tensors and not data.shapes:
            return 0
        parts: list[Buffer] = []
        locations: dict[str, Location] = {}
        end = 0
        for name, value, wall_time in {tensor.name: tensor for tensor in data.tensors}.values():
            record = encode_record(name, value, data.global_step, data.mode, data.mode_step, wall_time)
            length = sum(array_bytes(part) for part in record)
            parts.extend(record)
            locations[name] = Location(end, length)
            end += length
        event_file = event_key(data.global_step, self.worker) if parts else None
        shapes = {name: SavedShape(shape, original_name) for name, shape, original_name in data.shapes}
        index = IndexFile(data.mode, data.mode_step, event_file, locations, shapes).to_json().encode()
        if event_file is not None:
            self.backend.write(event_file, parts)
        self.backend.write(index_key(data.global_step, self.worker), (index,))
        return end + len(index)

    def write_collections(self, collections: Iterable[Mapping[str, Any]], num_workers: int) -> None:
        """Write this worker's collections file, replacing an earlier one.

        Args:
            collections: Dictionaries with at least a ``name`` each.
            num_workers: How many workers write to the trial.
        """
        content = manifest.CollectionsFile({item["name"]: item for item in collections}, num_workers)
        self.backend.write(collections_key(self.worker), (content.to_json().encode(),))

    def end(self) -> None:
        """Mark the job as ended."""
        manifest.write_end(self.backend)
