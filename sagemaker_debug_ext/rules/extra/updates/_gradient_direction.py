"""`GradientDirection`: whether gradients go on to point where they pointed before, whatever the noise of batches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import attrs
import numpy as np

from sagemaker_debug_ext.rules.reading.numeric import Array, norm, to_float64

MOST_PARTS: Final = 16
"""Number of parts of training, up to which sums of gradients are kept; then, each two become one."""
FEWEST_PARTS: Final = 8
MOST_ELEMENTS: Final = 1 << 16
"""Number of elements of all parameters together that are looked at."""
MOST_COSINE: Final = 1.2
"""Cosine above which there is too little but noise for one."""
JUMP: Final = 5.0
"""Ratio to the longest step so far above which parameters have been set anew, as for the next fold of the data."""


@attrs.define
class _Part:
    """Gradients of consecutive steps.

    Args:
        start: Parameters at its beginning.
        sums: Sum of the gradients of every other step, and of the others.
        square: Sum of their squared norms.
        num_steps: Number of steps.
    """

    start: Array
    sums: tuple[Array, Array]
    square: float = 0.0
    num_steps: int = 0

    def add(self, gradient: Array) -> None:
        """Add the gradient of a step."""
        self.sums[self.num_steps % 2][...] += gradient
        self.square += float(gradient @ gradient)
        self.num_steps += 1

    @property
    def mean(self) -> Array:
        """The mean gradient."""
        return (self.sums[0] + self.sums[1]) / self.num_steps

    @property
    def squared_mean(self) -> float:
        """The squared norm of the mean gradient, without the noise of batches."""
        evens = (self.num_steps + 1) // 2
        return float(self.sums[0] @ self.sums[1]) / (evens * max(self.num_steps - evens, 1))

    def progress(self, end: Array) -> float:
        """Return how far the parameters have come down the mean gradient by some end, in each step, relative to it."""
        mean = self.mean
        return float((self.start - end) @ mean) / (self.num_steps * float(mean @ mean))

    @classmethod
    def joined(cls, parts: Sequence[_Part]) -> _Part:
        """Return several parts as one."""
        sums = tuple(np.sum([part.sums[which] for part in parts], axis=0) for which in (0, 1))
        square, num_steps = sum(part.square for part in parts), sum(part.num_steps for part in parts)
        return cls(parts[0].start, (sums[0], sums[1]), square, num_steps)


class Persistence(NamedTuple):
    """How far gradients of the last quarter of training agree with those of the quarter before.

    Args:
        cosine: Cosine between the mean gradients of both, without the noise of batches.
        share: Share of the mean squared norm of the gradients that their common direction makes.
        size: Size of the mean gradient of the last quarter, relative to that of the first eighth of training; 0 if that
            was but noise.
        progress: How far the parameters follow the mean gradient in the last quarter, relative to the first eighth.
    """

    cosine: float
    share: float
    size: float
    progress: float


class GradientDirection:
    """Follows the mean gradient of all parameters over parts of training.

    The mean of gradients of single batches has noise, which makes its norm too large. Products of sums over different
    steps have none on average.
    """

    def __init__(self) -> None:
        self._parts: list[_Part] = []
        self._length = 2
        self._layout: dict[str, tuple[int, ...]] | None = None
        self._stride = 1
        self._latest: Array | None = None
        self._longest = 0.0

    def observe(self, weights: Mapping[str, Array], gradients: Mapping[str, Array]) -> None:
        """Add the parameters and gradients of a step, by name of the parameter.

        Those of other parameters than before begin anew, and so do parameters that jump.
        """
        layout = {name: gradients[name].shape for name in sorted(gradients)}
        if layout != self._layout:
            self._layout = layout
            self._stride = -(-sum(map(math.prod, layout.values())) // MOST_ELEMENTS) | 1  # across rows of any length
            self._begin()
        point, gradient = self._sample(weights), self._sample(gradients)
        if not (np.isfinite(point).all() and np.isfinite(gradient).all()):
            return
        if self._latest is not None:
            length = norm(point - self._latest)
            if length > JUMP * self._longest > 0 or (length and np.array_equal(point, self._parts[0].start)):
                self._begin()
            self._longest = max(self._longest, length)
        self._latest = point
        if not self._parts or self._parts[-1].num_steps == self._length:
            self._begin_part(point)
        self._parts[-1].add(gradient)

    def _sample(self, values: Mapping[str, Array]) -> Array:
        pieces = [to_float64(values[name].reshape(-1)[:: self._stride]).real for name in self._layout or ()]
        return np.concatenate(pieces) if pieces else np.zeros(0)

    def _begin(self) -> None:
        self._parts, self._length, self._latest, self._longest = [], 2, None, 0.0

    def _begin_part(self, start: Array) -> None:
        if len(self._parts) == MOST_PARTS:
            self._parts = [_Part.joined(self._parts[number : number + 2]) for number in range(0, MOST_PARTS, 2)]
            self._length *= 2
        self._parts.append(_Part(start, (np.zeros(len(start)), np.zeros(len(start)))))

    @property
    def num_steps(self) -> int:
        """Number of steps that are followed, since the parameters were last set anew."""
        return sum(part.num_steps for part in self._parts)

    def persistence(self) -> Persistence | None:
        """Return how far the gradients of the two last quarters agree; None if there are too few, or only noise."""
        num = len(self._parts)
        if num < FEWEST_PARTS or self._latest is None:
            return None
        first = _Part.joined(self._parts[: num // 8])
        before = _Part.joined(self._parts[num // 2 : 3 * num // 4])
        last = _Part.joined(self._parts[3 * num // 4 :])
        products = [float(one @ other) for one in before.sums for other in last.sums]
        shared = sum(products) / (before.num_steps * last.num_steps)  # of the mean gradients
        usual = (before.square + last.square) / (before.num_steps + last.num_steps)
        if not (min(products) > 0 and before.squared_mean > 0 and last.squared_mean > 0):
            return None
        cosine = shared / math.sqrt(before.squared_mean * last.squared_mean)
        at_first, at_last = first.progress(self._parts[num // 8].start), last.progress(self._latest)
        if not (cosine < MOST_COSINE and at_first > 0):
            return None
        size = math.sqrt(last.squared_mean / first.squared_mean) if first.squared_mean > 0 else 0.0
        return Persistence(cosine, shared / usual, size, at_last / at_first)
