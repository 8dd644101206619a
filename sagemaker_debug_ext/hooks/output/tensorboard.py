"""Files for TensorBoard: scalars and histograms of each saved step (store format, section 3)."""

from __future__ import annotations

import os
import platform
import re
import struct
from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np

from sagemaker_debug_ext.hooks.capture.collection_set import CollectionSet
from sagemaker_debug_ext.hooks.capture.counters import StepPosition
from sagemaker_debug_ext.hooks.capture.step_buffer import SummarySpec
from sagemaker_debug_ext.hooks.statistics.histograms import Histogram, histogram
from sagemaker_debug_ext.store.backends import Backend
from sagemaker_debug_ext.store.format import records
from sagemaker_debug_ext.store.format.messages import Array, varint
from sagemaker_debug_ext.vocabulary import SCALAR_COLLECTIONS, CollectionKeys

_DOUBLE: Final = struct.Struct("<d")
_FLOAT: Final = struct.Struct("<f")
_UINT32: Final = struct.Struct("<I")
_FIVE_NUMBERS: Final = struct.Struct("<" + "Bd" * 5)
"""The first five fields of a histogram, each with its key."""

_NOT_IN_TAGS: Final = re.compile(r"[^-/\w.]")


class Summary(NamedTuple):
    """What to show of one tensor: the mean of its values as a number, or how they are spread."""

    tag: str
    value: Array
    wall_time: float
    is_scalar: bool


class TensorBoardOutput:
    """Writes files that TensorBoard reads, one for each saved step, in a folder for each mode.

    Args:
        backend: The TensorBoard folder.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._suffix = f"{os.getpid()}_{platform.node()}.tfevents"

    def write_step(self, position: StepPosition, summaries: Iterable[Summary]) -> None:
        """Write one step's file; a step without anything to show writes none."""
        events = [event for summary in summaries if (event := _event(summary, position.global_step)) is not None]
        if not events:
            return
        first = _record(_fixed(1, events[0].wall_time) + _delimited(3, b"brain.Event:2"))
        content = b"".join([first, *(_record(event.payload) for event in events)])
        self._backend.write(f"{position.mode.name}/{position.global_step:012d}_{self._suffix}", (content,))


class _Event(NamedTuple):
    payload: bytes
    wall_time: float


def clean_tag(name: str) -> str:
    """Return a name as TensorBoard takes it."""
    return _NOT_IN_TAGS.sub("_", name).lstrip("/")


def _event(summary: Summary, step: int) -> _Event | None:
    if summary.is_scalar:
        if summary.value.size == 0 or summary.value.dtype.kind not in "biuf":
            return None
        # Of a loss that has a number for each sample the curve shows the mean, as the file of metrics does.
        content = b"\x15" + _FLOAT.pack(float(np.mean(summary.value)))
    else:
        spread = histogram(summary.value)
        if spread is None:
            return None
        content = _delimited(5, _histogram_message(spread))
    value = _delimited(1, clean_tag(summary.tag).encode()) + content
    number = b"\x10" + varint(step) if step else b""
    payload = _fixed(1, summary.wall_time) + number + _delimited(5, _delimited(1, value))
    return _Event(payload, summary.wall_time)


def _histogram_message(spread: Histogram) -> bytes:
    head = _FIVE_NUMBERS.pack(
        *(1 << 3 | 1, spread.least),
        *(2 << 3 | 1, spread.greatest),
        *(3 << 3 | 1, spread.num),
        *(4 << 3 | 1, spread.total),
        *(5 << 3 | 1, spread.squares),
    )
    limits, counts = spread.limits.astype("<f8").tobytes(), spread.counts.astype("<f8").tobytes()
    return head + _delimited(6, limits) + _delimited(7, counts)


def _fixed(field: int, number: float) -> bytes:
    return varint(field << 3 | 1) + _DOUBLE.pack(number)


def _delimited(field: int, content: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(content)) + content


def _record(payload: bytes) -> bytes:
    """Frame a payload with its true checksum, which TensorBoard checks."""
    return records.header(len(payload)) + payload + _UINT32.pack(records.masked_crc(payload))


_CATCH_ALLS: Final = frozenset({CollectionKeys.DEFAULT, CollectionKeys.ALL})


def summary_spec_for(name: str, members: tuple[str, ...], collections: CollectionSet) -> SummarySpec | None:
    """Return how TensorBoard shows a tensor; None if it does not.

    Args:
        name: Name of the tensor.
        members: Names of the collections for which it is saved.
        collections: All collections.
    """
    if not SCALAR_COLLECTIONS.isdisjoint(members):
        return SummarySpec(name, is_scalar=True)
    showing = [collection for collection in members if collections.get(collection).save_histogram]
    if not showing:
        return None
    named_best = min(showing, key=lambda collection: (collection in _CATCH_ALLS, collection))
    return SummarySpec(f"{named_best}/{name}", is_scalar=False)
