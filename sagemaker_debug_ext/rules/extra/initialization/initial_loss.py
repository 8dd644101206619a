"""InitialLoss: the untrained model is far worse than guessing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule
from sagemaker_debug_ext.rules.inference.losses import INPUTS, LossObservation, observed_losses
from sagemaker_debug_ext.rules.inference.training import is_training
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.numeric import to_float64
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView

BOOSTED = Selection(patterns=("^(train|validation)-(rmse|m?logloss)$",))
BOOSTED_LABELS = Selection(patterns=("^labels$",))
SMALL: Final = 0.1
"""Root mean square of targets below which they are small for a network whose answers have a usual size."""
USUAL: Final = 3.0
"""Largest root mean square of the answers of an untrained network that is usual."""
SMALL_TARGETS: Final = "The targets are small for an untrained model"
"""Message part on targets that are to blame, in place of weights or inputs."""
ALIKE = 2
"""Largest ratio of the first training and validation losses, in either direction, for them to count as equal."""


def times_guessing_of_trees(view: StepView) -> dict[str, float]:
    """Return the losses of boosted trees at a step, relative to those of a constant prediction, by name.

    The result is empty if the training and validation losses differ, because the data then differ.
    """
    labels = [value for name in view.selected(BOOSTED_LABELS) if (value := view.value(name)) is not None]
    losses = view.scalars(BOOSTED) if labels else {}
    if not losses or min(losses.values()) <= 0 or max(losses.values()) > ALIKE * min(losses.values()):
        return {}
    spread, num_classes = float(np.std(to_float64(labels[0]))), len(np.unique(labels[0]))
    found = {}
    for name, loss in losses.items():
        guess = spread if name.endswith("rmse") else math.log(max(num_classes, 2))
        if guess > 0:
            found[name] = loss / guess
    return found


def times_guessing(loss: LossObservation) -> float | None:
    """Return the loss of the predictions relative to that of an uninformed model; None for other losses.

    For classes, the reference is the cross entropy of equal scores. For numbers, the mean square of the predictions is
    divided by that of the targets.
    """
    if loss.num_classes is not None:
        found = loss.cross_entropy
        return None if found is None else found / math.log(loss.num_classes)
    if loss.scores.shape != loss.targets.shape:
        return None
    scores, targets = to_float64(loss.scores), to_float64(loss.targets)
    if _asks_yes_or_no(loss):
        if scores.min() >= 0 and scores.max() <= 1:  # probabilities or bounded outputs
            return None
        return float(np.mean(np.logaddexp(0, scores) - scores * targets)) / math.log(2)
    size = float(np.mean(targets**2))
    return math.sqrt(float(np.mean(scores**2)) / size) if size > 0 else None


def _asks_yes_or_no(loss: LossObservation) -> bool:
    """Return whether targets are 0 and 1, and the loss is not one of quantities."""
    return loss.is_binary and not loss.is_regression_loss


def _small_targets(loss: LossObservation) -> str:
    """Return a part of the message if numbers as targets are small, and answers are not large; empty otherwise."""
    if loss.num_classes is not None or loss.scores.shape != loss.targets.shape or _asks_yes_or_no(loss):
        return ""
    answers, targets = (math.sqrt(float(np.mean(to_float64(each) ** 2))) for each in (loss.scores, loss.targets))
    if not (targets < SMALL and answers <= USUAL):
        return ""
    return f". {SMALL_TARGETS}: their root mean square is {targets:.2g}, and that of its answers {answers:.2g}"


class InitialLoss(BuiltinRule):
    """Before the first update, the model is far worse than guessing: weights or inputs are too large.

    Checks the inputs of losses at the first TRAIN step (or step 0 of a trial without modes). An uninformed classifier
    gives all classes the same score, so its cross entropy is about the logarithm of their number. A regression model
    should give predictions of about the size of the targets. The rule fires if the cross entropy is larger by more than
    `factor` times, or the predictions are larger by more than its square. The message says so if the targets are to
    blame: their root mean square is below 0.1, and that of the predictions at most 3.

    For boosted trees, the rule checks the losses of the first round instead, and compares them with the spread of the
    labels. A base_score that is far off takes many rounds to correct.

    Parameters:
        factor: Largest ratio of the first loss to that of guessing; 3 when not given.

    Source:
        Checking the loss at initialisation: Karpathy, A Recipe for Training Neural Networks, 2019.

    Example:
        >>> rule = create_rule("InitialLoss", trial, {"factor": 2})
        >>> invoke_rule(rule)
    """

    spec_name = "InitialLoss"
    is_stateless = True
    advice = (
        "Scale the inputs, and targets that are small; initialise the weights to suit the activation and the biases to "
        "0, and initialise the last layer so that the first predictions are small."
    )

    def needs(self) -> tuple[TensorRequirement, ...]:
        return TensorRequirement("inputs of losses", INPUTS, is_required=False), TensorRequirement(
            "losses", BOOSTED, is_required=False
        )

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue if the first predictions are far too large."""
        if not is_training(view) or view.mode_step != 0:
            return None
        found = dict(self._measure(view))
        if not found:
            return None
        worst = max(found, key=lambda name: found[name])
        if found[worst] <= 1:
            return []
        factor: float = self.parameters["factor"]
        reasons = (_small_targets(loss) for loss in observed_losses(view) if loss.name == worst)
        what = next(reasons, "") or "; weights or inputs are too large"
        text = (
            f"Before the first update, the error behind {worst!r} is {found[worst]:.3g} times the largest expected "
            f"of an untrained model{what}."
        )
        return [self.found(view, text, tensors=[worst], value=found[worst], threshold=factor)]

    def _measure(self, view: StepView) -> Iterator[tuple[str, float]]:
        """Yield the ratio of each first loss to the allowed one."""
        factor: float = self.parameters["factor"]
        for loss in observed_losses(view):
            times = times_guessing(loss)
            if times is not None:
                has_classes = loss.num_classes is not None or _asks_yes_or_no(loss)
                yield loss.name, times / (factor if has_classes else factor**2)
        for name, times in times_guessing_of_trees(view).items():
            yield name, times / (factor**2 if name.endswith("rmse") else factor)
