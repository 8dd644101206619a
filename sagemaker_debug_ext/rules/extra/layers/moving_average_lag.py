"""MovingAverageLag: moving averages of batch normalisations that follow too slowly for the length of the training."""

from __future__ import annotations

from typing import Final

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule
from sagemaker_debug_ext.rules.inference.loss_pairs import EvaluationRounds, Losses, loss_pairs
from sagemaker_debug_ext.rules.inference.losses import comparable_losses
from sagemaker_debug_ext.rules.inference.moving_averages import MovingAverages
from sagemaker_debug_ext.rules.inference.training import LOSSES, is_final
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.selection import TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.store.format.program import LayerRecord
from sagemaker_debug_ext.vocabulary import ModeKeys

RATIO: Final = 2.0
"""Ratio of the validation loss to the training loss above which evaluation goes wrong."""
FAR_WRONG: Final = 10.0
"""Ratio of the two above which averages that have moved further may explain it, because errors of layers multiply."""


class MovingAverageLag(BuiltinRule):
    """Moving averages of batch normalisations are still near their initial values when training has ended.

    Evaluation uses these averages. With ``momentum=0.99`` in Keras, or 0.01 in PyTorch, each step moves them by a
    hundredth of the way, so that after 70 steps half of them is where they began. The rule fires when the job has ended
    if more than `max_left_percent` is left, and the last validation loss is more than twice the training loss. Half of
    that is enough if it is more than ten times the training loss. Losses are compared by evaluation rounds, or by name,
    as in Overfit. Hooks for PyTorch and Keras record how far each step moves averages.

    Parameters:
        max_left_percent: Largest part of the initial values in the averages, in percent; 50 when not given.

    Source:
        Own.

    Example:
        >>> rule = create_rule("MovingAverageLag", trial)
        >>> invoke_rule(rule)
    """

    spec_name = "MovingAverageLag"
    begins_anew = True
    advice = (
        "Train for more steps, or let the averages follow faster: with a smaller momentum in Keras, such as 0.9, and a "
        "larger one in PyTorch, such as 0.1."
    )
    selection = LOSSES

    def configure(self) -> None:
        self._rounds = EvaluationRounds()
        self._has_eval_steps = False
        self._averages = MovingAverages()
        self._latest: list[Issue] = []

    def needs(self) -> tuple[TensorRequirement, ...]:
        return (TensorRequirement("losses", self.selection),)

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue at the last evaluation; those of earlier ones wait for what follows."""
        self._averages.observe(view)
        layer = self._averages.layer
        if layer is None:
            return None
        losses = comparable_losses(view, LOSSES)
        self._has_eval_steps = self._has_eval_steps or view.mode is ModeKeys.EVAL
        compared = self._rounds.observe(view.mode, losses)
        if not self._has_eval_steps:
            compared = {name: Losses(losses[name], losses[other]) for name, other in loss_pairs(losses).items()}
        if not compared:
            return None
        name, pair = max(compared.items(), key=lambda item: item[1].validation / (abs(item[1].training) or 1))
        found = self._issues(view, name, pair, layer)
        self._latest, found = ([], found) if is_final(view, name) else (found, [])
        return found

    def _issues(self, view: StepView, name: str, pair: Losses, layer: LayerRecord) -> list[Issue]:
        left, limit = self._averages.percent_left, self.parameters["max_left_percent"]
        if pair.validation > FAR_WRONG * pair.training:
            limit /= 2
        if not (left > limit and pair.validation > RATIO * pair.training > 0):
            return []
        text = (
            "Evaluation normalises by averages that have hardly moved: after "
            f"{self._averages.num_steps} training steps, {left:.0f} % of those of {layer.name!r} is where "
            f"they began, and the validation loss {name!r} is {pair.validation:.4g}, against a training loss of "
            f"{pair.training:.4g}."
        )
        return [self.found(view, text, tensors=[name], value=left, threshold=limit)]

    def issues_while_waiting(self) -> list[Issue]:
        """Return the issue of the last evaluation, if no more steps will follow."""
        if not self.base_trial.loaded_all_steps:
            return []
        found, self._latest = self._latest, []
        return found
