"""The lease of a job: at most one watcher evaluates and acts.

A lease is a sequence of generations, each an object that is created exclusively and then rewritten by its holder alone.
Whoever creates the next generation takes over. A contender first looks at the current generation until it has been
unchanged for `EXPIRY_SECONDS` of the contender's own clock, so that neither the clocks of hosts nor that of the storage
matter. The holder looks for a later generation before it writes anything, and stops once there is one.

Only exclusive creation is needed, which folders and S3 have in common.
"""

from __future__ import annotations

import json
import os
import platform
import time
import uuid
from collections.abc import Callable
from typing import Final

from sagemaker_debug_ext._json import JSONObject
from sagemaker_debug_ext.store.backends import Backend

PREFIX: Final = "lease/"
EXPIRY_SECONDS: Final = 90.0
"""Time without a renewal after which another watcher may take over."""

_LOOK_SECONDS: Final = 5.0


class Lease:
    """The right to evaluate the rules of one job.

    Args:
        backend: The folder of the job's state.
        place: Where the watcher runs, for people who read the lease.
        clock: Monotonic clock in seconds.
        sleep: Waits for a number of seconds.
        replaced_pid: Process of this host whose lease is taken over at once, because it is known to be dead.
    """

    def __init__(
        self,
        backend: Backend,
        place: str,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
        replaced_pid: int | None = None,
    ) -> None:
        self._backend = backend
        self._replaced_pid = replaced_pid
        self._clock = clock
        self._sleep = sleep
        self._renewals = 0
        self.generation = 0
        """Number of this watcher among all that have watched the job; 0 before `acquire`."""
        self.holder: Final[JSONObject] = {
            "id": uuid.uuid4().hex,
            "host": platform.node(),
            "pid": os.getpid(),
            "place": place,
        }

    def acquire(self, wait: bool = True) -> bool:
        """Acquire the lease; return False if another watcher holds it.

        Args:
            wait: Whether to wait until a lease that may be abandoned has expired.
        """
        latest = self._latest()
        content = self._read(latest)
        since = self._clock()
        while latest and not self._is_free(content):
            if not wait:
                return False
            self._sleep(_LOOK_SECONDS)
            seen = (self._latest(), self._read(latest))
            if seen != (latest, content):
                return False  # somebody renews the lease, or has just taken over
            if self._clock() - since >= EXPIRY_SECONDS:
                break
        if not self._backend.create(_key(latest + 1), self._content(released=False)):
            return False
        self.generation = latest + 1
        return True

    def holder_shown(self) -> str:
        """Return place, process and host of the watcher that holds the lease, for people."""
        try:
            holder = json.loads(self._read(self._latest()))
            return f"place {holder['place']}, process {holder['pid']} on {holder['host']}"
        except (ValueError, KeyError, TypeError):  # damaged
            return "its lease is damaged"

    def is_held(self) -> bool:
        """Return whether no other watcher has taken over."""
        return not self._backend.exists(_key(self.generation + 1))

    def renew(self) -> bool:
        """Renew the lease; return False if another watcher has taken over."""
        if not self.is_held():
            return False
        self._write(released=False)
        return True

    def release(self) -> None:
        """Release the lease, so that another watcher may acquire it without waiting."""
        if self.is_held():
            self._write(released=True)

    def _write(self, released: bool) -> None:
        self._renewals += 1
        self._backend.write(_key(self.generation), [self._content(released)])

    def _content(self, released: bool) -> bytes:
        return json.dumps({**self.holder, "renewals": self._renewals, "released": released}).encode()

    def _is_free(self, content: bytes) -> bool:
        """Return whether a lease is released, or its holder is known to be dead."""
        try:
            holder = json.loads(content)
            is_dead = (holder["host"], holder["pid"]) == (self.holder["host"], self._replaced_pid)
            return is_dead or bool(holder["released"])
        except (ValueError, KeyError, TypeError):  # damaged, so its holder must be waited for
            return False

    def _latest(self) -> int:
        return max((_generation(info.key) for info in self._backend.list(PREFIX)), default=0)

    def _read(self, generation: int) -> bytes:
        return bytes((self._backend.read(_key(generation)) if generation else None) or b"")


def _key(generation: int) -> str:
    return f"{PREFIX}{generation:06d}.json"


def _generation(key: str) -> int:
    number = key.removeprefix(PREFIX).removesuffix(".json")
    return int(number) if number.isascii() and number.isdigit() else 0
