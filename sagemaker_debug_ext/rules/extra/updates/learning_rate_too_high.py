"""LearningRateTooHigh: updates are too large for the weights."""

from __future__ import annotations

import collections
import math
import statistics
from typing import TYPE_CHECKING, Final

import attrs

from sagemaker_debug_ext.rules.inference.recovery import ProvisionalIssues
from sagemaker_debug_ext.rules.inference.training import (
    LOSSES,
    RollingWindow,
    StreakCounter,
    gradient_in,
    is_training,
    loss_values,
)
from sagemaker_debug_ext.rules.inference.updates import GRADIENTS, Update, UpdateSizeRule, any_non_zero
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.selection import TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.store.format.program import NO_PROGRAM

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial

LARGEST: Final = 3.0
"""Largest first update, relative to the weight, that may still settle, because small weights soon grow."""
LINE_SEARCHES: Final = frozenset({"LBFGS"})
"""Optimizers whose steps are long where the loss is nearly quadratic."""
LEARNT: Final = 0.7
"""Fraction of its first level to which a loss has to fall to show that large first updates did no harm."""
LEARNT_AFTER_JUMP: Final = 0.1
"""The same for a loss that has jumped in between."""
SHRUNK: Final = 0.7
"""Fraction of the first update below which later updates are shrinking."""
OVERSHOT: Final = 10.0
"""Multiple of its first value to which a single one of the first updates raises a loss if they overshoot."""
RAISED: Final = 2.5
"""Multiple of its first value to which they raise its mean; a single value may be noise."""
EXPLODED: Final = 3.0
"""Multiple of its first value above which a loss shows that large updates did harm, whatever follows."""
STILL: Final = 20
"""Number of consecutive steps without a gradient after which a weight is taken for one of dead units."""


@attrs.define
class _Losses:
    """The losses of training, in relation to their first values.

    Args:
        window: Number of first updates, and of latest values.

    Attributes:
        have_jumped: Whether any has been above twice its smallest value so far, or not finite.
        have_exploded: Whether any has been above three times its first value, or not finite.
        have_overshot: Whether the first updates have raised the mean of any to 2.5 times its first value, or once ten.
    """

    window: int
    have_jumped: bool = False
    have_exploded: bool = False
    have_overshot: bool = False
    _first: dict[str, float] = attrs.field(factory=dict, init=False)
    _least: dict[str, float] = attrs.field(factory=dict, init=False)
    _number: collections.Counter[str] = attrs.field(factory=collections.Counter, init=False)
    _sum: dict[str, float] = attrs.field(factory=lambda: collections.defaultdict(float), init=False)
    _latest: RollingWindow = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._latest = RollingWindow(self.window)

    def observe(self, name: str, loss: float) -> None:
        """Add a loss of a step."""
        first, least = self._first.setdefault(name, loss), self._least.get(name, loss)
        self.have_jumped = self.have_jumped or not loss - least <= abs(least)
        self.have_exploded = self.have_exploded or not loss - first <= (EXPLODED - 1) * abs(first)
        self._least[name] = min(least, loss)
        self._latest.add(name, loss)
        self._number[name] += 1
        if self._number[name] <= self.window + 1:
            self._sum[name] += loss if self._number[name] > 1 else 0.0
            is_raised = self._number[name] > self.window and self._sum[name] / self.window > RAISED * first > 0
            self.have_overshot = self.have_overshot or is_raised or loss > OVERSHOT * first > 0

    @property
    def are_high(self) -> bool:
        """Whether there are losses, and the latest values of each are above 0.7 of its first."""
        return bool(self._first) and all(
            statistics.median(self._latest.of(name) or [math.inf]) > LEARNT * first > 0
            for name, first in self._first.items()
        )


def _searches_lines(trial: Trial) -> bool:
    """Return whether the length of an update does not follow from the learning rate alone."""
    return any(optimizer.type in LINE_SEARCHES for optimizer in (trial.program or NO_PROGRAM).optimizers)


class LearningRateTooHigh(UpdateSizeRule):
    """Each step changes a weight by a large part of its norm: the learning rate is too high for that layer.

    Checks the collection ``weights``, at TRAIN steps, or at all steps if the trial has no TRAIN steps. An update is the
    change of a weight since its previous saved value, relative to its norm and divided by the number of steps between.
    The rule fires if the median of the latest `window` updates of any weight is above `threshold`.

    The updates of some optimizers, such as Adagrad, shrink at first. If the last of the first `window` updates is less
    than 0.7 of the first, and none was three times as large as the weight, the verdict waits for `window` more updates.
    It does not wait if a loss rises above twice its smallest value so far. Weights that were 0 when first saved are not
    evaluated, because updates cannot be compared with their size. Examples are bias tables and adapters added to a
    trained layer.

    Steps of L-BFGS, whose length follows from the curvature of the loss, are not evaluated.

    Half of `threshold` is enough where harm is seen. Either the first `window` updates raise the mean of a loss above
    2.5 times its first value, or a single loss above ten times. Or units die after such updates, so that the gradient
    of a weight is 0 at 20 consecutive steps while the loss is above 0.7 of its first value.

    Small weights may have to grow many times over. With `patience_running`, an issue is held: it is taken back if
    updates become smaller and a loss falls to 0.7 of its first level, or to a tenth of it after a jump as above.
    Nothing disproves it after a loss of three times the first value.

    Parameters:
        threshold: Largest usual change of a weight in a step, relative to its norm; 0.25 when not given.
        window: Number of updates to check; 5 when not given.
        patience_running: Number of TRAIN steps, while the job runs, in which training may disprove an issue; 0, which
            waits for none, when not given.

    Source:
        Updates of about a thousandth of the weights are a rule of thumb of the Stanford course CS231n, notes on
        learning; a quarter is far above what any schedule intends.

    Example:
        >>> rule = create_rule("LearningRateTooHigh", trial, {"threshold": 0.05})
        >>> invoke_rule(rule)
    """

    spec_name = "LearningRateTooHigh"
    advice = "Lower the learning rate by a factor of 10, warm it up, or clip the gradients."
    is_too_large = True

    def configure(self) -> None:
        super().configure()
        self._count: collections.Counter[str] = collections.Counter()
        self._largest: dict[str, float] = collections.defaultdict(float)
        self._first: dict[str, list[float]] = collections.defaultdict(list)
        self._losses = _Losses(self.parameters["window"])
        self._large: dict[str, float] = {}
        self._suspected: Issue | None = None
        self._still = StreakCounter()
        self._waiting: dict[str, float] = {}
        self._provisional = ProvisionalIssues(self.parameters["patience_running"], since_first=True)

    def needs(self) -> tuple[TensorRequirement, ...]:
        return (
            *super().needs(),
            TensorRequirement("losses", LOSSES, is_required=False),
            TensorRequirement("gradients", GRADIENTS, is_required=False),
        )

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue if updates are too large."""
        if is_training(view):
            for name, loss in loss_values(view, LOSSES).items():
                self._losses.observe(name, loss)
        issues = super().evaluate(view)
        if _searches_lines(view.trial):
            return None if issues else issues
        if self._large and self._suspected is None:
            self._suspected = self.issue_of(view, self._large, self.parameters["threshold"] / 2)
        if self._large and self._suspected is not None and is_training(view) and self._has_died(view):
            self._large = {}
            message = f"{self._suspected.message[:-1]}, and later its gradient is 0."
            return [*(issues or ()), attrs.evolve(self._suspected, message=message)]
        share = LEARNT_AFTER_JUMP if self._losses.have_jumped else LEARNT
        return self._provisional.settle(view, issues, is_certain=self._losses.have_exploded, share=share)

    def issues_while_waiting(self) -> list[Issue]:
        """Return the issue that is held, if no more steps will follow."""
        return self._provisional.take(self.base_trial.loaded_all_steps)

    def note(self, name: str, update: Update) -> None:
        """Count the updates of a weight, and store the first ones."""
        self._count[name] += 1
        if self._count[name] <= self.parameters["window"]:
            self._first[name].append(update.ratio * update.norm)
            self._largest[name] = max(self._largest[name], update.ratio)

    def _settles(self, name: str) -> bool:
        """Return whether updates still shrink as in the first steps, so that it is too early to evaluate them."""
        first = self._first[name]
        is_shrinking = self._largest[name] < LARGEST and first[-1] < SHRUNK * first[0]
        return is_shrinking and self._is_early(name) and not self._losses.have_jumped

    def _is_early(self, name: str) -> bool:
        window: int = self.parameters["window"]
        return self._count[name] < 2 * window

    def _has_died(self, view: StepView) -> bool:
        """Return whether the gradient of a weight that had large updates stays 0, although the loss has not fallen."""
        streaks = [
            self._still.observe(name, not view.statistic(gradient, any_non_zero))
            for name in self._large
            if (gradient := gradient_in(view, name)) is not None
        ]
        return max(streaks, default=0) >= STILL and self._losses.are_high

    @property
    def limit(self) -> float:
        """The largest usual update: half of the threshold if the first updates have overshot."""
        threshold: float = self.parameters["threshold"]
        return threshold / 2 if self._losses.have_overshot else threshold

    def out_of_bounds(self, usual: dict[str, float]) -> list[str]:
        """Return the weights that change too fast, the fastest first."""
        found = {name for name in usual if usual[name] > self.limit and name not in self._from_zero}
        settling = {name: usual[name] for name in found if self._settles(name)}
        self._waiting = settling | self._waiting
        if self._losses.have_jumped:  # a jump shows that the first updates were too large
            early = {name: value for name, value in self._waiting.items() if name in usual and self._is_early(name)}
            usual.update(early)
            found |= set(early)
        beyond = sorted(found - set(settling), key=lambda name: (-usual[name], name))
        if not beyond and self._suspected is None:
            half: float = self.parameters["threshold"] / 2
            large = {name for name in usual if usual[name] > half and name not in self._from_zero}
            self._large = {name: usual[name] for name in sorted(large, key=lambda name: (-usual[name], name))}
        return beyond
