"""LearningRateTooLow: updates hardly change any weight."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from typing import Final

import attrs

from sagemaker_debug_ext.rules.builtin_rule import describe_tensors
from sagemaker_debug_ext.rules.inference.baselines.constant import GAIN, BaselineComparison
from sagemaker_debug_ext.rules.inference.loss_course import LossCourse
from sagemaker_debug_ext.rules.inference.losses import INPUTS
from sagemaker_debug_ext.rules.inference.recovery import ProvisionalIssues
from sagemaker_debug_ext.rules.inference.training import LOSSES, RollingWindow, gradient_in, is_training, loss_values
from sagemaker_debug_ext.rules.inference.updates import GRADIENTS, Update, UpdateSizeRule, WeightPaths, any_non_zero
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.selection import TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.store.format.program import ProgramRecord

PATIENCE: Final = 50
"""Number of updates of a weight after which their total must be noticeable."""
LEAST_WAY: Final = 0.03
"""Fraction of its norm by which these updates together must change some weight, if the loss has not fallen."""
CONVERGED: Final = 0.1
"""Fraction of its first level below which a loss explains that updates have become small."""
LEAST_FALL: Final = 0.05
"""Fraction of the first losses by which the latest must be lower."""
NUM_LOSSES: Final = 10
MIN_REST: Final = 20
"""Smallest number of updates for which weights that have moved must rest to count as stopped."""
MANY_RESTS: Final = 4
"""Ratio of the rest to the longest earlier one, because updates may be made only every few steps."""
ENDING: Final = 0.2
"""Fraction of all updates up to which the latest may be tiny, because schedules end near a rate of 0."""
FEWEST_STEPS: Final = 20
"""Smallest number of updates of which to say that they went straight ahead."""
STRAIGHT: Final = 0.9
"""Ratio of distance to length from which on a way is straight."""
STILL_FALLING: Final = 0.95
"""Fraction of its level at the beginning of that way below which a loss is still falling."""
FAR: Final = 0.5
"""Distance, relative to its norm, that a weight has to go to show that updates were not too small."""
HELD_BY_NONE: Final = "the latest optimizer has no parameter of the model, as if a layer had been replaced afterwards"
"""Text of the issue in which the learning rate is not at fault."""


@attrs.define
class _Way:
    """Distance that a weight has moved.

    Attributes:
        updates: Number of updates seen.
        length: Sum of the updates, relative to the weight's norm.
        rest: Number of latest updates at which the weight did not change at all.
        longest: Longest rest that has ended.
        stride: Number of steps that the latest update stands for.
    """

    updates: int = 0
    length: float = 0.0
    rest: int = 0
    longest: int = 0
    stride: int = 1

    def go(self, update: Update) -> None:
        ratio, self.stride = update.ratio, update.num_steps
        self.updates += 1
        if ratio == 0:
            self.rest += 1
        elif math.isfinite(ratio):
            self.length += ratio
            self.longest, self.rest = max(self.longest, self.rest), 0

    @property
    def has_stopped(self) -> bool:
        """Whether the weight moved once and has rested for too long."""
        return self.length > 0 and self.rest >= max(MIN_REST, MANY_RESTS * (self.longest + 1))


def _shortest_first(ways: Mapping[str, _Way]) -> list[str]:
    return sorted(ways, key=lambda name: (ways[name].length, name))


def _optimizes_other_parameters(program: ProgramRecord) -> bool:
    """Return whether the latest optimizer has no parameter of the models although an earlier one had some."""
    return any(optimizer.parameters for optimizer in program.optimizers) and not program.optimizers[-1].parameters


class LearningRateTooLow(UpdateSizeRule):
    """Steps hardly change any weight: the learning rate is too low.

    Checks the collection ``weights``, at TRAIN steps, or at all steps if the trial has no TRAIN steps. An update is the
    change of a weight since its previous saved value, relative to its norm and divided by the number of steps between.
    The rule fires if the median of the latest `window` updates is below `threshold` for every weight that changes at
    all. It does not fire once a loss has fallen below a tenth of its first level, because updates of a model that has
    converged are small. Nor does it fire if only the last fifth of all updates so far is small, because most schedules
    end near a learning rate of 0. Nor does it fire if only some steps were saved, and a weight has moved by half its
    norm before: at the same place of each epoch, weights that go to and fro are where they were. Weights that never
    change are covered by FrozenParameters.

    The rule also fires if a schedule has reached 0 before the loss has fallen that far. All weights that have moved
    then stand still, although they have gradients, for at least 20 saved steps in a row, a fifth of all, and four times
    as long as before any earlier update. If the program record tells that the latest optimizer has none of the model's
    parameters, the message says so instead.

    It also fires if the job has ended while all weights were going straight ahead, for at least 20 steps and half of
    all, the loss was still falling, and predictions did not yet beat the best constant by 4 %: training needs larger
    steps, or more of them. Of a large model, up to 16 weights are followed.

    It also fires if the sum of the first 50 updates is less than 3 % of its norm for every weight, and the loss has not
    fallen by 5 %. It does not fire if predictions already beat the best constant by 4 %, like those of a pretrained
    model. Some weights need to move little: with `patience_running`, this issue is held, and taken back if a loss falls
    to half of its first level.

    Parameters:
        threshold: Smallest usual change per step of the fastest weight, relative to its norm; 1e-5 when not given.
        window: Number of updates to check; 10 when not given.
        patience_running: Number of TRAIN steps, while the job runs, in which training may disprove an issue of the
            first updates; 0, which waits for none, when not given.

    Source:
        Updates of about a thousandth of the weights are a rule of thumb of the Stanford course CS231n, notes on
        learning; this is a hundredth of that.

    Example:
        >>> rule = create_rule("LearningRateTooLow", trial, {"threshold": "1e-6"})
        >>> invoke_rule(rule)
    """

    spec_name = "LearningRateTooLow"
    advice = (
        "Raise the learning rate by a factor of 10 or more, train for longer, or check the schedule that lowers it."
    )
    is_too_large = False

    def configure(self) -> None:
        super().configure()
        self._ways: dict[str, _Way] = {}
        self._num_small = 0
        self._first_losses: dict[str, list[float]] = {}
        self._losses = RollingWindow(NUM_LOSSES)
        self._baseline = BaselineComparison(NUM_LOSSES)
        self._course = LossCourse()
        self._provisional = ProvisionalIssues(self.parameters["patience_running"], since_first=True)
        self._paths = WeightPaths(self._course)
        self._last_step: int | None = None
        self._latest: StepView | None = None

    def needs(self) -> tuple[TensorRequirement, ...]:
        return (
            *super().needs(),
            TensorRequirement("gradients", GRADIENTS, is_required=False),
            TensorRequirement("losses", LOSSES, is_required=False),
            TensorRequirement("inputs of losses", INPUTS, is_required=False),
        )

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue if updates are too small, have stopped, or have no effect."""
        found = super().evaluate(view)
        self._course.observe(view)
        if found is not None:
            self._num_small = self._num_small + 1 if found else 0
        if found and (
            self._has_converged()
            or self._may_end(self._num_small + self.parameters["window"])
            or self._may_go_in_circles()
        ):
            found = []
        if is_training(view):
            self._baseline.observe(view)
            for name, loss in loss_values(view, LOSSES).items():
                self._losses.add(name, loss)
                first = self._first_losses.setdefault(name, [])
                if len(first) < NUM_LOSSES:
                    first.append(loss)
            ways = {name: self._ways[name] for name in view.selected(self.selection) if name in self._ways}
            moved = {name: way for name, way in ways.items() if way.length > 0}
            short = self._provisional.settle(view, self._evaluate_first_updates(view, moved))
            ahead = self._evaluate_paths(view)
            found = found or self._evaluate_rest(view, moved) or short or ahead or found
        return found

    def issues_while_waiting(self) -> list[Issue]:
        """Return the issues that are held, if no more steps will follow."""
        is_ended = self.base_trial.loaded_all_steps
        latest, self._latest = (self._latest, None) if is_ended else (None, self._latest)
        return self._provisional.take(is_ended) or ([] if latest is None else self._issues_of_paths(latest))

    def _has_converged(self) -> bool:
        return self._course.has_fallen_from(self._course.first_levels(), CONVERGED)

    def _may_end(self, num_small: int) -> bool:
        """Return whether that many latest updates without effect may be the end of a schedule."""
        return num_small < ENDING * max(way.updates for way in self._ways.values())

    def _may_go_in_circles(self) -> bool:
        """Return whether weights that have gone far may be back where they were at each saved step.

        Between steps that are saved an epoch apart, they go to and fro with the batches.
        """
        ways = self._ways.values()
        return all(way.stride > 1 for way in ways) and max(way.length for way in ways) >= FAR

    def note(self, name: str, update: Update) -> None:
        """Add the distance that a weight has moved."""
        self._ways.setdefault(name, _Way()).go(update)

    def _evaluate_rest(self, view: StepView, moved: Mapping[str, _Way]) -> list[Issue]:
        """Return an issue if all weights that have moved stand still."""
        if not (moved and all(way.has_stopped for way in moved.values()) and self._have_gradients(view, list(moved))):
            return []
        names = _shortest_first(moved)
        rest, is_held = moved[names[0]].rest, not _optimizes_other_parameters(view.program)
        if is_held and (self._may_end(rest) or self._has_converged()):  # to the last digit
            return []
        text = (
            f"The learning rate is too low for {describe_tensors(names)}: the first has moved once, but not in the "
            f"{rest} saved steps since, although it has a gradient."
        )
        if not is_held:
            text = f"{describe_tensors(names)} moved once, but not in the {rest} saved steps since: {HELD_BY_NONE}."
        return [self.found(view, text, tensors=names, value=rest, threshold=MIN_REST)]

    def _evaluate_paths(self, view: StepView) -> list[Issue]:
        """Follow the weights, and return an issue at the last step if they were going straight ahead."""
        weights = {name: value for name in self._weights(view) if (value := view.value(name)) is not None}
        if not weights:
            return []
        self._paths.observe(weights)
        self._latest = view
        if self._last_step is None and view.trial.loaded_all_steps:
            self._last_step = view.trial.tensor(next(iter(weights))).steps(mode=view.mode)[-1]
        if view.step_in(view.mode) != self._last_step:
            return []
        self._latest = None
        return self._issues_of_paths(view)

    def _issues_of_paths(self, view: StepView) -> list[Issue]:
        """Return an issue if all weights were going straight ahead, and the loss was still falling."""
        straightness, before = self._paths.straightness(), self._paths.levels
        if self._paths.num_steps < FEWEST_STEPS or not straightness or min(straightness.values()) < STRAIGHT:
            return []
        if not (self._lacks_skill() and self._course.has_fallen_from(before, STILL_FALLING)):
            return []
        names, now = sorted(straightness, key=lambda name: (-straightness[name], name)), self._course.levels()
        loss = min(before, key=lambda name: now.get(name, math.inf) / before[name] if before[name] > 0 else math.inf)
        text = (
            f"The learning rate is too low for {describe_tensors(names)}, or training too short: all were going "
            f"straight ahead at its end, and {loss!r} was still falling, from {before[loss]:.4g} to {now[loss]:.4g}."
        )
        return [self.found(view, text, tensors=names, value=min(straightness.values()), threshold=STRAIGHT)]

    def _evaluate_first_updates(self, view: StepView, moved: Mapping[str, _Way]) -> list[Issue]:
        """Return an issue if the first updates together have hardly changed any weight, nor the loss."""
        if not moved or min(way.updates for way in moved.values()) != PATIENCE:
            return []
        longest = max(way.length for way in moved.values())
        if longest >= LEAST_WAY or not self._has_not_fallen() or self._has_skill():
            return []
        names = _shortest_first(moved)
        text = (
            f"The learning rate is too low for {describe_tensors(names)}: {PATIENCE} updates together have "
            f"changed no weight by more than {longest:.2g} of its norm, and the loss has hardly fallen."
        )
        return [self.found(view, text, tensors=names, value=longest, threshold=LEAST_WAY)]

    @staticmethod
    def _have_gradients(view: StepView, names: list[str]) -> bool:
        gradients = (gradient_in(view, name) for name in names)
        return any(view.statistic(gradient, any_non_zero) for gradient in gradients if gradient is not None)

    def _has_skill(self) -> bool:
        """Return whether predictions beat the best constant, like those of a pretrained model."""
        gains = (self._baseline.gain(name) for name in self._first_losses)
        return any(gain is not None and gain >= GAIN for gain in gains)

    def _lacks_skill(self) -> bool:
        """Return whether the error is known, and hardly below that of the best constant prediction."""
        gains = [gain for name in self._first_losses if (gain := self._baseline.gain(name)) is not None]
        return bool(gains) and max(gains) < GAIN

    def _has_not_fallen(self) -> bool:
        """Return whether losses were saved, and none of them has fallen."""
        falls = [
            1 - statistics.fmean(self._losses.of(name)) / statistics.fmean(first)
            for name, first in self._first_losses.items()
            if len(first) == NUM_LOSSES and statistics.fmean(first) > 0
        ]
        return bool(falls) and max(falls) < LEAST_FALL

    def out_of_bounds(self, usual: dict[str, float]) -> list[str]:
        """Return all weights, the slowest first, if even the fastest is too slow."""
        if max(usual.values()) >= self.parameters["threshold"]:
            return []
        return sorted(usual, key=lambda name: (usual[name], name))
