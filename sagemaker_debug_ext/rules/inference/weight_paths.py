"""How straight weights go while a loss falls: `WeightPaths`.

Updates that are far too small for the slope that they go down all have the same direction. Near an optimum, and with
the noise of batches, weights go to and fro.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from sagemaker_debug_ext.rules.inference.loss_course import LossCourse
from sagemaker_debug_ext.rules.reading.numeric import Array, norm, to_float64

SAMPLED: Final = 1024
"""Number of elements of a weight that show which way it goes."""
MOST_FOLLOWED: Final = 16
"""Number of weights of a large model that are followed."""


@attrs.define
class _Leg:
    """A part of the way of all weights, up to the latest step.

    Args:
        starts: Where each weight was at its beginning.
        levels: Level of each loss at its beginning.
        lengths: Sum of the norms of the updates of each weight since.
    """

    starts: Mapping[str, Array]
    levels: Mapping[str, float]
    lengths: dict[str, float] = attrs.field(factory=dict)


class WeightPaths:
    """Follows weights over the latest part of training: the last half to three quarters of its steps.

    Args:
        course: The losses, which observes each step before the paths do.
    """

    def __init__(self, course: LossCourse) -> None:
        self._course = course
        self._latest: dict[str, Array] = {}
        self._legs: list[_Leg] = []
        self.num_steps = 0

    def observe(self, weights: Mapping[str, Array]) -> None:
        """Add the values of the weights at a step."""
        points = {name: to_float64(weights[name].reshape(-1)[:SAMPLED]) for name in _some(sorted(weights))}
        for name, point in points.items():
            before = self._latest.get(name)
            length = norm(point - before) if before is not None and before.shape == point.shape else 0.0
            for leg in self._legs:
                leg.lengths[name] = leg.lengths.get(name, 0.0) + length
        self._latest |= points
        self.num_steps += 1
        if self.num_steps & (self.num_steps - 1) == 0:  # so that the first leg of two has half of all steps or more
            self._legs = [*self._legs[-1:], _Leg(points, self._course.levels())]

    @property
    def levels(self) -> Mapping[str, float]:
        """Level of each loss at the beginning of the latest part."""
        return self._legs[0].levels if self._legs else {}

    def straightness(self) -> dict[str, float]:
        """Return how far each weight has come, relative to the length of its way; those at rest are left out."""
        if not self._legs:
            return {}
        leg = self._legs[0]
        return {
            name: norm(self._latest[name] - start) / leg.lengths[name]
            for name, start in leg.starts.items()
            if leg.lengths.get(name, 0.0) > 0 and start.shape == self._latest[name].shape
        }


def _some(names: Sequence[str]) -> Sequence[str]:
    """Return the names of the weights that are followed, from all parts of the model."""
    return names[:: -(-len(names) // MOST_FOLLOWED)] if names else names
