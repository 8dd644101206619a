"""Losses that need not fall, because what they aim at moves: `AdversarialLosses`, `MovingTargets`, `TargetOrder`."""

from __future__ import annotations

import collections
import re
from typing import Final

import numpy as np

from sagemaker_debug_ext.rules.inference.losses import observed_losses
from sagemaker_debug_ext.rules.reading.numeric import to_float64
from sagemaker_debug_ext.rules.reading.step_view import StepView

OWN_LOSS: Final = "loss"
"""Stem of the names of the numbers on which scripts call ``backward``, if no single loss function returns them."""
_ADVERSARIAL: Final = re.compile("BCE|MSE")
"""Names of losses with which discriminators are trained."""
MOST_SIDES: Final = 3
"""Number of targets between -1 and 1 that squared errors of a discriminator and a generator have at most."""
NUM_COMPARED: Final = 10
"""Number of first steps, and of latest ones, whose targets are compared."""
FEWEST_BATCHES: Final = 8
FEWEST_IN_BATCH: Final = 4
MOST_BATCHES: Final = 200
"""Number of first batches that are compared."""
ORDERED: Final = 6.0
"""Ratio to the variance of the means of batches by chance above which targets come in an order; by chance it is 1."""
FACTOR_MOVED: Final = 2.0
"""Ratio of the mean squares of targets above which they have moved."""


class AdversarialLosses:
    """Detects adversarial losses (generator against discriminator), which need not decrease.

    Such a binary loss, or squared error, is computed more than once a step. The discriminator's computation has targets
    0 and 1, and the generator's, after it, has only targets 1. One side loses what the other gains, so neither loss
    needs to fall. If each computation is a step of its own, all targets of a step are equal, and alternate between 0
    and 1.
    """

    def __init__(self) -> None:
        self._is_game: dict[str, bool] = {}
        self._only: dict[str, set[float]] = {}
        self._mixed: set[str] = set()

    def observe(self, view: StepView) -> None:
        """Observe a training step; losses stay adversarial only if it has both computations."""
        for name in view.tensor_names:
            stem = name.removesuffix("_output_1")
            if stem != name and _ADVERSARIAL.search(stem):
                self._is_game[stem] = self._is_game.get(stem, True) and _wants_both_ways(view, stem)
        self._observe_turns(view)

    def _observe_turns(self, view: StepView) -> None:
        """Note for each loss which targets it has had at steps with a single target value."""
        for name in view.tensor_names:
            stem = name.removesuffix("_input_1")
            may_be_side = stem != name and stem not in self._mixed and _ADVERSARIAL.search(stem) is not None
            targets = view.value(name) if may_be_side else None
            if targets is not None and targets.size > 1 and targets.dtype.kind != "c":
                least, most = float(targets.min()), float(targets.max())
                self._only.setdefault(stem, set()).add(least)
                self._mixed |= {stem} if least != most else set()

    def has(self, name: str) -> bool:
        """Return whether a loss, prediction or target was part of adversarial losses at each step so far.

        A sum of losses, which the script makes itself, is if all known losses are.
        """
        stem = re.sub(r"_(input|output)_[0-9]+$", "", name)
        known = self._is_game.keys() | self._only.keys()
        return bool(known) and all(map(self._has, known)) if stem == OWN_LOSS else self._has(stem)

    def _has(self, stem: str) -> bool:
        sides = self._only.get(stem, set())
        takes_turns = stem not in self._mixed and len(sides) > 1
        are_sides = "BCE" in stem or (len(sides) <= MOST_SIDES and max(map(abs, sides), default=0) <= 1)
        return (takes_turns and are_sides) or self._is_game.get(stem, False)


class TargetOrder:
    """Detects numbers to predict that come in an order, so that batches differ from each other more than by chance."""

    def __init__(self) -> None:
        self._batches = collections.defaultdict[str, list[tuple[int, float, float]]](list)

    def observe(self, view: StepView) -> None:
        """Observe a training step."""
        for loss in observed_losses(view):
            known = self._batches[loss.targets_name]
            if len(known) < MOST_BATCHES and len(loss.targets) >= FEWEST_IN_BATCH and loss.targets.dtype.kind in "fV":
                values = to_float64(loss.targets).reshape(len(loss.targets), -1).mean(axis=1)
                known.append((len(values), float(values.mean()), float(values.var())))

    def is_there(self) -> bool:
        """Return whether any targets come in an order: the means of batches differ far more than by chance."""
        return any(_orderliness(known) > ORDERED for known in self._batches.values() if len(known) >= FEWEST_BATCHES)


def _orderliness(batches: list[tuple[int, float, float]]) -> float:
    """Return the variance of the means of batches, in units of that of means of as many samples drawn at random."""
    sizes, means, variances = (np.array(column, np.float64) for column in zip(*batches, strict=True))
    by_chance = float(np.mean(variances)) / float(np.mean(sizes))
    return float(np.var(means)) / by_chance if by_chance > 0 else 0.0


class MovingTargets:
    """Detects targets that grow or shrink while a model is trained, like the returns of an agent that learns to act.

    The error of such a loss follows its targets, so that it may rise although the model learns.
    """

    def __init__(self) -> None:
        self._first = collections.defaultdict[str, list[float]](list)
        self._latest = collections.defaultdict[str, collections.deque[float]](
            lambda: collections.deque(maxlen=NUM_COMPARED)
        )
        self._step = -1

    def observe(self, view: StepView) -> None:
        """Observe, once, the targets of a training step that are numbers rather than classes."""
        if view.step == self._step:
            return
        self._step = view.step
        for loss in observed_losses(view):
            if loss.num_classes is None and not loss.is_binary:
                size = float(np.mean(to_float64(loss.targets) ** 2))
                if len(self._first[loss.name]) < NUM_COMPARED:
                    self._first[loss.name].append(size)
                self._latest[loss.name].append(size)

    def are_there(self) -> bool:
        """Return whether all of the latest targets of a loss are larger, or smaller, than all of its first ones."""
        return any(self._have_moved(name) for name in self._first)

    def _have_moved(self, name: str) -> bool:
        first, latest = self._first[name], self._latest[name]
        if len(latest) < NUM_COMPARED:
            return False
        low, high = sorted((first, latest), key=sum)
        return max(low) < min(high) and FACTOR_MOVED * sum(low) < sum(high)


def _wants_both_ways(view: StepView, stem: str) -> bool:
    """Return whether a loss has only targets 1 after targets 0 and 1 at the same step."""
    before: set[float] = set()
    for number in range(1, len(view.tensor_names), 2):
        targets = view.value(f"{stem}_input_{number}") if f"{stem}_input_{number}" in view.tensor_names else None
        if targets is None or not targets.size:
            return False
        least, most = float(targets.min()), float(targets.max())
        if least == most == 1 and len(before) > 1:
            return True
        before |= {least, most}
    return False
