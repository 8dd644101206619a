"""GradientsNotReset: gradients accumulate over steps."""

from __future__ import annotations

import collections
import math
import re
from collections.abc import Sequence
from typing import Final

import attrs
import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.inference.training import gradient_in, is_training
from sagemaker_debug_ext.rules.reading.numeric import norm, to_float64
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement, chosen_or
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import naming_scheme_of
from sagemaker_debug_ext.vocabulary import CollectionKeys

Numbers = npt.NDArray[np.float64]

EXPLAINS: Final = 0.999
"""Cosine from which on an update counts as that of an optimizer."""
EPSILON: Final = 1e-8
MOMENTA: Final = (0.9, 0.95, 0.99, 0.999)
DECAY_OF_GRADIENTS: Final = np.array((0.9, 0.99, *MOMENTA))[:, np.newaxis, np.newaxis]
OF_GRADIENTS: Final = np.array((0.1, 0.01, 1, 1, 1, 1))[:, np.newaxis, np.newaxis]
"""Weight of the latest gradient in the means of Adam and Lion, and in the sums of the momenta."""
DECAY_OF_SQUARES: Final = np.array((0.999, 0.99, 1))[:, np.newaxis, np.newaxis]
OF_SQUARES: Final = np.array((0.001, 0.01, 1))[:, np.newaxis, np.newaxis]
"""Weight of the latest squared gradient in the means of Adam and RMSprop, and in the sum of Adagrad."""
NUM_OPTIMIZERS: Final = 7 + len(MOMENTA)
NUM_LARGE: Final = 3
"""Number of optimizers, at the end of the list, that nearly compute sums of gradients."""
NEARER: Final = 4
RUNS_ON: Final = 20
"""Number of consecutive steps that only a far too large momentum must explain."""
RUNS_ON_FOR_EVER: Final = "that of a momentum of 0.999, which eventually makes updates a thousand times as large"
SETTLED: Final = 100
"""Number of consecutive steps that no sum nor that momentum explains, after which a weight is no longer examined."""
ROUNDING: Final = 1e-6
TINY: Final = 1e-9
"""Difference of cosines that is nothing where two explanations suffer from the same rounding."""
PERIODS: Final = (0, 2, 4, 5, 8, 10, 16, 20)
"""Numbers of steps after which gradients may be reset, beside each step; 0: never."""
MAX_REFUTED: Final = 6
"""Number of changes that may contradict a sum before it is discarded."""
MAX_ELEMENTS: Final = 100_000
"""Larger weights are skipped, because one small weight is sufficient."""
NUM_FOLLOWED: Final = 10_000
"""Largest number of elements to track per weight, because optimizers treat each element separately."""
MAX_FOLLOWED: Final = 200_000
"""Number of elements to track over all weights; each takes 700 bytes at first."""
FEWEST_FOLLOWED: Final = 100
KEPT: Final = Selection(patterns=(r"_gradients_kept_[0-9]+$",))
"""Whether the gradients of an update include those of the update before, as ``sagemaker-debug run`` saves it."""
MOST: Final = 0.5
"""Fraction of the updates above which gradients that are kept are no exception."""


@attrs.define
class Optimizers:
    """The updates that common optimizers, at their usual settings, would make to a weight, given its gradients so far.

    They are gradient descent, Nesterov's momentum of 0.9, Adam, RMSprop, Adagrad, the signs of gradients and of their
    averages, as in Lion, and momentum of 0.9, 0.95, 0.99 and 0.999, in this order. The learning rate is left open.
    Several series of gradients, one a row, are tracked at once, because NumPy's calls cost more than the numbers.
    """

    steps: int = 0
    means: Numbers = attrs.field(factory=lambda: np.zeros_like(OF_GRADIENTS))
    """Sums of the gradients, with the weights in `OF_GRADIENTS`."""
    squares: Numbers = attrs.field(factory=lambda: np.zeros_like(OF_SQUARES))
    """Sums of their squares, with the weights in `OF_SQUARES`."""

    def updates(self, gradients: Numbers) -> Numbers:
        """Add the next gradients, and return the directions of the updates.

        Args:
            gradients: Gradients of shape (series, elements).

        Returns:
            Directions of shape (optimizers, series, elements).
        """
        self.steps += 1
        found = np.empty((NUM_OPTIMIZERS, *gradients.shape))
        plain, nesterov, adaptive, sign, lion = found[0], found[1], found[2:5], found[5], found[6]
        np.sign(0.9 * self.means[1] + 0.1 * gradients, out=lion)
        self.means = DECAY_OF_GRADIENTS * self.means + OF_GRADIENTS * gradients
        self.squares = DECAY_OF_SQUARES * self.squares + OF_SQUARES * gradients**2
        mean, momenta = self.means[0], self.means[2:]
        plain[:] = gradients
        np.add(gradients, MOMENTA[0] * momenta[0], out=nesterov)
        adaptive[0] = mean / (1 - 0.9**self.steps)
        adaptive[1:] = gradients
        sizes = np.sqrt(self.squares / np.array((1 - 0.999**self.steps, 1, 1))[:, np.newaxis, np.newaxis])
        adaptive /= sizes + EPSILON
        np.sign(gradients, out=sign)
        found[7:] = momenta
        return np.negative(found, out=found)

    def keep(self, rows: Sequence[int]) -> None:
        """Keep only some of the series."""
        self.means, self.squares = self.means[:, rows], self.squares[:, rows]


def cosines(change: Numbers, updates: Numbers) -> Numbers:
    """Return the cosine of the angle between a change and each update; 0 if one of them is 0 or not finite.

    Args:
        change: Change of a weight, of shape (elements,).
        updates: Directions of shape (..., elements).
    """
    sizes = np.sqrt(np.einsum("...i,...i->...", updates, updates)) * norm(change)
    found = np.einsum("...i,i->...", updates, change) / np.where(sizes > 0, sizes, np.nan)
    return np.where(np.isfinite(found), found, 0.0)


@attrs.define
class _Sum:
    """How well the sum of gradients explains a weight's changes, if they are reset every so many steps; 0: never."""

    period: int
    length: int = 0
    """Number of steps at which the sum explained the change and the gradient did not, without other steps between."""
    refuted: int = 0
    explained: float = 0.0

    def observe(self, explained: float, by_reset: Numbers) -> None:
        """Compare the fit of the sum with the fit of gradients that are reset."""
        self.explained = explained
        if explained > EXPLAINS:
            # A large momentum gives nearly a sum, so the sum must fit much better to count.
            is_nearer = 1 - by_reset.max() > NEARER * (1 - explained) + ROUNDING
            self.length += bool(is_nearer and by_reset[:-NUM_LARGE].max() <= EXPLAINS)
        else:
            self.length = 0
            self.refuted += 1

    def starts_anew(self, step: int) -> bool:
        """Return whether gradients are reset before a step."""
        return bool(self.period) and step % self.period == 0


@attrs.define
class _Watch:
    """Tracks a weight, and its expected updates if gradients are reset or accumulate."""

    step: int
    weight: Numbers
    gradients: Numbers
    """Latest gradient if it is reset at each step, and its sum of each kind, one a row."""
    sums: list[_Sum] = attrs.field(factory=lambda: [_Sum(period) for period in PERIODS])
    optimizers: Optimizers = attrs.field(factory=Optimizers)
    runs_on: int = 0
    """Number of latest steps whose change only a far too large momentum explains."""
    unremarkable: int = 0
    """Number of latest steps whose change neither this momentum nor a sum explains."""

    @classmethod
    def starting_with(cls, weight: Numbers, gradient: Numbers) -> _Watch:
        """Track a weight from step 0."""
        return cls(0, weight, np.tile(gradient, (1 + len(PERIODS), 1)))

    def observe(self, weight: Numbers, gradient: Numbers, *, may_be_sum: bool) -> Numbers:
        """Compare the change of the next step with the expected one, and return the cosines if gradients are reset.

        Args:
            weight: The weight after the step.
            gradient: Its next gradient.
            may_be_sum: Whether nothing else tells that gradients are reset.
        """
        change = weight - self.weight
        fits = cosines(change, self.optimizers.updates(self.gradients))
        by_reset = fits[:, 0]
        self.step, self.weight = self.step + 1, weight
        for candidate, explained in zip(self.sums, fits[:, 1:].max(axis=0), strict=True):
            candidate.observe(float(explained), by_reset)
        is_reset = [True, *(candidate.starts_anew(self.step) for candidate in self.sums)]
        self.gradients = np.where(np.array(is_reset)[:, np.newaxis], gradient, self.gradients + gradient)
        *others, ordinary, huge = by_reset
        runs_on = huge > EXPLAINS and max(*others, ordinary) < 1 - NEARER * (1 - huge) - ROUNDING
        if may_be_sum:  # of which the momentum gives nearly the same where gradients hardly change
            runs_on &= all(1 - huge <= NEARER * (1 - candidate.explained) + TINY for candidate in self.sums)
        self.runs_on = self.runs_on + 1 if runs_on else 0
        is_open = huge > EXPLAINS or any(candidate.explained > EXPLAINS for candidate in self.sums)
        self.unremarkable = 0 if is_open else self.unremarkable + 1
        return by_reset

    @property
    def best(self) -> _Sum:
        """The sum that has explained changes for longest."""
        return max(self.sums, key=lambda candidate: candidate.length)

    def discard_refuted(self) -> None:
        """Stop tracking sums that several changes contradict, except the best."""
        kept = [index for index, one in enumerate(self.sums) if one.refuted < MAX_REFUTED or one is self.best]
        if len(kept) == len(self.sums):
            return
        rows = [0, *(1 + index for index in kept)]
        self.optimizers.keep(rows)
        self.gradients = self.gradients[rows]
        self.sums = [self.sums[index] for index in kept]


@attrs.define
class _Updates:
    """Updates of an optimizer so far, and how many of them used the gradients of the update before."""

    num: int = 0
    num_kept: int = 0


class GradientsNotReset(TensorRule):
    """Weights change as if gradients accumulated over steps: they are not reset.

    For PyTorch, ``sagemaker-debug run`` saves whether the gradients of an update include those of the update before.
    The rule fires if they do at `patience` saved updates, and at more than half of all.

    Other hooks save the gradient of each step only, so the rule examines the weight updates. It reads weights and their
    gradients at each TRAIN step (or step without a mode) from the first one on, without a gap. It computes the updates
    of gradient descent, with and without momentum, Adam, RMSprop, Adagrad and Lion. Each is computed with gradients
    that are reset at each step, and with gradients that accumulate forever or for 2, 4, 5, 8, 10, 16 or 20 steps.

    The rule fires if such a sum explains the change at `patience` steps, to a cosine of 0.999, and no optimizer with
    reset gradients explains it as well. At no step in between may both fail. After 100 steps in a row of which a sum
    explains none, a weight is no longer examined. Intended gradient accumulation, with an
    update only after the last batch, does not fire, nor do other optimizers or weight decay. A momentum of 0.999 also
    accumulates gradients for too long to learn from them. The rule fires if only this momentum explains 20 consecutive
    changes.

    Keras and MXNet are not evaluated: in Keras, gradients cannot accumulate, and the MXNet hook saves the sum that the
    update uses.

    Parameters:
        tensor_regex: Regular expressions searched in names of weights, as a list or separated by commas. When not
            given: the collection ``weights``.
        patience: Number of steps; 4 when not given.

    Source:
        Forgetting to reset gradients is a fault special to PyTorch programs, which its documentation warns of
        (recipe «Zeroing out gradients»).

    Example:
        >>> rule = create_rule("GradientsNotReset", trial)
        >>> invoke_rule(rule)
    """

    spec_name = "GradientsNotReset"
    has_per_tensor_state = True
    advice = (
        "Call optimizer.zero_grad() once before each backward pass, or after each update when gradients accumulate."
    )

    def configure(self) -> None:
        self._weights = chosen_or(self.parameters["tensor_regex"], collections=(CollectionKeys.WEIGHTS,))
        self.selection = self._weights.united_with(KEPT)
        self._watches: dict[str, _Watch] = {}
        self._updates: dict[str, _Updates] = collections.defaultdict(_Updates)

    def needs(self) -> tuple[TensorRequirement, ...]:
        return (
            TensorRequirement("weights", self._weights),
            TensorRequirement("gradients", Selection(collections=(CollectionKeys.GRADIENTS,))),
        )

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return how often gradients were kept, or how well their sum explains the change of a weight."""
        if name in view.selected(KEPT):
            return self._measure_updates(view, name)
        return self._measure_change(view, name)

    def _measure_change(self, view: StepView, name: str) -> Measurement | None:
        """Return how well a sum of gradients explains the change of a weight, where gradients do not."""
        if not is_training(view) or view.mode_step is None or naming_scheme_of(view.trial).is_updated(name):
            return None
        watch = self._watches.get(name) if view.mode_step else None
        if watch is not None and watch.unremarkable >= SETTLED:
            return Measurement(watch.best.explained, fires=False, threshold=EXPLAINS)
        by_reset = self._observe(view, name, watch)
        if watch is None or by_reset is None:
            return None
        best = watch.best
        watch.discard_refuted()
        patience: int = self.parameters["patience"]
        if watch.runs_on >= RUNS_ON and best.length < patience:
            explained, text = float(by_reset[-1]), f"{by_reset[:-1].max():.4f}"
            return Measurement(explained, fires=True, threshold=EXPLAINS, text=text, severity=-1)
        return Measurement(
            best.explained,
            fires=best.length >= patience and not view.selected(KEPT),
            threshold=EXPLAINS,
            severity=best.length,
            text=f"{by_reset.max():.3f}" + (f"; they are reset every {best.period} steps" if best.period else ""),
        )

    def _observe(self, view: StepView, name: str, watch: _Watch | None) -> Numbers | None:
        """Track a weight, and return the cosines of its change if gradients are reset; None if they are unknown."""
        count = self._num_followed(view) if watch is None else watch.weight.size
        weight, gradient = _flat(view, name, count), _flat(view, gradient_in(view, name), count)
        if weight is None or gradient is None or weight.size != gradient.size:
            return None
        if watch is None:
            if view.mode_step == 0:
                self._watches[name] = _Watch.starting_with(weight, gradient)
            return None
        if watch.step != (view.mode_step or 0) - 1 or watch.weight.size != weight.size:
            del self._watches[name]  # a gap makes the sum of gradients unknown
            return None
        return watch.observe(weight, gradient, may_be_sum=not view.selected(KEPT))

    def _measure_updates(self, view: StepView, name: str) -> Measurement | None:
        """Return the number of updates of an optimizer that used the gradients of the update before."""
        is_kept = view.scalar(name)
        if is_kept is None:
            return None
        seen, patience = self._updates[name], int(self.parameters["patience"])
        seen.num += 1
        seen.num_kept += bool(is_kept)
        fires = seen.num_kept >= patience and seen.num_kept > MOST * seen.num
        return Measurement(
            seen.num_kept, fires=fires, threshold=patience, severity=math.inf, text=f"{seen.num_kept} of {seen.num}"
        )

    def _num_followed(self, view: StepView) -> int:
        """Return the number of elements to track per weight, which falls with the number of weights."""
        share = MAX_FOLLOWED // max(len(view.selected(self._weights)), 1)
        return min(max(share, FEWEST_FOLLOWED), NUM_FOLLOWED)

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        if names[0] in self._updates:
            optimizer = re.sub(KEPT.patterns[0], "", names[0])
            return (
                f"Gradients are not reset before the updates of {optimizer}: {first.text} updates used the gradients "
                "of the update before once more."
            )
        if first.severity < 0:
            return (
                f"Updates run on in {describe_tensors(names)}: the change of the first is {RUNS_ON_FOR_EVER} (cosine "
                f"{first.value:.5f}, with less momentum {first.text})."
            )
        return (
            f"Gradients are not reset in {describe_tensors(names)}: the change of the first is what the sum of several "
            f"gradients makes it (cosine {first.value:.4f}), not that of the step (cosine {first.text})."
        )


def _flat(view: StepView, name: str | None, count: int) -> Numbers | None:
    """Return the first values of a tensor, flattened, or None if it was not saved or is too large."""
    value = None if name is None else view.value(name)
    if value is None or value.size > MAX_ELEMENTS or value.dtype.kind == "c":
        return None
    flat: Numbers = to_float64(value.reshape(-1)[:count])
    return flat
