"""The state of a simulated GPU, shared by a job and the sampler through the file that ``SIMULATED_GPU`` names."""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
import time

_FORM = struct.Struct("4d")


class SimulatedGpu:
    """A GPU that is busy while the job says so.

    Attributes:
        memory: Used memory in GB of 80.
        throttling: Bits of NVML's throttle reasons.
    """

    def __init__(self):
        with open(os.environ["SIMULATED_GPU"], "r+b") as file:
            self._state = mmap.mmap(file.fileno(), _FORM.size)

    def _read(self):
        return list(_FORM.unpack_from(self._state))

    def _write(self, place, value):
        state = self._read()
        state[place] = value
        _FORM.pack_into(self._state, 0, *state)

    memory = property(lambda self: self._read()[2], lambda self, value: self._write(2, value))
    throttling = property(lambda self: self._read()[3], lambda self, value: self._write(3, value))

    def busy_seconds(self):
        """Return how long the GPU has been busy so far."""
        total, since, *_ = self._read()
        return total + (time.time() - since if since else 0)

    @contextlib.contextmanager
    def busy(self):
        """Be busy for the length of the block; only the first of several replicas drives the GPU."""
        if os.environ.get("RANK", "0") != "0":
            yield
            return
        self._write(1, time.time())
        try:
            yield
        finally:
            total, since, *_ = self._read()
            self._write(0, total + time.time() - since)
            self._write(1, 0.0)


def create(path):
    """Write the file of an idle GPU."""
    with open(path, "wb") as file:
        file.write(_FORM.pack(0, 0, 20, 0))
