"""Rules for any job, without knowledge about it: `recommended_rules`.

Not every built-in rule suits every job at its defaults. Some rules are for one kind of data. The defaults of others,
which are those of SageMaker, fire on sound runs. LossNotDecreasing, for example, fires on the noise between single
batches. The rules and parameters here were chosen on the runs of ``benchmarks/detection``. Each limit is about twice as
far from usual values as the most extreme sound run, unless that would miss more than a few faults.

Rules about what may keep a model from learning, such as a high learning rate, weights that start small, or units that
are always 0, have `unless_learnt`: their issues do not count where the model learns its task nevertheless. Rules about
what is wrong however well it learns, such as a part that is never trained, have not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from sagemaker_debug_ext.rules.factory.creation import create_rule
from sagemaker_debug_ext.rules.reading.tensor_roles import Role, pattern_of

if TYPE_CHECKING:
    from sagemaker_debug_ext.rules.base import Rule
    from sagemaker_debug_ext.trials import Trial

LEARNT: Final = 60
"""Gain over the best constant prediction, in percent, of models that learn their task.

Hardly a faulty model gets as far, unless the fault is of a kind that does not show in what it learns.
"""

RECOMMENDED: Final[Mapping[str, Mapping[str, Any]]] = {
    # those of SageMaker
    "ClassImbalance": {
        "labels_regex": Role.LOSS_CLASS_LABEL,
        "predictions_regex": "^$",
        "samples": 400,
        "threshold_imbalance": 20,
        "per_sample": True,
        "unless_weighed": True,
    },
    "DeadRelu": {"tensor_regex": Role.RELU_OUTPUT, "threshold_layer": 95, "unless_learnt": LEARNT},
    "ExplodingTensor": {},
    "FeatureImportanceOverweight": {"nfeatures": 1, "threshold": 0.95, "start_step": 5},
    "Overfit": {"ratio_threshold": 3, "patience": 2, "start_step": 20, "unless_falling": True},
    "SaturatedActivation": {
        "tensor_regex": Role.SATURATING_INPUT,
        "threshold_tanh_min": -5,
        "threshold_tanh_max": 5,
        "threshold_sigmoid_min": -10,
        "threshold_sigmoid_max": 10,
        "threshold_inactivity": 30,
        "unless_learning": True,
        "unless_learnt": LEARNT,
    },
    "TreeDepth": {"depth": 8},
    # further ones
    "ActivationCollapse": {"threshold": 3e-4, "patience": 8, "patience_running": 200, "unless_learnt": LEARNT},
    "AxisMixup": {},
    "DuplicateBatches": {"window": 20, "max_share_percent": 20, "unless_all": True},
    "EvaluationMismatch": {"max_shift": 2, "max_ratio": 4, "patience": 2},
    "EvaluationOverlap": {},
    "FlatLoss": {"threshold": 0.02, "patience": 10, "patience_running": 200, "unless_learnt": LEARNT},
    "FrozenParameters": {"patience": 10, "patience_running": 200},
    "GeneralizationGap": {"ratio_threshold": 0.5},
    "GradientDecay": {"unless_learnt": LEARNT},
    "GradientOutlier": {"factor": 100, "max_norm": 3000, "unless_harmless": True, "unless_learnt": LEARNT},
    "GradientsNotReset": {"patience": 8},
    "InitialLoss": {"factor": 4.5, "unless_learnt": LEARNT},
    "InitialWeights": {"max_gain": 12, "min_gain": 0.013, "unless_learnt": LEARNT},
    "InputScale": {"max_scale": 40, "unless_learnt": 95},
    "LabelMix": {"min_mixing": 0.4, "max_ratio": 20},
    "LeakingFeature": {"copies": False},
    "LearningRateSchedule": {"unless_learnt": LEARNT},
    "LearningRateTooHigh": {"threshold": 0.35, "patience_running": 200, "unless_learnt": LEARNT},
    "LearningRateTooLow": {"threshold": 5e-6, "patience_running": 400, "unless_learnt": LEARNT},
    "LossDirection": {"factor": 2},
    "LossDivergence": {"factor": 4.5, "unless_learnt": LEARNT},
    "LossInputMismatch": {"patience": 40, "patience_running": 300},
    "LossPlateau": {"unless_learnt": LEARNT},
    "LossSpike": {"factor": 10, "patience": 2, "unless_learnt": LEARNT},
    "MisalignedTargets": {},
    "MissingActivation": {},
    "MovingAverageLag": {},
    "NoSkill": {},
    "NoiseFloor": {"unless_learnt": 75},
    "NonFiniteOrigin": {},
    "OverRegularisation": {"max_dropped": 0.77, "min_norm": 0.35, "unless_learnt": LEARNT},
    "PredictionCollapse": {"max_share": 0.995, "patience": 50, "patience_running": 300, "unless_learnt": LEARNT},
    "ReplicaDivergence": {},
    "SlowLearning": {"min_fall_percent": 1, "unless_learnt": LEARNT},
    "TokenShift": {},
    "TrainEvalMixup": {"patience": 4},
    "TreeGrowth": {},
    "UnbrokenSymmetry": {},
    "Underfit": {"max_explained": LEARNT / 100},
    "UnfinishedDescent": {},
}
"""Parameters of each rule that differ from the defaults; a role stands for its tensor names in a trial."""


def recommended_parameters(trial: Trial) -> dict[str, dict[str, Any]]:
    """Return the recommended rules, by name, with parameters that match the tensor names of a trial."""
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
