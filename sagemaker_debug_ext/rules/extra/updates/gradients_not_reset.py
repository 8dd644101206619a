"""GradientsNotReset: gradients accumulate over steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import attrs
import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.inference.training import gradient_in, is_training
from sagemaker_debug_ext.rules.reading.numeric import Array, norm, to_float64
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement, chosen_or
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import naming_scheme_of
from sagemaker_debug_ext.vocabulary import CollectionKeys

Numbers = npt.NDArray[np.float64]

EXPLAINS: Final = 0.999
"""Cosine from which on an update counts as that of an optimizer."""
MOMENTA: Final = (0.9, 0.95, 0.99, 0.999)
NUM_LARGE: Final = 3
"""Number of optimizers, at the end of the list, that nearly compute sums of gradients."""
NEARER: Final = 4
RUNS_ON: Final = 20
"""Number of consecutive steps that only a far too large momentum must explain."""
RUNS_ON_FOR_EVER: Final = "that of a momentum of 0.999, which eventually makes updates a thousand times as large"
ROUNDING: Final = 1e-6
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


@attrs.define
class Optimizers:
    """The updates that common optimizers, at their usual settings, would make to a weight, given its gradients so far.

    They are gradient descent, with momentum of 0.9, 0.95, 0.99 and 0.999, the first also with Nesterov's, Adam,
    RMSprop, Adagrad, and the signs of gradients and of their averages, as in Lion. The learning rate is left open.
    """

    steps: int = 0
    momenta: dict[float, Numbers | float] = attrs.field(factory=lambda: dict.fromkeys(MOMENTA, 0.0))
    mean: Numbers | float = 0.0
    square: Numbers | float = 0.0
    quick: Numbers | float = 0.0
    total: Numbers | float = 0.0
    slow: Numbers | float = 0.0

    def updates(self, gradient: Numbers) -> Iterable[Numbers]:
        """Add the next gradient, and return the directions of the updates."""
        self.steps += 1
        self.momenta = {share: share * momentum + gradient for share, momentum in self.momenta.items()}
        self.mean = 0.9 * self.mean + 0.1 * gradient
        self.square = 0.999 * self.square + 0.001 * gradient**2
        corrected = self.mean / (1 - 0.9**self.steps)
        size = np.sqrt(self.square / (1 - 0.999**self.steps)) + 1e-8
        nesterov = gradient + MOMENTA[0] * self.momenta[MOMENTA[0]]
        self.quick = 0.99 * self.quick + 0.01 * gradient**2
        self.total = self.total + gradient**2
        lion = np.sign(0.9 * self.slow + 0.1 * gradient)
        self.slow = 0.99 * self.slow + 0.01 * gradient
        scaled = [gradient / (np.sqrt(squares) + 1e-8) for squares in (self.quick, self.total)]
        others = (gradient, nesterov, corrected / size, *scaled, np.sign(gradient), lion)
        return tuple(-np.asarray(update) for update in (*others, *self.momenta.values()))


def cosine(first: Array, second: Array) -> float:
    """Return the cosine of the angle between two arrays; 0 if one of them is 0 or not finite."""
    size = norm(first) * norm(second)
    found = float(np.einsum("i,i->", first, second)) / size if size > 0 else 0.0
    return found if np.isfinite(found) else 0.0


@attrs.define
class _Sum:
    """Sum of gradients that are reset only every so many steps; 0: never."""

    period: int
    total: Numbers
    optimizers: Optimizers = attrs.field(factory=Optimizers)
    length: int = 0
    """Number of steps at which the sum explained the change and the gradient did not, without other steps between."""
    refuted: int = 0
    explained: float = 0.0

    def observe(self, change: Numbers, by_reset: Sequence[float]) -> None:
        """Compare the sum with a weight's change, and with the fit of gradients that are reset."""
        self.explained = max(cosine(change, update) for update in self.optimizers.updates(self.total))
        if self.explained > EXPLAINS:
            # A large momentum gives nearly a sum, so the sum must fit much better to count.
            is_nearer = 1 - max(by_reset) > NEARER * (1 - self.explained) + ROUNDING
            self.length += is_nearer and max(by_reset[:-NUM_LARGE]) <= EXPLAINS
        else:
            self.length = 0
            self.refuted += 1

    def add(self, gradient: Numbers, step: int) -> None:
        """Add the gradient of a step."""
        starts_anew = self.period and step % self.period == 0
        self.total = gradient if starts_anew else self.total + gradient


@attrs.define
class _Watch:
    """Tracks a weight, and its expected updates if gradients are reset or accumulate."""

    step: int
    weight: Numbers
    gradient: Numbers
    reset: Optimizers = attrs.field(factory=Optimizers)
    sums: list[_Sum] = attrs.field(factory=list)
    runs_on: int = 0
    """Number of latest steps whose change only a far too large momentum explains."""


class GradientsNotReset(TensorRule):
    """Weights change as if gradients accumulated over steps: they are not reset.

    Hooks save the gradient of each step separately, so the rule examines the weight updates. It reads weights and their
    gradients at each TRAIN step (or step without a mode) from the first one on, without a gap. It computes the updates
    of gradient descent, with and without momentum, Adam, RMSprop, Adagrad and Lion. Each is computed with gradients
    that are reset at each step, and with gradients that accumulate forever or for 2, 4, 5, 8, 10, 16 or 20 steps.

    The rule fires if such a sum explains the change at `patience` steps, to a cosine of 0.999, and no optimizer with
    reset gradients explains it as well. At no step in between may both fail. Intended gradient accumulation, with an
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
        self.selection = chosen_or(self.parameters["tensor_regex"], collections=(CollectionKeys.WEIGHTS,))
        self._watches: dict[str, _Watch] = {}

    def needs(self) -> tuple[TensorRequirement, ...]:
        return (
            TensorRequirement("weights", self.selection),
            TensorRequirement("gradients", Selection(collections=(CollectionKeys.GRADIENTS,))),
        )

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the number of steps at which only a sum of gradients explained the weight's change."""
        if not is_training(view) or view.mode_step is None or naming_scheme_of(view.trial).is_updated(name):
            return None
        watch = self._watches.get(name) if view.mode_step else None
        count = self._num_followed(view) if watch is None else watch.weight.size
        weight, gradient = _flat(view, name, count), _flat(view, gradient_in(view, name), count)
        if weight is None or gradient is None or weight.size != gradient.size:
            return None
        if watch is None:
            if view.mode_step == 0:
                sums = [_Sum(period, gradient) for period in PERIODS]
                self._watches[name] = _Watch(0, weight, gradient, sums=sums)
            return None
        if watch.step != view.mode_step - 1 or watch.weight.size != weight.size:
            self._watches.pop(name, None)  # a gap makes the sum of gradients unknown
            return None
        change = weight - watch.weight
        by_reset = [cosine(change, update) for update in watch.reset.updates(watch.gradient)]
        watch.step, watch.weight, watch.gradient = view.mode_step, weight, gradient
        for candidate in watch.sums:
            candidate.observe(change, by_reset)
            candidate.add(gradient, view.mode_step)
        *others, ordinary, huge = by_reset
        runs_on = huge > EXPLAINS and max(*others, ordinary) < 1 - NEARER * (1 - huge) - ROUNDING
        watch.runs_on = watch.runs_on + 1 if runs_on else 0
        best = max(watch.sums, key=lambda candidate: candidate.length)
        watch.sums = [candidate for candidate in watch.sums if candidate.refuted < MAX_REFUTED or candidate is best]
        patience: int = self.parameters["patience"]
        if watch.runs_on >= RUNS_ON and best.length < patience:
            return Measurement(huge, fires=True, threshold=EXPLAINS, text=f"{max(*others, ordinary):.4f}", severity=-1)
        return Measurement(
            best.explained,
            fires=best.length >= patience,
            threshold=EXPLAINS,
            severity=best.length,
            text=f"{max(by_reset):.3f}" + (f"; they are reset every {best.period} steps" if best.period else ""),
        )

    def _num_followed(self, view: StepView) -> int:
        """Return the number of elements to track per weight, which falls with the number of weights."""
        share = MAX_FOLLOWED // max(len(view.selected(self.selection)), 1)
        return min(max(share, FEWEST_FOLLOWED), NUM_FOLLOWED)

    def describe(self, names: Sequence[str], first: Measurement) -> str:
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
