"""`GPUWindowRule`: a rule over the latest points of each GPU."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import ClassVar

from sagemaker_debug_ext.profiler.rules.base import PATIENCE_SECONDS, ProfilerRule, SecondsOrPoints
from sagemaker_debug_ext.profiler.rules.slices import Sensor, Slice
from sagemaker_debug_ext.profiler.rules.statistics import PercentHistogram, Window


class GPUWindowRule(ProfilerRule):
    """A rule that keeps a window and a histogram of each GPU, and waits for its patience.

    Args:
        parameters: See `ProfilerRule`.
    """

    dimensions: ClassVar[Sequence[str]]
    """Dimensions of the sensors, the preferred one first."""

    own_parameters = PATIENCE_SECONDS

    def __init__(self, parameters: Mapping[str, object] | None = None) -> None:
        super().__init__(parameters)
        self._patience = SecondsOrPoints(self.parameters["patience"], self.parameters["patience_seconds"])
        self._windows: dict[Sensor, Window] = {}
        self._boxes: dict[Sensor, PercentHistogram] = {}
        self._first: dict[Sensor, float] = {}
        self._last_us = 0
        self._waiting = ""

    def observe(self, piece: Slice) -> None:
        """Look at every GPU of the next slice."""
        self._last_us = self._last_us or piece.start_us
        for node in piece.nodes:
            gpus = next(filter(None, (piece.sensors(dimension, node) for dimension in self.dimensions)), [])
            self.datapoints += max((piece.readings[gpu].times.size for gpu in gpus), default=0)
            for gpu in gpus:
                times, values = piece.readings[gpu]
                self._first.setdefault(gpu, float(times[0]))
                self._boxes.setdefault(gpu, PercentHistogram()).add(values)
                self._observe_gpu(piece, gpu)

    @abc.abstractmethod
    def _observe_gpu(self, piece: Slice, gpu: Sensor) -> None:
        """Look at the points of a GPU, add them to its window, and decide."""

    def _must_wait(self, num_points: int, span: float) -> bool:
        """Note and return whether there are too few points to decide."""
        is_over = self._patience.is_over(num_points, span)
        self._waiting = "" if is_over else self._patience.describe(num_points, span)
        return not is_over

    def not_evaluated(self) -> str | None:
        """Return why the rule cannot decide; None if it can."""
        return "no GPU" if not self._windows else self._waiting or None
