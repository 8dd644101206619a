"""EvaluationOverlap: samples of evaluation that the model was trained on."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Final

from sagemaker_debug_ext.rules.builtin.base import Reading, TensorRule, naming
from sagemaker_debug_ext.rules.builtin.samples import MAX_KEPT, row_digests
from sagemaker_debug_ext.rules.roles import Role
from sagemaker_debug_ext.rules.selection import chosen_or
from sagemaker_debug_ext.rules.step import StepView
from sagemaker_debug_ext.vocabulary import ModeKeys

MIN_SAMPLES: Final = 32


class EvaluationOverlap(TensorRule):
    """The model is evaluated on samples that it was trained on.

    Looks at inputs of the model, axis 0 being the batch: samples of TRAIN steps are remembered by hashes, and the rule
    fires if more than `max_share_percent` of the different samples of EVAL steps, 32 at least, are among them. Samples
    of fewer than four elements are not looked at. Augmented samples are different ones.

    Parameters:
        tensor_regex: Regular expressions searched in the names of inputs, as a list or separated by commas. When not
            given: those of the whole model, as the framework names them.
        max_share_percent: Largest percentage of evaluation samples that may be known; 20 when not given.

    Source:
        Data leakage between training and test: Kapoor and Narayanan, Leakage and the Reproducibility Crisis in
        Machine-Learning-Based Science, Patterns 2023.

    Example:
        >>> rule = create_rule("EvaluationOverlap", trial, {"max_share_percent": 0})
        >>> invoke_rule(rule)
    """

    spec_name = "EvaluationOverlap"
    judges_tensors_alone = True
    advice = "Split the data before anything else is done with them, and look for samples that occur more than once."

    def configure(self) -> None:
        """Choose the tensors."""
        self.selection = chosen_or(self.parameters["tensor_regex"], Role.MODEL_INPUT)
        self._trained: dict[str, set[bytes]] = collections.defaultdict(set)
        self._evaluated: dict[str, set[bytes]] = collections.defaultdict(set)

    def measure(self, view: StepView, name: str) -> Reading | None:
        """Return the percentage of samples of evaluation that training has seen."""
        if view.mode not in (ModeKeys.TRAIN, ModeKeys.EVAL):
            return None
        samples = view.statistic(name, row_digests)
        trained = self._trained[name]
        if samples is None:
            return None
        if view.mode is ModeKeys.TRAIN:
            if len(trained) < MAX_KEPT:
                trained.update(samples)
            return None
        evaluated = self._evaluated[name]
        if len(evaluated) < MAX_KEPT:
            evaluated.update(samples)
        if len(evaluated) < MIN_SAMPLES or not trained:
            return None
        share = 100 * len(evaluated & trained) / len(evaluated)
        limit: float = self.parameters["max_share_percent"]
        return Reading(share, fires=share > limit, threshold=limit, severity=share)

    def describe(self, names: Sequence[str], first: Reading) -> str:
        """Say how many samples are known."""
        return (
            f"Evaluation uses training data in {naming(names)}: {first.value:.3g} % of its samples were seen in "
            f"training."
        )
