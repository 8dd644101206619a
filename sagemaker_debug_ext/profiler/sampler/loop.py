"""The loop of the sampling process: one sample at each multiple of the interval."""

from __future__ import annotations

import itertools
import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from sagemaker_debug_ext.profiler.format.system_rows import SystemRow
from sagemaker_debug_ext.profiler.sampler.sensors import Source, Value
from sagemaker_debug_ext.profiler.sampler.settings import MAX_INTERVAL_MILLIS
from sagemaker_debug_ext.profiler.sampler.writer import SystemFileWriter

_LOG: Final = logging.getLogger(__name__)
SLOW_SECONDS: Final = 15.0
MAX_COST: Final = 0.005
"""Share of one core that sampling may cost."""

_LOW_COST: Final = 0.4 * MAX_COST
"""Sampling that costs less than this would cost clearly less than it may at twice the rate."""

_COST_SECONDS: Final = 30.0
"""The cost is evaluated over this time, so that some slow samples, as at the start, do not count."""

_LOOK_SECONDS: Final = 1.0
"""How often another interval may be asked for."""

_ALL_ERRORS: Final = (Exception,)


def next_tick(now: float, interval: float) -> float:
    """Return the first multiple of the interval after `now`, both in seconds since 1970.

    A missed tick is skipped, so that samples do not bunch up after a pause.
    """
    return (math.floor(now / interval + 1e-9) + 1) * interval


class SamplingLoop:
    """Reads sensors, and writes their values.

    Args:
        writer: Where rows go.
        node: The machine.
        requested: Returns the seconds between samples that are asked for now, or None for no samples.
        fast: Sources to read at every sample; each is a family with a common time.
        slow: Sources to read every few seconds.
        clock: Seconds since 1970.
        cpu_clock: Seconds of processor time of this process.
        monotonic: Seconds that only grow.

    Attributes:
        interval: Seconds between samples: what is asked for, doubled while sampling costs too much.
    """

    def __init__(
        self,
        writer: SystemFileWriter,
        node: str,
        requested: Callable[[], float | None],
        fast: Iterable[Source],
        slow: Iterable[Source] = (),
        *,
        clock: Callable[[], float] = time.time,
        cpu_clock: Callable[[], float] = time.process_time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._writer = writer
        self._node = node
        self._requested = requested
        self._asked = requested()
        self.interval = self._asked or math.inf
        self._fast = list(fast)
        self._slow = list(slow)
        self._clock, self._cpu_clock, self._monotonic = clock, cpu_clock, monotonic
        self._slow_at = self._due_at = -math.inf
        self._evaluated_at, self._evaluated_cpu = monotonic(), cpu_clock()

    def run(self, wait: Callable[[float], bool]) -> None:
        """Sample until the job ends.

        Args:
            wait: Waits for some seconds, and returns whether the job goes on.
        """
        self._writer.start(self._clock())
        goes_on = True
        while goes_on:
            if self._is_due():
                self.sample()
                self._check_cost()
                now = self._clock()
                self._due_at = self._monotonic() + (next_tick(now, self.interval) - now)
            else:
                self._writer.write(())  # rows of a sample long before its next one reach their file
            goes_on = wait(min(max(self._due_at - self._monotonic(), 0.0), _LOOK_SECONDS))
        self._writer.flush()

    def _is_due(self) -> bool:
        """Follow the interval that is asked for now, and return whether to sample."""
        asked = self._requested()
        if asked != self._asked:
            self._asked, self._due_at = asked, -math.inf
            self.interval = asked or math.inf
        if asked is None:
            self._due_at = math.inf
        return self._monotonic() >= self._due_at

    def sample(self) -> None:
        """Read all sensors that are due, and write their values."""
        rows: list[Iterator[SystemRow]] = []
        now = self._monotonic()
        sources: Sequence[list[Source]] = [self._fast]
        if now - self._slow_at >= SLOW_SECONDS:
            self._slow_at = now
            sources = [self._fast, self._slow]
        for family in sources:
            for source in list(family):
                values = self._guarded(source, family)
                next(values, None)  # reads the sensor now; its values are taken when they are written
                rows.append(self._rows(values, self._clock()))
        self._writer.write(itertools.chain.from_iterable(rows))

    def _rows(self, values: Iterable[Value | None], timestamp: float) -> Iterator[SystemRow]:
        for value in values:
            if value is not None and math.isfinite(value.value):
                yield SystemRow(value.type, value.name, value.dimension, round(value.value, 2), self._node, timestamp)

    @staticmethod
    def _guarded(source: Source, family: list[Source]) -> Iterator[Value | None]:
        """Read a source and yield None, and then its values; a source that fails leaves its family."""
        try:
            values = source()
            yield None
            yield from values
        except _ALL_ERRORS as error:  # drivers and libraries raise what they like; sampling goes on without this sensor
            if source in family:
                family.remove(source)
                _LOG.warning("a sensor is no longer sampled: %s: %s", type(error).__name__, error)

    def _check_cost(self) -> None:
        """Halve the rate if sampling costs more than it may, double it when it no longer does, and record the cost."""
        now = self._monotonic()
        span = now - self._evaluated_at
        if span < max(_COST_SECONDS, self.interval):
            return
        cpu = self._cpu_clock()
        cost = (cpu - self._evaluated_cpu) / span
        self._evaluated_at, self._evaluated_cpu = now, cpu
        if cost > MAX_COST and self.interval * 2000 <= MAX_INTERVAL_MILLIS:
            self.interval *= 2
            _LOG.warning("sampling costs %.2f %% of a core: a sample every %g s from now on", 100 * cost, self.interval)
        elif cost < _LOW_COST and self._asked is not None and self.interval > self._asked:
            self.interval /= 2
        self._writer.write(
            self._rows(
                [
                    Value("process", "sampler", "CPUUtilization", 100 * cost),
                    Value("process", "sampler", "SamplingIntervalSeconds", self.interval),
                ],
                self._clock(),
            )
        )
