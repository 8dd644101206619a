"""Keep the last steps of a job in memory until they are requested."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

from sagemaker_debug_ext.errors import DebugExtError
from sagemaker_debug_ext.hooks.capture.step_buffer import StepBuffer
from sagemaker_debug_ext.store.backends.base import Backend
from sagemaker_debug_ext.store.format.keys import RECORDING_REQUEST

LOG = logging.getLogger(__name__)

_POLL_INTERVAL_SECONDS: Final = 0.5
_LOOK_SECONDS_REMOTE: Final = 10.0
"""How often to look if somebody asks for a recording; on S3 each look is a request."""


class FlightRecorder:
    """Keeps the last steps within bounded memory, and drops older steps.

    Args:
        num_steps: How many steps to keep at most.
        memory_limit_bytes: How much they may hold; the last step is kept whatever its size.
    """

    def __init__(self, num_steps: int, memory_limit_bytes: int) -> None:
        self._num_steps = num_steps
        self._memory_limit_bytes = memory_limit_bytes
        self._steps: deque[StepBuffer] = deque()
        self._num_bytes = 0

    def __len__(self) -> int:
        return len(self._steps)

    def add(self, step: StepBuffer) -> None:
        """Keep a step, and drop the oldest steps that exceed the limits; adding the last step again has no effect."""
        if self._steps and self._steps[-1] is step:
            return
        self._steps.append(step)
        self._num_bytes += step.num_bytes
        while len(self._steps) > 1 and self._is_full():
            oldest = self._steps.popleft()
            self._num_bytes -= oldest.num_bytes
            oldest.release()

    def take(self) -> list[StepBuffer]:
        """Return the recorded steps, oldest first, and clear the recorder."""
        steps = list(self._steps)
        self._steps.clear()
        self._num_bytes = 0
        return steps

    def _is_full(self) -> bool:
        return len(self._steps) > self._num_steps or self._num_bytes > self._memory_limit_bytes


class RecordingTrigger:
    """Looks, in a thread of its own, if somebody asks for what the recorder keeps: steps cost no more, and may hang.

    Whoever asks writes the object `RECORDING_REQUEST` into the trial; each worker serves a content of it once. What was
    asked before the hook was made was meant for another one.

    Args:
        backend: Where the trial lies.
        serve: Writes what is kept.
    """

    def __init__(self, backend: Backend, serve: Callable[[], object]) -> None:
        self._backend = backend
        self._serve = serve
        self._ended = threading.Event()
        self._seconds = _LOOK_SECONDS_REMOTE if backend.is_remote else _POLL_INTERVAL_SECONDS
        self._served = self._read()
        threading.Thread(target=self._look, name="recording-requests", daemon=True).start()

    def close(self) -> None:
        """Stop polling."""
        self._ended.set()

    def _look(self) -> None:
        while not self._ended.wait(self._seconds):
            request = self._read()
            if request not in (None, self._served):
                self._served = request
                LOG.info("the last steps are written, as somebody asks for them")
                self._serve()

    def _read(self) -> bytes | None:
        try:
            content = self._backend.read(RECORDING_REQUEST)
        except (OSError, DebugExtError):  # storage errors may be temporary, so the next poll retries
            LOG.debug("no look for requests for a recording", exc_info=True)
            return None
        return None if content is None else bytes(content)
