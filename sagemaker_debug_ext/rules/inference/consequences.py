"""Signs that can be consequences of other signs: `follows`.

A consequence says little about its own cause. For example, units that an enormous update has killed give gradients of
0, but the parameters before them are not at fault. `CONSEQUENCES` lists all consequences; other signs never follow from
others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final

import attrs

from sagemaker_debug_ext.rules.inference.activations import SINCE_FIRST
from sagemaker_debug_ext.rules.issue import Issue

GROWTH: Final = frozenset({"GradientOutlier", "LossDivergence", "LossSpike"})
"""Rules that find values that have grown, which affect the next step."""
NON_FINITE: Final = frozenset({"NonFiniteOrigin", "ExplodingTensor"})
"""Rules that find NaN and infinity, which the loss and gradients then have as well."""
COLLAPSE: Final = frozenset({"ActivationCollapse", "DeadRelu"})
"""Rules that find units that give the same answer to everything."""
AS_BUILT: Final = frozenset({"InputScale", "LossInputMismatch"})
"""Rules that find faults from before the first step, at whichever step they report them."""
FAULTS: Final = (
    GROWTH
    | COLLAPSE
    | AS_BUILT
    | {
        "AxisMixup", "DuplicateBatches", "FlatLoss", "FrozenParameters", "GradientDecay", "GradientsNotReset",
        "InitialWeights", "LabelMix", "LearningRateTooHigh", "LearningRateTooLow", "LossDirection",
        "MisalignedTargets", "MissingActivation", "NoiseFloor", "NonFiniteOrigin", "OverRegularisation",
        "ReplicaDivergence", "SaturatedActivation", "TokenShift", "TrainEvalMixup", "UnbrokenSymmetry",
        "UnfinishedDescent", "WeightUpdateRatio",
    }
)  # fmt: skip
"""Rules that find faults with which a model learns nothing."""


@attrs.frozen
class Consequence:
    """A sign that can follow from others.

    Args:
        rule: Rule that finds the sign.
        of: Rules that find what it can follow from.
        text: Text that the message of the sign must contain.
        unless: Text that the message must not contain; empty for none.
        unless_after: Rules of which no issue may be there, because what it could follow from may follow from these.
        lag: Minimum number of steps from an issue to the sign.
        is_non_finite: Whether the value of the sign must be NaN or infinite.
    """

    rule: str
    of: frozenset[str]
    text: str = ""
    unless: str = ""
    unless_after: frozenset[str] = frozenset()
    lag: float = 1
    is_non_finite: bool = False

    def explains(self, issue: Issue, first_steps: Mapping[str, int]) -> bool:
        """Return whether an issue can follow from issues of rules, given the first step of each of them."""
        if issue.rule != self.rule or self.text not in issue.message or (self.unless and self.unless in issue.message):
            return False
        if self.is_non_finite and (issue.value is None or math.isfinite(issue.value)):
            return False
        if not self.unless_after.isdisjoint(first_steps):
            return False
        return any(step + self.lag <= issue.step for rule, step in first_steps.items() if rule in self.of)


OF_TARGETS: Final = "of these targets"
"""Text of targets that are not scaled: they make values grow, which comes before NaN that follows from it."""
ANY_STEP: Final = -math.inf
"""Lag of what can follow from issues that are reported later."""
LOOK_BACK: Final = 20
"""Number of steps by which a collapse may be reported after the small updates that follow from it."""
ONE_CLASS: Final = "The model predicts class"
"""Text of a model that predicts one class although the labels differ."""
NEVER_PREDICTED: Final = "ever predicted"
"""Text of a rare class that a model hardly ever or never predicts, as one does that learns nothing of it."""
ZERO_GRADIENT: Final = "its gradient is 0"
"""Text of parameters whose gradient is 0, as those before units that give the same answer to everything."""
ALL_ZERO: Final = "no parameter has a gradient other than 0, although the loss is not 0"
"""Text of parameters none of which has a gradient, as where unscaled inputs saturate all units."""
OF_SUM: Final = "the sum over a batch"
"""Text of a loss that is a sum and does not fall, as one for which updates are too large."""

CONSEQUENCES: Final[tuple[Consequence, ...]] = (
    Consequence("FrozenParameters", GROWTH | COLLAPSE, text=ZERO_GRADIENT),
    Consequence("FrozenParameters", frozenset({"InputScale"}), text=ALL_ZERO, lag=ANY_STEP),
    Consequence("DeadRelu", GROWTH),
    Consequence("ActivationCollapse", GROWTH),
    Consequence("ActivationCollapse", frozenset({"DeadRelu"}), unless=SINCE_FIRST),
    Consequence("SaturatedActivation", GROWTH),
    Consequence("InitialLoss", AS_BUILT, lag=ANY_STEP),
    Consequence("InputScale", frozenset({"NonFiniteOrigin"}), text=OF_TARGETS),
    Consequence(
        "LossInputMismatch",
        frozenset({"LearningRateTooLow"}),
        text=OF_SUM,
        unless_after=GROWTH | COLLAPSE | {"LearningRateTooHigh"},
    ),
    Consequence("LearningRateTooLow", GROWTH),
    Consequence("UnfinishedDescent", GROWTH | COLLAPSE),
    Consequence("LearningRateTooLow", COLLAPSE, lag=-LOOK_BACK),
    *(Consequence(rule, NON_FINITE, lag=0, is_non_finite=True) for rule in sorted(GROWTH)),
    *(Consequence(rule, FAULTS, lag=ANY_STEP) for rule in ("LossNotDecreasing", "LossPlateau", "NoSkill", "Underfit")),
    Consequence("PredictionCollapse", FAULTS, text=ONE_CLASS, lag=ANY_STEP),
    Consequence("ClassImbalance", GROWTH | COLLAPSE | {"LearningRateTooHigh"}, text=NEVER_PREDICTED, lag=ANY_STEP),
)
"""All consequences in the model."""


def first_steps(issues: Iterable[Issue]) -> dict[str, int]:
    """Return the first step of the issues of each rule."""
    found: dict[str, int] = {}
    for issue in issues:
        found[issue.rule] = min(issue.step, found.get(issue.rule, issue.step))
    return found


def follows(issue: Issue, others: Mapping[str, int]) -> bool:
    """Return whether an issue can follow from any of some issues, given the `first_steps` of these."""
    return any(row.explains(issue, others) for row in CONSEQUENCES)
