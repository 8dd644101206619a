"""Infer likely causes from the issues of rules: `likely_causes`.

One fault has many symptoms: inputs that are not scaled make activations saturate, gradients explode and the loss jump.
The causes of issues are therefore ordered by how directly they are observed, and a cause comes before its consequences:

1. faults of the program at each step, observed directly (gradients not reset, layers in the wrong mode, replicas apart,
   a loss with the wrong input, parameters that never change);
2. data with observed faults (scale, repeated samples, classes), and values that are not finite before anything has
   grown;
3. faults before the first update, which do not depend on the learning rate (initialisation, dead units);
4. the size of updates (learning rate, regularisation);
5. possible consequences of these (values that are not finite, exploding gradients, slow learning, overfitting);
6. no learning, which points at the labels if no other fault was found.

Within each group, the order is that of `SIGNS`. Signs that can follow from an earlier one, by the table in
`rules.inference.consequences`, come after all others. If the rules of the likeliest cause see what happens, but not
why, the causes in `LOOK_ALIKES` come before what follows from it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final, Literal

import attrs

from sagemaker_debug_ext._json import JSONObject
from sagemaker_debug_ext.rules.extra.data._reports import ANOTHER_ORDER
from sagemaker_debug_ext.rules.extra.data.evaluation_mismatch import OTHER_SCALE, TAKES_NO_NOTICE
from sagemaker_debug_ext.rules.extra.data.input_scale import STANDS_FOR_MISSING
from sagemaker_debug_ext.rules.extra.data.label_mix import ONLY_EVALUATED, SORTED_SPLIT
from sagemaker_debug_ext.rules.extra.data.token_shift import LATER, SEEN
from sagemaker_debug_ext.rules.extra.initialization.initial_loss import SMALL_TARGETS
from sagemaker_debug_ext.rules.extra.layers.activation_collapse import CUT, IS_FLAT, OF_ONE, VARIED, WAS_FLAT
from sagemaker_debug_ext.rules.extra.losses.loss_divergence import IN_ORDER
from sagemaker_debug_ext.rules.extra.losses.no_skill import (
    FAR_FROM_MEAN,
    FROM_NEW_DATA,
    LARGE_UPDATES,
    OF_COPIES,
    OF_LINE,
)
from sagemaker_debug_ext.rules.extra.losses.underfit import (
    ENDED_EARLY,
    HARDLY_FALLEN,
    NOTHING_LEARNT,
    OF_CLASSES,
    PENALISED,
    RESHAPED,
    TIED,
)
from sagemaker_debug_ext.rules.extra.trees.tree_growth import FEW_ROWS, NO_GAIN, NO_SPLIT, NOT_THERE
from sagemaker_debug_ext.rules.extra.updates.frozen_parameters import (
    BOTH_ZERO,
    CUT_OFF,
    HAS_GRADIENT,
    MADE_ANEW,
    NO_BACKWARD,
    NO_GRADIENT,
    NOT_COMPILED,
    NOTHING_BEFORE,
    ZERO_LOSS,
)
from sagemaker_debug_ext.rules.extra.updates.gradients_not_reset import RUNS_ON_FOR_EVER
from sagemaker_debug_ext.rules.extra.updates.learning_rate_too_low import HELD_BY_NONE
from sagemaker_debug_ext.rules.inference.activations import OVER_STEPS
from sagemaker_debug_ext.rules.inference.consequences import ALL_ZERO, GROWTH, first_steps, follows
from sagemaker_debug_ext.rules.inference.pairings import BROADCAST, DROPPED_ANSWERS, OVER_SAMPLES, POOLED
from sagemaker_debug_ext.rules.issue import Issue

CAUSES: Final[Mapping[str, str]] = {
    "gradients not reset": "gradients add up over steps",
    "replicas": "workers that should train one model train several",
    "wrong mode": "dropout or batch normalisation do not work in evaluation, or in training, as they should there",
    "axes": "axes that a reshape, a layer or a loss takes for others, so that samples mix",
    "loss or output": "the loss does not suit the output of the model or the targets",
    "architecture": "layers that cannot do what they are for, as without an activation between them",
    "parameters not trained": "parameters that no update reaches",
    "inputs": "inputs or targets that are not scaled, or always the same",
    "sampling": "samples that repeat, come in an order, or are in both training and evaluation",
    "evaluation data": "training and evaluation data that do not fit each other",
    "class imbalance": "classes that are rare or missing",
    "leaking feature": "inputs that give the label away",
    "initialisation": "weights that training cannot start from",
    "dead units": "units that never answer",
    "learning rate too high": "updates that overshoot",
    "learning rate too low": "updates that are too small to learn anything",
    "regularisation": "dropout or weight decay that leaves nothing to learn with",
    "not finite": "operations that give NaN or infinity",
    "exploding gradients": "gradients that grow from layer to layer or step to step",
    "overfitting": "training data learnt by heart",
    "labels": "labels that have little to do with the inputs",
}
"""Possible causes, with the meaning of each."""

When = Literal["always", "at first", "later", "late", "ungrown"]
MANY: Final = 20
"""Number of steps after which units that die have died of updates, and not of how they were initialised."""

UNBOUNDED: Final = GROWTH | {"LearningRateTooHigh"}
"""Rules that find unbounded growth. Non-finite values before their first finite number are no consequence of it."""


@attrs.frozen
class Sign:
    """The cause that an issue of a rule points at.

    Args:
        rule: Name of the rule.
        cause: Name of the cause.
        when: Whether the sign holds only for issues at the first step, before any update, only for later ones, only for
            those of a rule that found none in the first `MANY` steps, or only for issues before the first at which a
            rule in `UNBOUNDED` found a finite number.
        text: Text that the message of the issue must contain.
    """

    rule: str
    cause: str
    when: When = "always"
    text: str = ""

    def fits(self, issue: Issue, growth: float, firsts: Mapping[str, int]) -> bool:
        """Return whether an issue is this sign.

        Args:
            issue: The issue.
            growth: The first step with unbounded growth.
            firsts: The first step of the issues of each rule.
        """
        in_time = {
            "always": True,
            "at first": issue.step == 0,
            "later": issue.step > 0,
            "late": firsts[issue.rule] >= MANY,
            "ungrown": issue.step < growth,
        }
        return issue.rule == self.rule and in_time[self.when] and self.text in issue.message


SIGNS: Final[tuple[Sign, ...]] = (
    # 1. faults of the program
    Sign("FrozenParameters", "parameters not trained", text=NO_BACKWARD),
    Sign("FrozenParameters", "parameters not trained", text=MADE_ANEW),
    Sign("GradientsNotReset", "learning rate too high", text=RUNS_ON_FOR_EVER),
    Sign("GradientsNotReset", "gradients not reset", text="Gradients are not reset"),
    Sign("ReplicaDivergence", "replicas"),
    Sign("TrainEvalMixup", "wrong mode"),
    Sign("MovingAverageLag", "wrong mode"),
    Sign("AxisMixup", "axes"),
    Sign("ActivationCollapse", "axes", text=OF_ONE),
    Sign("Underfit", "axes", text=RESHAPED),
    Sign("LossInputMismatch", "regularisation", text=DROPPED_ANSWERS),
    Sign("LossInputMismatch", "loss or output"),
    Sign("LossInputMismatch", "axes", text=BROADCAST),
    Sign("LossInputMismatch", "axes", text=OVER_SAMPLES),
    Sign("LossInputMismatch", "axes", text=POOLED),
    Sign("LossDirection", "loss or output"),
    Sign("FrozenParameters", "architecture", text=NOTHING_BEFORE),
    Sign("FrozenParameters", "initialisation", text=BOTH_ZERO),
    Sign("FrozenParameters", "loss or output", text=ALL_ZERO),
    Sign("FrozenParameters", "loss or output", text=ZERO_LOSS),
    Sign("FrozenParameters", "parameters not trained", text=NO_GRADIENT),
    Sign("FrozenParameters", "parameters not trained", text=NOT_COMPILED),
    Sign("FrozenParameters", "parameters not trained", text=HAS_GRADIENT),
    Sign("FrozenParameters", "parameters not trained", text=CUT_OFF),
    Sign("LearningRateTooLow", "parameters not trained", text=HELD_BY_NONE),
    # 2. data
    Sign("InputScale", "labels", text=STANDS_FOR_MISSING),
    Sign("InputScale", "inputs"),
    Sign("CheckInputImages", "inputs"),
    Sign("DuplicateBatches", "inputs", text="all samples are equal"),
    Sign("DuplicateBatches", "sampling"),
    Sign("LabelMix", "sampling", text="come sorted"),
    Sign("PredictionCollapse", "sampling", text="come sorted"),
    Sign("TreeGrowth", "sampling", text=FEW_ROWS),
    Sign("PredictionCollapse", "labels", text="so far are of class"),
    Sign("PredictionCollapse", "class imbalance", text="so far are of class"),
    Sign("LabelMix", "evaluation data", text=ONLY_EVALUATED),
    Sign("LabelMix", "sampling", text=SORTED_SPLIT),
    Sign("LabelMix", "class imbalance", text="never comes up"),
    Sign("LabelMix", "class imbalance", text="hardly ever comes up"),
    Sign("ClassImbalance", "class imbalance"),
    Sign("PredictionCollapse", "class imbalance", text="hardly ever come up"),
    Sign("EvaluationMismatch", "evaluation data", text="Inputs of evaluation"),
    Sign("EvaluationMismatch", "evaluation data", text="Inputs of predictions"),
    Sign("EvaluationMismatch", "evaluation data", text="Labels of evaluation"),
    Sign("EvaluationMismatch", "evaluation data", text=ANOTHER_ORDER),
    Sign("EvaluationMismatch", "inputs", text=OTHER_SCALE),
    Sign("TreeGrowth", "evaluation data", text=NOT_THERE),
    Sign("MisalignedTargets", "labels"),
    Sign("TokenShift", "leaking feature", text=SEEN),
    Sign("TokenShift", "labels", text=LATER),
    Sign("LeakingFeature", "leaking feature"),
    Sign("NonFiniteOrigin", "not finite", "ungrown"),
    Sign("EvaluationMismatch", "wrong mode", text=TAKES_NO_NOTICE),
    Sign("MissingActivation", "architecture"),
    # 3. before the first update
    Sign("UnbrokenSymmetry", "initialisation"),
    Sign("InitialWeights", "initialisation"),
    Sign("DeadRelu", "dead units", "at first"),
    Sign("SaturatedActivation", "initialisation", "at first"),
    Sign("ActivationCollapse", "architecture", text=CUT),
    Sign("GradientDecay", "initialisation"),
    Sign("ActivationCollapse", "dead units", text=WAS_FLAT),
    Sign("FlatLoss", "loss or output"),
    Sign("GradientOutlier", "exploding gradients", "at first"),
    Sign("GradientOutlier", "exploding gradients", text=OVER_STEPS),
    Sign("InitialLoss", "inputs", text=SMALL_TARGETS),
    Sign("InitialLoss", "initialisation"),
    Sign("FeatureImportanceOverweight", "leaking feature"),
    # 4. the size of updates
    Sign("OverRegularisation", "regularisation"),
    Sign("TreeGrowth", "regularisation", text=NO_SPLIT),
    Sign("TreeGrowth", "regularisation", text=NO_GAIN),
    Sign("LearningRateSchedule", "learning rate too low"),
    Sign("LearningRateTooHigh", "learning rate too high"),
    Sign("WeightUpdateRatio", "learning rate too high", text="above the limit"),
    Sign("WeightUpdateRatio", "learning rate too low", text="below the limit"),
    Sign("LearningRateTooLow", "learning rate too low"),
    Sign("UnfinishedDescent", "learning rate too low"),
    Sign("LossDivergence", "sampling", text=IN_ORDER),
    Sign("LossDivergence", "learning rate too high"),
    Sign("NoiseFloor", "learning rate too high"),
    Sign("FrozenParameters", "parameters not trained"),
    Sign("UnchangedTensor", "parameters not trained"),
    Sign("EvaluationMismatch", "evaluation data"),
    # 5. possible consequences
    Sign("GradientOutlier", "learning rate too high", "later"),
    Sign("GradientOutlier", "exploding gradients", "later"),
    Sign("NonFiniteOrigin", "not finite"),
    Sign("ExplodingTensor", "not finite"),
    Sign("LossSpike", "learning rate too high"),
    Sign("DeadRelu", "learning rate too high", "late"),
    Sign("DeadRelu", "dead units"),
    Sign("SaturatedActivation", "learning rate too high"),
    Sign("ActivationCollapse", "learning rate too high", "late", text=VARIED),
    Sign("ActivationCollapse", "dead units", text=IS_FLAT),
    Sign("ActivationCollapse", "dead units", text=VARIED),
    Sign("ActivationCollapse", "initialisation"),
    Sign("PoorWeightInitialization", "initialisation"),
    Sign("VanishingGradient", "initialisation"),
    Sign("AllZero", "initialisation"),
    Sign("SlowLearning", "learning rate too low"),
    Sign("NoSkill", "labels", text=FROM_NEW_DATA),
    Sign("TreeDepth", "overfitting"),
    Sign("GeneralizationGap", "overfitting"),
    Sign("Overfit", "overfitting"),
    Sign("Overtraining", "overfitting"),
    Sign("EvaluationOverlap", "sampling"),
    # 6. no learning
    Sign("NoSkill", "loss or output", text=OF_COPIES),
    Sign("NoSkill", "architecture", text=OF_LINE),
    Sign("NoSkill", "inputs", text=FAR_FROM_MEAN),
    Sign("NoSkill", "learning rate too high", text=LARGE_UPDATES),
    Sign("Underfit", "loss or output", text=OF_CLASSES),
    Sign("Underfit", "exploding gradients", text=OVER_STEPS),
    Sign("Underfit", "learning rate too low", text=ENDED_EARLY),
    Sign("Underfit", "dead units", text=TIED),
    Sign("Underfit", "regularisation", text=PENALISED),
    Sign("Underfit", "learning rate too low", text=HARDLY_FALLEN),
    Sign("Underfit", "learning rate too low", text=NOTHING_LEARNT),
    Sign("Underfit", "architecture"),
    Sign("Underfit", "learning rate too low"),
    Sign("NoSkill", "labels"),
    Sign("LossPlateau", "labels"),
    Sign("LossNotDecreasing", "labels"),
    Sign("PredictionCollapse", "labels"),
    Sign("Confusion", "labels"),
)
"""The causes that issues of rules point at, the most direct sign first."""


@attrs.frozen
class LookAlikes:
    """Causes that show in training as another one does.

    Args:
        cause: Name of the cause.
        rules: The rules that see what happens, but not why.
        others: Names of the causes that look the same, the likeliest first.
    """

    cause: str
    rules: frozenset[str]
    others: tuple[str, ...]


LOOK_ALIKES: Final[tuple[LookAlikes, ...]] = (
    LookAlikes(
        "labels",
        frozenset({"Confusion", "LossNotDecreasing", "LossPlateau", "NoSkill", "PredictionCollapse"}),
        ("axes", "loss or output"),
    ),
    LookAlikes(
        "overfitting", frozenset({"GeneralizationGap", "Overfit", "Overtraining"}), ("evaluation data", "sampling")
    ),
    LookAlikes(
        "dead units", frozenset({"ActivationCollapse", "DeadRelu"}), ("learning rate too high", "regularisation")
    ),
    LookAlikes("class imbalance", frozenset({"PredictionCollapse"}), ("sampling", "learning rate too high")),
    LookAlikes(
        "learning rate too high",
        frozenset({"GradientOutlier", "LossDivergence", "LossSpike", "SaturatedActivation", "WeightUpdateRatio"}),
        ("exploding gradients", "initialisation"),
    ),
    LookAlikes("exploding gradients", frozenset({"GradientOutlier"}), ("initialisation", "learning rate too high")),
    LookAlikes(
        "learning rate too low",
        frozenset({"LearningRateTooLow", "SlowLearning", "Underfit", "UnfinishedDescent", "WeightUpdateRatio"}),
        ("inputs", "dead units"),
    ),
    LookAlikes(
        "initialisation",
        frozenset({"ActivationCollapse", "GradientDecay", "InitialLoss", "SaturatedActivation", "VanishingGradient"}),
        ("inputs", "exploding gradients"),
    ),
)
"""What was to blame in real programs where these rules alone had pointed at the likeliest cause, and wrongly."""

MOST_CAUSES: Final = 3
"""Number of causes beyond which none is added that only looks the same."""

_SIGNS_OF: Final = {rule: [sign for sign in SIGNS if sign.rule == rule] for rule in {sign.rule for sign in SIGNS}}


@attrs.frozen
class LikelyCause:
    """A possible cause of some issues.

    Args:
        name: Its name in `CAUSES`.
        meaning: Meaning of the cause.
        issues: The issues that point at it, the most direct one first.
        may_follow: Whether each of the issues can be a consequence of others.
        looks_like: Name of the cause that has the same issues, if this one only looks the same; empty if rules saw
            signs of this one.
    """

    name: str
    meaning: str
    issues: tuple[Issue, ...]
    may_follow: bool = False
    looks_like: str = ""

    @property
    def rules(self) -> tuple[str, ...]:
        """Names of the rules that point at it, the most direct one first."""
        return tuple(dict.fromkeys(issue.rule for issue in self.issues))

    def to_json_dict(self) -> JSONObject:
        """Return the cause as a JSON object, with the rules and the first step of its issues."""
        return {
            "name": self.name,
            "meaning": self.meaning,
            "rules": list(self.rules),
            "first_issue_step": min(issue.step for issue in self.issues),
            "may_follow": self.may_follow,
            "looks_like": self.looks_like,
        }


def likely_causes(issues: Iterable[Issue]) -> list[LikelyCause]:
    """Return the possible causes of issues of built-in rules, the likeliest first.

    Example:
        >>> [cause.name for cause in likely_causes(evaluate(recommended_rules(trial), trial))]
        ['inputs', 'learning rate too high']
    """
    known = list(dict.fromkeys(issues))
    grown = [issue.step for issue in known if issue.rule in UNBOUNDED and issue.value and math.isfinite(issue.value)]
    growth = min(grown, default=math.inf)
    found: dict[str, dict[Issue, None]] = {}
    firsts = first_steps(known)
    signs = [
        issue for issue in known if any(sign.fits(issue, growth, firsts) for sign in _SIGNS_OF.get(issue.rule, ()))
    ]
    firsts_of_signs = first_steps(signs)
    explained = {issue for issue in signs if follows(issue, firsts_of_signs)}
    unexplained = set(signs) - explained
    # a sign that follows from another comes after all that follow from none
    for considered in (unexplained, explained):
        of_rules: dict[str, list[Issue]] = {}
        for issue in signs:
            if issue in considered:
                of_rules.setdefault(issue.rule, []).append(issue)
        for sign in SIGNS:
            fitting = dict.fromkeys(issue for issue in of_rules.get(sign.rule, ()) if sign.fits(issue, growth, firsts))
            if fitting:
                found.setdefault(sign.cause, {}).update(fitting)
    causes = [
        LikelyCause(name, CAUSES[name], tuple(of_cause), may_follow=unexplained.isdisjoint(of_cause))
        for name, of_cause in found.items()
    ]
    alike = _look_alikes(causes) if len(signs) == len(known) else []
    # what no rule saw is likelier than what follows from something else
    return [cause for cause in causes if not cause.may_follow] + alike + [cause for cause in causes if cause.may_follow]


def _look_alikes(causes: list[LikelyCause]) -> list[LikelyCause]:
    """Return what looks like the likeliest cause, if few others may be to blame, and no rule saw why it came."""
    if not causes or any(FROM_NEW_DATA in issue.message for issue in causes[0].issues):
        return []
    first, named = causes[0], {cause.name for cause in causes}
    num_likely = sum(not cause.may_follow for cause in causes)
    others = [
        other
        for known in LOOK_ALIKES
        if known.cause == first.name and known.rules.issuperset(first.rules)
        for other in known.others
        if other not in named
    ]
    room = max(MOST_CAUSES - num_likely, 0)
    return [LikelyCause(name, CAUSES[name], first.issues, looks_like=first.name) for name in others[:room]]
