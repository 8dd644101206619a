"""The evidence of each rule: the measures and other views that show its issues."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import attrs

Subject: TypeAlias = Literal[
    "gradient_norm",
    "update_ratio",
    "weight_norm",
    "output_size",
    "output_zeros",
    "gradient_non_finite",
    "loss",
    "classes",
    "ranks",
    "curves",
    "messages",
]
"""A measure of layers, or another view."""


@attrs.frozen
class RuleEvidence:
    """The views that show the issues of a rule.

    Args:
        first: Shown first.
        beside: Shown beside it; empty for nothing.
    """

    first: Subject
    beside: tuple[Subject, ...] = ()


_GRADIENTS: Final = RuleEvidence("gradient_norm", ("loss",))
_NON_FINITE: Final = RuleEvidence("gradient_norm", ("gradient_non_finite", "loss"))
_UPDATES: Final = RuleEvidence("update_ratio", ("loss",))
_OUTPUTS: Final = RuleEvidence("output_size", ("output_zeros",))
_ZEROS: Final = RuleEvidence("output_zeros", ("output_size",))
_WEIGHTS: Final = RuleEvidence("weight_norm", ("gradient_norm",))
_LOSS: Final = RuleEvidence("loss", ("gradient_norm",))
_CLASSES: Final = RuleEvidence("classes", ("loss",))
_INPUTS: Final = RuleEvidence("messages", ("loss",))
_TREES: Final = RuleEvidence("curves")

EVIDENCE: Final[Mapping[str, RuleEvidence]] = {
    "VanishingGradient": _GRADIENTS,
    "GradientDecay": _GRADIENTS,
    "GradientOutlier": _GRADIENTS,
    "GradientsNotReset": _GRADIENTS,
    "ExplodingTensor": _NON_FINITE,
    "NonFiniteOrigin": _NON_FINITE,
    "WeightUpdateRatio": _UPDATES,
    "LearningRateSchedule": _UPDATES,
    "LearningRateTooHigh": _UPDATES,
    "LearningRateTooLow": _UPDATES,
    "NoiseFloor": _UPDATES,
    "UnfinishedDescent": _UPDATES,
    "SlowLearning": _LOSS,
    "UnchangedTensor": _UPDATES,
    "FrozenParameters": _UPDATES,
    "DeadRelu": _ZEROS,
    "SaturatedActivation": _OUTPUTS,
    "ActivationCollapse": _OUTPUTS,
    "AllZero": _ZEROS,
    "TensorVariance": _OUTPUTS,
    "AxisMixup": _OUTPUTS,
    "MissingActivation": _OUTPUTS,
    "PoorWeightInitialization": _WEIGHTS,
    "InitialWeights": _WEIGHTS,
    "UnbrokenSymmetry": _WEIGHTS,
    "OverRegularisation": RuleEvidence("weight_norm", ("loss",)),
    "LossNotDecreasing": _LOSS,
    "LossPlateau": _LOSS,
    "FlatLoss": _LOSS,
    "LossSpike": _LOSS,
    "LossDivergence": _LOSS,
    "LossDirection": _LOSS,
    "InitialLoss": _LOSS,
    "NoSkill": _LOSS,
    "Underfit": _LOSS,
    "StalledTrainingRule": _LOSS,
    "Overfit": _LOSS,
    "Overtraining": _LOSS,
    "GeneralizationGap": _LOSS,
    "EvaluationMismatch": _INPUTS,
    "EvaluationOverlap": _INPUTS,
    "MisalignedTargets": _INPUTS,
    "TokenShift": _CLASSES,
    "MovingAverageLag": _LOSS,
    "TrainEvalMixup": RuleEvidence("loss", ("output_zeros",)),
    "LossInputMismatch": _CLASSES,
    "PredictionCollapse": _CLASSES,
    "Confusion": _CLASSES,
    "ClassImbalance": _CLASSES,
    "LabelMix": _CLASSES,
    "InputScale": _INPUTS,
    "CheckInputImages": _INPUTS,
    "DuplicateBatches": _INPUTS,
    "NLPSequenceRatio": _INPUTS,
    "LeakingFeature": _TREES,
    "FeatureImportanceOverweight": _TREES,
    "TreeDepth": _TREES,
    "TreeGrowth": _TREES,
    "CreateXgboostReport": _TREES,
    "ReplicaDivergence": RuleEvidence("ranks", ("loss",)),
    "SimilarAcrossRuns": RuleEvidence("curves"),
}
"""Evidence by rule, for every rule that runs here."""

OF_OTHER_RULES: Final = RuleEvidence("messages", ("loss",))
"""Evidence of a rule that is not built in."""


def evidence_of(rule: str) -> RuleEvidence:
    """Return the evidence of a rule, by its name in the catalog."""
    return EVIDENCE.get(rule, OF_OTHER_RULES)
