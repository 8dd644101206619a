"""`GradientDirection`: whether gradients go on to point where they pointed before, whatever the noise of batches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import attrs
import numpy as np

from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64

MOST_PARTS: Final = 16
"""Number of parts of training, up to which sums of gradients are kept; then, each two become one."""
FEWEST_PARTS: Final = 8
MOST_ELEMENTS: Final = 1 << 16
"""Number of elements of all gradients together that are looked at."""


@attrs.define
class _Part:
    """Gradients of consecutive steps.

    Args:
        sums: Sum of those of every other step, and of the others.
        square: Sum of the squared norms.
        num_steps: Number of steps.
    """

    sums: tuple[Array, Array]
    square: float = 0.0
    num_steps: int = 0

    def add(self, gradient: Array) -> None:
        self.sums[self.num_steps % 2][...] += gradient
        self.square += float(gradient @ gradient)
        self.num_steps += 1

    @classmethod
    def joined(cls, parts: Sequence[_Part]) -> _Part:
        """Return several parts as one."""
        sums = tuple(np.sum([part.sums[which] for part in parts], axis=0) for which in (0, 1))
        return cls((sums[0], sums[1]), sum(part.square for part in parts), sum(part.num_steps for part in parts))


class Persistence(NamedTuple):
    """How far gradients of the last quarter of training agree with those of the quarter before.

    Args:
        cosine: Cosine between the mean gradients of both, without the noise of batches.
        share: Share of the mean squared norm of the gradients that their common direction makes.
        size: Size of the mean gradient of the last quarter, relative to that of the first eighth of training.
    """

    cosine: float
    share: float
    size: float


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

    def observe(self, gradients: Mapping[str, Array]) -> None:
        """Add the gradients of a step, by name; those of other parameters than before begin anew."""
        layout = {name: gradients[name].shape for name in sorted(gradients)}
        if layout != self._layout:
            self._layout, self._parts, self._length = layout, [], 2
            self._stride = max(-(-sum(map(math.prod, layout.values())) // MOST_ELEMENTS), 1)
        pieces = [to_float64(gradients[name].reshape(-1)[:: self._stride]).real for name in layout]
        gradient = np.concatenate(pieces)
        if not np.isfinite(gradient).all():
            return
        if not self._parts or self._parts[-1].num_steps == self._length:
            self._begin_part(len(gradient))
        self._parts[-1].add(gradient)

    def _begin_part(self, size: int) -> None:
        if len(self._parts) == MOST_PARTS:
            self._parts = [_Part.joined(self._parts[start : start + 2]) for start in range(0, MOST_PARTS, 2)]
            self._length *= 2
        self._parts.append(_Part((np.zeros(size), np.zeros(size))))

    def persistence(self) -> Persistence | None:
        """Return how far the gradients of the two last quarters agree; None if there are too few, or only noise."""
        num = len(self._parts)
        if num < FEWEST_PARTS:
            return None
        first = _Part.joined(self._parts[: num // 8])
        before = _Part.joined(self._parts[num // 2 : 3 * num // 4])
        last = _Part.joined(self._parts[3 * num // 4 :])
        products = [float(one @ other) for one in before.sums for other in last.sums]
        shared = sum(products) / (before.num_steps * last.num_steps)  # of the mean gradients
        own_before, own_last, own_first = map(_squared_mean, (before, last, first))
        usual = (before.square + last.square) / (before.num_steps + last.num_steps)
        if not (min(products) > 0 and own_before > 0 and own_last > 0 and usual > 0):
            return None
        return Persistence(
            shared / math.sqrt(own_before * own_last),
            shared / usual,
            math.sqrt(own_last / own_first) if own_first > 0 else math.inf,
        )


def _squared_mean(part: _Part) -> float:
    """Return the squared norm of the mean gradient, without the noise of batches."""
    evens = (part.num_steps + 1) // 2
    return float(part.sums[0] @ part.sums[1]) / (evens * max(part.num_steps - evens, 1))
