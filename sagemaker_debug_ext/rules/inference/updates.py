"""Size and direction of weight updates, for LearningRateTooHigh, LearningRateTooLow and other rules."""

from __future__ import annotations

import abc
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import ClassVar, Final, NamedTuple

import attrs
import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule, describe_tensors
from sagemaker_debug_ext.rules.inference.loss_course import LossCourse
from sagemaker_debug_ext.rules.inference.training import RollingWindow
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.numeric import Array, norm, to_float64
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView, train_or_all
from sagemaker_debug_ext.rules.reading.tensor_roles import naming_scheme_of
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

PARAMETERS: Final = Selection(collections=(CollectionKeys.WEIGHTS, CollectionKeys.BIASES))
GRADIENTS: Final = Selection(collections=(CollectionKeys.GRADIENTS,))
FEWEST_ELEMENTS: Final = 16
"""Number of elements below which a weight may come near 0 on its way to where it is needed."""
NEARLY_ZERO: Final = 1e-3
"""Root mean square of weights up to which any update is large beside them."""
TINY: Final = 1e-12
SAMPLED: Final = 1024
"""Number of elements of a weight that show which way it goes."""
MOST_FOLLOWED: Final = 16
"""Number of weights of a large model whose way is followed."""


class UpdateSizeRule(BuiltinRule):
    """A rule over the relative size of updates, for each step of training.

    An observation is the norm of a weight's change since its previous saved value, relative to the norm of that value,
    per step. The median of the latest observations of a weight is its usual update. Biases and, beside matrices, single
    numbers are not observed. The change of a weight with few elements is relative to its largest norm so far, because
    it may pass near 0.
    """

    is_too_large: ClassVar[bool]
    _from_zero: set[str]
    """Names of weights that were 0, or nearly so, when they were first saved."""
    selection = Selection(collections=(CollectionKeys.WEIGHTS,))

    def configure(self) -> None:
        """Reset the observations."""
        self._recent = RollingWindow(self.parameters["window"])
        self._known: set[str] = set()
        self._largest_norms: dict[str, float] = {}
        self._from_zero = set()

    def needs(self) -> tuple[TensorRequirement, ...]:
        """Return the weights."""
        return (TensorRequirement("weights", self.selection),)

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue if the updates of the weights are out of bounds."""
        mode = train_or_all(view)
        if view.step_in(mode) is None:
            return None
        names = self._weights(view)
        for name in names:
            self._observe(view, name, mode)
        usual = {name: statistics.median(self._recent.of(name)) for name in names if self._recent.is_full(name)}
        moving = {name: value for name, value in usual.items() if value > 0}  # frozen ones have a rule of their own
        if not moving:
            return None
        beyond = self.out_of_bounds(moving)
        return [self.issue_of(view, {name: moving[name] for name in beyond}, self.limit)] if beyond else []

    def _weights(self, view: StepView) -> list[str]:
        """Return the weights that have a size to compare updates with.

        Offsets start at 0, so that they change by much of their size. A single number, such as the slope of a PReLU,
        has no size beside that of matrices.
        """
        is_offset = naming_scheme_of(view.trial).is_offset
        names = [name for name in view.selected(self.selection) if not is_offset(name)]
        sized = [name for name in names if (value := view.value(name)) is None or value.ndim > 1 or value.size > 1]
        return sized or names

    def issue_of(self, view: StepView, usual: Mapping[str, float], limit: float) -> Issue:
        """Return the issue of weights whose usual updates are out of bounds, the worst first."""
        names = list(usual)
        message = (
            f"The learning rate is too {'high' if self.is_too_large else 'low'} for {describe_tensors(names)}: a step "
            f"changes the first by {usual[names[0]]:.3g} of its norm, {'above' if self.is_too_large else 'below'} "
            f"{limit:g}."
        )
        return self.found(view, message, tensors=names, value=usual[names[0]], threshold=limit)

    @property
    def limit(self) -> float:
        """The bound of a usual update."""
        threshold: float = self.parameters["threshold"]
        return threshold

    @abc.abstractmethod
    def out_of_bounds(self, usual: dict[str, float]) -> list[str]:
        """Return the weights whose usual update is out of bounds, the worst first."""

    def _observe(self, view: StepView, name: str, mode: ModeKeys) -> None:
        if name not in self._known and (current := view.value(name)) is not None:
            self._known.add(name)
            if norm(current) <= NEARLY_ZERO * math.sqrt(current.size):
                self._from_zero.add(name)
        update = view.once(latest_update, name, mode)
        value = view.value(name)
        if update is not None and value is not None and value.size < FEWEST_ELEMENTS:
            largest = self._largest_norms[name] = max(update.norm, self._largest_norms.get(name, 0.0))
            update = update._replace(ratio=update.ratio * update.norm / (largest + TINY))
        if update is not None:
            self._recent.add(name, update.ratio / update.num_steps)
            self.note(name, update)

    def note(self, name: str, update: Update) -> None:
        """Observe the update of a weight since its previous saved value. Optional."""


class Update(NamedTuple):
    """The change of a weight since its previous saved value.

    Args:
        num_steps: Number of steps between the two.
        norm: Norm of the previous value.
        ratio: Norm of the change, relative to it.
    """

    num_steps: int
    norm: float
    ratio: float


def latest_update(view: StepView, name: str, mode: ModeKeys) -> Update | None:
    """Return the update of a weight in a mode that the step is of; None if there is nothing to compare."""
    step, previous, current = view.step_in(mode), view.previous(name, mode), view.value(name)
    if step is None or previous is None or current is None or previous.value.shape != current.shape:
        return None
    size = norm(previous.value)
    return Update(step - previous.step, size, _change(current, previous.value) / (size + TINY))


def update_ratio(current: Array, earlier: Array, epsilon: float) -> float:
    """Return the norm of a weight's change, relative to the norm of the earlier weight."""
    return _change(current, earlier) / (norm(earlier) + epsilon)


def _change(current: Array, earlier: Array) -> float:
    wide = np.complex128 if current.dtype.kind == "c" else np.float64
    return norm(np.subtract(current, earlier, dtype=wide, casting="unsafe"))


def any_non_zero(gradient: Array) -> bool:
    """Return whether any element is not 0."""
    return bool(np.any(gradient))


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

    Updates that are far too small for the slope that they go down all have the same direction. Near an optimum, and
    with the noise of batches, weights go to and fro.

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
        """Return how far each weight has come, relative to the length of its way; those at rest are left out.

        A weight that is not finite has come nowhere.
        """
        if not self._legs:
            return {}
        leg = self._legs[0]
        moved = {name: start for name, start in leg.starts.items() if leg.lengths.get(name, 0.0) > 0}
        with np.errstate(all="ignore"):
            ratios = {
                name: norm(self._latest[name] - start) / leg.lengths[name]
                for name, start in moved.items()
                if start.shape == self._latest[name].shape
            }
        return {name: ratio if math.isfinite(ratio) else 0.0 for name, ratio in ratios.items()}


def _some(names: Sequence[str]) -> Sequence[str]:
    """Return the names of the weights that are followed, from all parts of the model."""
    return names[:: -(-len(names) // MOST_FOLLOWED)] if names else names
