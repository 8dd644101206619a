"""Rules for a job of which nothing special is known: `recommended_rules`.

Not every built-in rule suits every job at its defaults: some are for one kind of data, and the defaults of others,
which are those of SageMaker, fire on sound runs, such as LossNotDecreasing on the noise between single batches. The
choice here, and the parameters, were made on the development runs of ``benchmarks/detection`` and tested on others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from sagemaker_debug_ext.rules.creation import create_rule
from sagemaker_debug_ext.rules.roles import Role, pattern_of

if TYPE_CHECKING:
    from sagemaker_debug_ext.rules.base import Rule
    from sagemaker_debug_ext.trials import Trial

RECOMMENDED: Final[Mapping[str, Mapping[str, Any]]] = {
    # those of SageMaker
    "ClassImbalance": {
        "labels_regex": Role.COUNTED_LABEL,
        "predictions_regex": "^$",
        "samples": 200,
        "per_sample": True,
    },
    "DeadRelu": {"tensor_regex": Role.RELU_OUTPUT, "threshold_layer": 90},
    "ExplodingTensor": {"tensor_regex": "^(?!trees/)"},  # tables of trees have gaps
    "FeatureImportanceOverweight": {"nfeatures": 1, "threshold": 0.8},
    "Overfit": {"ratio_threshold": 2, "patience": 4, "start_step": 20},
    "SaturatedActivation": {
        "tensor_regex": Role.SQUASHED,
        "threshold_tanh_min": -5,
        "threshold_tanh_max": 5,
        "threshold_sigmoid_min": -10,
        "threshold_sigmoid_max": 10,
        "threshold_inactivity": 30,
    },
    "TreeDepth": {"depth": 8},
    # further ones
    "ActivationCollapse": {},
    "DuplicateBatches": {},
    "EvaluationMismatch": {},
    "EvaluationOverlap": {},
    "FlatLoss": {},
    "FrozenParameters": {},
    "GeneralizationGap": {},
    "GradientDecay": {},
    "GradientOutlier": {},
    "GradientsNotReset": {},
    "InitialLoss": {},
    "InitialWeights": {},
    "InputScale": {},
    "LabelMix": {},
    "LeakingFeature": {},
    "LearningRateTooHigh": {},
    "LearningRateTooLow": {},
    "LossDirection": {},
    "LossDivergence": {},
    "LossInputMismatch": {},
    "LossPlateau": {},
    "LossSpike": {},
    "MissingActivation": {},
    "NoSkill": {},
    "NonFiniteOrigin": {},
    "OverRegularisation": {},
    "PredictionCollapse": {},
    "ReplicaDivergence": {},
    "SlowLearning": {},
    "TrainEvalMixup": {},
    "TreeGrowth": {},
    "UnbrokenSymmetry": {},
}
"""Rule → its parameters where they are not the defaults; a role in place of the names that have it in a trial."""


def recommended_parameters(trial: Trial) -> dict[str, dict[str, Any]]:
    """Return the recommended rules, by name, with the parameters that suit the names of tensors in a trial."""
    return {
        name: {key: pattern_of(value, trial) if isinstance(value, Role) else value for key, value in parameters.items()}
        for name, parameters in RECOMMENDED.items()
    }


def recommended_rules(trial: Trial) -> dict[str, Rule]:
    """Return the recommended rules over a trial, by name, for `evaluate`.

    Example:
        >>> evaluation = evaluate(recommended_rules(trial), trial)
    """
    return {name: create_rule(name, trial, parameters) for name, parameters in recommended_parameters(trial).items()}
