"""Poll for files that another process writes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import attrs

DEFAULT_POLL_SECONDS: Final = 0.05
"""Polling interval for a trial in a folder of this machine."""

DEFAULT_REMOTE_POLL_SECONDS: Final = 2.0
"""Polling interval for a trial where every look costs requests."""

DEFAULT_SILENCE_SECONDS: Final = 3600.0
"""Time without new files after which waiting for a job stops."""

_LOOKING_SHARE: Final = 0.02
"""Upper bound of the fraction of time spent looking; large trials are polled less often."""

_LONGEST_PAUSE_SECONDS: Final = 5.0


@attrs.frozen(kw_only=True)
class Polling:
    """How to poll: look, sleep, look again.

    Args:
        poll_seconds: Time to sleep between two looks; longer if a look takes long.
        clock: Returns the time in seconds; only differences matter.
        sleep: Sleeps for the given number of seconds.
    """

    poll_seconds: float = DEFAULT_POLL_SECONDS
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] = time.sleep

    def wait_until(self, happened: Callable[[], bool], timeout_seconds: float | None = None) -> bool:
        """Poll until a condition holds.

        Args:
            happened: Returns whether the condition holds. It is called at least once, and once more at the timeout.
            timeout_seconds: How long to wait; None for no limit.

        Returns:
            Whether the condition held in time.
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
        """Return the time to sleep after a look that took `look_seconds`."""
        return max(self.poll_seconds, min(look_seconds / _LOOKING_SHARE, _LONGEST_PAUSE_SECONDS))
