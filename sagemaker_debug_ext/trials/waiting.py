"""Wait for what another process has yet to write."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import attrs

DEFAULT_POLL_SECONDS: Final = 0.05
"""Time between two looks at a trial in a folder of this machine."""

DEFAULT_REMOTE_POLL_SECONDS: Final = 2.0
"""Time between two looks at a trial where every look costs requests."""

DEFAULT_SILENCE_SECONDS: Final = 3600.0
"""How long a job may save nothing before it is no longer waited for."""

_LOOKING_SHARE: Final = 0.02
"""Largest part of the time that goes into looking; large trials are looked at less often."""

_LONGEST_PAUSE_SECONDS: Final = 5.0


@attrs.frozen(kw_only=True)
class Polling:
    """How to wait: look, sleep, look again.

    Args:
        poll_seconds: Time to sleep between two looks; longer where a look takes long.
        clock: Gives the time in seconds; only differences matter.
        sleep: Sleeps for so many seconds.
    """

    poll_seconds: float = DEFAULT_POLL_SECONDS
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] = time.sleep

    def wait_until(self, happened: Callable[[], bool], timeout_seconds: float | None = None) -> bool:
        """Look until something has happened.

        Args:
            happened: Looks. It is called at least once, and once more when the time is over.
            timeout_seconds: How long to wait; None for as long as it takes.

        Returns:
            Whether it happened in time.
        """
        started_at = self.clock()
        while True:
            looking_since = self.clock()
            if happened():
                return True
            now = self.clock()
            pause_seconds = self.pause_seconds(now - looking_since)
            if timeout_seconds is not None:
                left_seconds = started_at + timeout_seconds - now
                if left_seconds <= 0:
                    return False
                pause_seconds = min(pause_seconds, left_seconds)
            self.sleep(pause_seconds)

    def pause_seconds(self, look_seconds: float) -> float:
        """Return how long to sleep after a look that took so long."""
        return max(self.poll_seconds, min(look_seconds / _LOOKING_SHARE, _LONGEST_PAUSE_SECONDS))
