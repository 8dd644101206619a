"""MovingAverageLag: averages of batch normalisations that follow too slowly, or keep little but the last batch."""

from __future__ import annotations

from typing import Final

import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule
from sagemaker_debug_ext.rules.inference.class_labels import MODEL_INPUTS
from sagemaker_debug_ext.rules.inference.loss_pairs import EvaluationRounds, Losses, loss_pairs
from sagemaker_debug_ext.rules.inference.losses import comparable_losses
from sagemaker_debug_ext.rules.inference.moving_averages import MovingAverages
from sagemaker_debug_ext.rules.inference.training import LOSSES, is_final
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.numeric import Array
from sagemaker_debug_ext.rules.reading.samples import sample_hashes
from sagemaker_debug_ext.rules.reading.selection import TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.store.format.program import LayerRecord
from sagemaker_debug_ext.vocabulary import ModeKeys

RATIO: Final = 2.0
"""Ratio of the validation loss to the training loss above which evaluation goes wrong."""
FAR_WRONG: Final = 10.0
"""Ratio of the two above which averages that have moved further may explain it, because errors of layers multiply."""
FORGETS: Final = 0.75
"""Share of the way by which a step moves averages from which on they are little more than those of its batch."""
FEW_BATCHES: Final = 2
"""Number of different batches that shows that training has several."""
FEWEST_STEPS: Final = 10
"""Number of training steps before which averages have little to keep."""


def sample_digests(batch: Array) -> frozenset[bytes]:
    """Return what tells a batch from others, whatever the order of its samples."""
    rows = sample_hashes(batch)
    return frozenset((row.tobytes() for row in np.atleast_1d(batch)) if rows is None else rows)


class MovingAverageLag(BuiltinRule):
    """Moving averages of batch normalisations follow too slowly for the training, or keep little but the last batch.

    Evaluation uses these averages. With ``momentum=0.99`` in Keras, or 0.01 in PyTorch, each step moves them by a
    hundredth of the way, so that after 70 steps half of them is where they began. The rule fires when the job has ended
    if more than `max_left_percent` is left, and the last validation loss is more than twice the training loss. Half of
    that is enough if it is more than ten times the training loss. Losses are compared by evaluation rounds, or by name,
    as in Overfit. Hooks for PyTorch and Keras record how far each step moves averages.

    The rule also fires at the first evaluation after ten training steps if each of these has moved averages by at least
    three quarters of the way, but not all of it: they are then little more than those of the last batch, which may be a
    small one. So they are where a script gives PyTorch the ``momentum`` that Keras would need, or the other way round.
    Training in which each step has the same batch, as of a whole graph, is left alone, and so are layers whose outputs
    are saved in training, but not in evaluation.

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
        "larger one in PyTorch, such as 0.1. A step should move them by a tenth of the way at most."
    )
    selection = LOSSES

    def configure(self) -> None:
        self._rounds = EvaluationRounds()
        self._has_eval_steps = False
        self._averages = MovingAverages()
        self._latest: list[Issue] = []
        self._has_told = False
        self._batches: set[frozenset[bytes]] = set()
        self._seen: set[str] = set()

    def needs(self) -> tuple[TensorRequirement, ...]:
        return (
            TensorRequirement("losses", self.selection),
            TensorRequirement("inputs of the model", MODEL_INPUTS, is_required=False),
        )

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue at the last evaluation; those of earlier ones wait for what follows."""
        self._averages.observe(view)
        layer = self._averages.layer
        if layer is None:
            return None
        forgetful = self._forgetful(view)
        if forgetful:
            return forgetful
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

    def _forgetful(self, view: StepView) -> list[Issue]:
        """Return an issue at the first evaluation if averages keep little but the last batch."""
        layer = self._averages.fastest
        share = layer.moving_share if layer is not None else None
        if self._has_told or layer is None or share is None or share < FORGETS:
            return []
        if view.mode is not ModeKeys.EVAL:
            self._note_batch(view)
            return []
        is_whole = len(self._batches) < FEW_BATCHES
        if self._averages.num_steps < FEWEST_STEPS or is_whole or self._is_left_out(view, layer):
            return []
        names = view.selected(LOSSES) or list(view.tensor_names)
        self._has_told = bool(names)
        if not names:
            return []
        text = (
            f"Evaluation normalises by averages of little more than the last batch: each training step moves those of "
            f"{layer.name!r} by {share:.0%} of the way. The momentum of PyTorch is the share of the new batch, that of "
            "Keras the share of those before."
        )
        return [self.found(view, text, tensors=names[:1], value=share, threshold=FORGETS)]

    def _note_batch(self, view: StepView) -> None:
        """Note the samples and layers of a training step, as long as there may be a single batch."""
        if len(self._batches) < FEW_BATCHES:
            hashes = (view.statistic(name, sample_digests) for name in view.selected(MODEL_INPUTS))
            self._batches.update(samples for samples in hashes if samples is not None)
            self._seen.update(view.tensor_names)

    def _is_left_out(self, view: StepView, layer: LayerRecord) -> bool:
        """Return whether an evaluation does not run a layer, as that of a generator does not run its discriminator."""
        outputs = {f"{layer.name}_output_0", f"{layer.name}/outputs"} & self._seen
        return bool(outputs) and outputs.isdisjoint(view.tensor_names)

    def issues_while_waiting(self) -> list[Issue]:
        """Return the issue of the last evaluation, if no more steps will follow."""
        if not self.base_trial.loaded_all_steps:
            return []
        found, self._latest = self._latest, []
        return found
