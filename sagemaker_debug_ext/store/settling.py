"""A trial whose files are copied in any order, such as a folder of checkpoints that SageMaker copies to S3.

Writers promise that an index file exists only with its event file and the steps before it, and the end marker only with
all other files. A copy in any order breaks this, so `SettlingBackend` shows a file once it may be relied on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from sagemaker_debug_ext.store.backends.base import Backend, Buffer, ByteRange, Changes, ObjectInfo, Watch
from sagemaker_debug_ext.store.format.keys import END_KEY, event_key, try_parse_index_key

DELAY_SECONDS: Final = 30.0
"""Time after which files of earlier steps are expected to have arrived, too."""

SETTLE_SECONDS: Final = 120.0
"""Time without any change after which an end marker counts."""


class SettlingBackend(Backend):
    """Shows the trial in another back end as if its files had arrived in order.

    A new index file is reported once its event file is there and `DELAY_SECONDS` have passed, and the end marker once
    nothing has changed for `SETTLE_SECONDS`. Both are shown at once after `finish`.

    Args:
        backend: The back end with the copy.
        clock: Monotonic clock in seconds.
    """

    def __init__(self, backend: Backend, clock: Callable[[], float] = time.monotonic) -> None:
        self.url = backend.url
        self._backend = backend
        self._clock = clock
        self._is_complete = False
        self._found: list[tuple[str, str]] = []
        self._changed_at = clock()

    def finish(self) -> None:
        """Mark the copy as complete; the process that makes it knows."""
        self._is_complete = True

    @property
    def is_complete(self) -> bool:
        """Whether the copy is known to be complete."""
        return self._is_complete

    def is_settled(self, key: str, since: float) -> bool:
        """Return whether an index file may be relied on while copying goes on.

        Args:
            key: Key of the file.
            since: Time of the clock at which it was first seen.
        """
        step_file = try_parse_index_key(key)
        if step_file is None:
            return True
        return self._clock() - since >= DELAY_SECONDS and self._backend.exists(event_key(*step_file))

    def exists(self, key: str) -> bool:
        """Return whether an object exists; the end marker exists only if the copy is complete."""
        return self._backend.exists(key) and (key != END_KEY or self._has_ended())

    def is_gone(self) -> bool:
        """See `Backend.is_gone`."""
        return self._backend.is_gone()

    def watch(self, prefix: str) -> Watch:
        """Return a watch that reports objects once they may be relied on."""
        return _SettlingWatch(self, prefix, self._backend.watch(prefix), self._clock)

    def list(self, prefix: str = "") -> list[ObjectInfo]:
        """See `Backend.list`."""
        return self._backend.list(prefix)

    def read(self, key: str, start: int = 0, length: int | None = None) -> Buffer | None:
        """See `Backend.read`."""
        return self._backend.read(key, start, length)

    def read_many(self, ranges: Iterable[ByteRange]) -> Sequence[Buffer | OSError | None]:
        """See `Backend.read_many`."""
        return self._backend.read_many(ranges)

    def read_aligned(
        self, key: str, start: int, length: int, find_content: Callable[[Buffer], int | None]
    ) -> Buffer | None:
        """See `Backend.read_aligned`."""
        return self._backend.read_aligned(key, start, length, find_content)

    def read_into(self, key: str, start: int, targets: Sequence[memoryview]) -> int:
        """See `Backend.read_into`."""
        return self._backend.read_into(key, start, targets)

    def write(self, key: str, parts: Sequence[Buffer]) -> None:
        """See `Backend.write`."""
        self._backend.write(key, parts)

    def create(self, key: str, content: bytes = b"") -> bool:
        """See `Backend.create`."""
        return self._backend.create(key, content)

    def delete(self, key: str) -> None:
        """See `Backend.delete`."""
        self._backend.delete(key)

    def _has_ended(self) -> bool:
        """Return whether a copy with an end marker is complete."""
        if not self._is_complete:
            found = [(info.key, info.version) for info in self._backend.list()]
            if found != self._found:
                self._found, self._changed_at = found, self._clock()
            self._is_complete = self._clock() - self._changed_at >= SETTLE_SECONDS
        return self._is_complete


class _SettlingWatch(Watch):
    """Reports what another watch reports, once the back end says that it may be relied on."""

    def __init__(self, backend: SettlingBackend, prefix: str, watch: Watch, clock: Callable[[], float]) -> None:
        super().__init__(backend, prefix)
        self._settling = backend
        self._inner = watch
        self._clock = clock
        self._waiting: dict[str, tuple[ObjectInfo, float]] = {}

    def look(self, settled: str = "") -> Changes:
        """See `Watch.look`."""
        return self._settle(self._settling.is_complete, self._inner.look(settled))

    def look_at_all(self) -> Changes:
        """See `Watch.look_at_all`."""
        return self._settle(self._settling.is_complete, self._inner.look_at_all())

    def forget(self, key: str) -> None:
        """See `Watch.forget`."""
        self._inner.forget(key)

    def _settle(self, is_complete: bool, changes: Changes) -> Changes:
        """Return the changes that may be relied on.

        Args:
            is_complete: Whether the copy was complete before the look: all files are known then, so that none is shown
                before one of an earlier step.
            changes: What the look has found.
        """
        now = self._clock()
        for info in changes.objects:
            self._waiting[info.key] = (info, now)
        ready = [
            info for key, (info, since) in self._waiting.items() if is_complete or self._settling.is_settled(key, since)
        ]
        for info in ready:
            del self._waiting[info.key]
        return Changes(sorted(ready), changes.is_snapshot)
