"""One scene for each built-in rule: the shortest trial that we know to fire it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from sagemaker_debug_ext.store.format.program import LayerRecord, ProgramRecord
from sagemaker_debug_ext.vocabulary import ModeKeys
from support.rule_trials import EVAL, GLOBAL, TRAIN, loss_tensors


class Scene(NamedTuple):
    """Steps at which a rule fires, and the names of the tensors that it looks at.

    Args:
        steps: Mode and tensors of each step, in the order of the global steps.
        fires_at: Global steps of the issues.
        parameters: Parameters of the rule.
        tensors: Names that an issue may mention.
        other: Tensors of each step of the other trial, for rules that compare trials.
        second_worker: Tensors of each step of a second worker, for rules that compare workers.
        program: Record of the program, for rules that need it.
    """

    steps: list[tuple[ModeKeys, dict[str, Any]]]
    fires_at: list[int]
    parameters: dict[str, Any]
    tensors: tuple[str, ...]
    other: dict[str, Any] | None = None
    second_worker: dict[str, Any] | None = None
    program: ProgramRecord | None = None


def train(*tensors: Mapping[str, Any]) -> list[tuple[ModeKeys, dict[str, Any]]]:
    """Return TRAIN steps from the tensors of each."""
    return [(TRAIN, dict(tensors_of_step)) for tensors_of_step in tensors]


ONES, ZEROS = np.ones((4, 3)), np.zeros((4, 3))

SAGEMAKER_SCENES = {
    "VanishingGradient": Scene(train({"gradient/w": ZEROS}), [0], {}, ("gradient/w",)),
    "ExplodingTensor": Scene(train({"x": ONES * np.inf}), [0], {}, ("x",)),
    "DeadRelu": Scene(train({"a_relu_output": ZEROS}), [0], {}, ("a_relu_output",)),
    "SaturatedActivation": Scene(train({"tanh_input": ONES * 50}), [0], {}, ("tanh_input",)),
    "WeightUpdateRatio": Scene(train({"w_weight": ONES}, {"w_weight": ONES * 50}), [1], {}, ("w_weight",)),
    "PoorWeightInitialization": Scene(
        train({"a_relu_input": np.arange(4.0), "b_relu_input": np.arange(4.0) * 50}), [0], {},
        ("a_relu_input", "b_relu_input"),
    ),
    "AllZero": Scene(train({"x": ZEROS}), [0], {"tensor_regex": "x"}, ("x",)),
    "ClassImbalance": Scene(train({"labels": np.repeat([0, 1], [95, 5])}), [0], {"samples": 100}, ("labels",)),
    "LossNotDecreasing": Scene(train({"loss": 1.0}, {"loss": 2.0}), [1], {"num_steps": 1}, ("loss",)),
    "Overfit": Scene([(TRAIN, {"loss": 1.0}), (EVAL, {"loss": 2.0})], [1], {}, ("loss",)),
    "Overtraining": Scene(
        [(mode, {"loss": 1.0}) for mode in (TRAIN, EVAL) * 2], [3], {"patience_train": 1, "patience_validation": 1},
        ("loss",),
    ),
    "SimilarAcrossRuns": Scene(train({"x": ONES}), [0], {}, ("x",), other={"x": ONES * 2}),
    "TensorVariance": Scene(train({"x": np.arange(9.0)}), [0], {"tensor_regex": "x", "max_threshold": 1}, ("x",)),
    "UnchangedTensor": Scene(train({"x": ONES}, {"x": ONES}), [1], {"tensor_regex": "x", "num_steps": 2}, ("x",)),
    "CheckInputImages": Scene(
        train({"input": np.ones((2, 3, 4, 4))}), [0], {"regex": "input", "threshold_samples": 2}, ("input",)
    ),
    "NLPSequenceRatio": Scene(train({"tokens": np.zeros((2, 8), int)}), [0], {"tensor_regex": "tokens"}, ("tokens",)),
    "Confusion": Scene(
        train({"labels": np.array([0, 1, 1]), "predictions": np.array([1, 0, 1])}), [0], {},
        ("labels", "predictions"),
    ),
    "FeatureImportanceOverweight": Scene(
        train({"feature_importance/weight/f0": 0.95, "feature_importance/weight/f1": 0.05}), [0], {"nfeatures": 1},
        ("feature_importance/weight/f0", "feature_importance/weight/f1"),
    ),
    "TreeDepth": Scene(train({"trees/Node": np.arange(63)}), [0], {}, ("trees/Node",)),
}  # fmt: skip
"""Scenes of the rules that SageMaker has, but for those that never fire or fire by the clock."""


def _numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape)


def _leak() -> dict[str, Any]:
    inputs = _numbers(40, 3)
    return {"Net_input_0": inputs, **loss_tensors(_numbers(40, seed=1), 2 * inputs[:, 1], name="MSELoss")}


def _missed_line() -> dict[str, Any]:
    inputs = _numbers(40, 3)
    return {"Net_input_0": inputs, **loss_tensors(np.zeros((40, 1)), inputs @ [[1.0], [2], [3]], name="MSELoss")}


def _summed_gradients() -> Iterator[dict[str, Any]]:
    weight, total = _numbers(40), 0.0
    for step in range(12):
        gradient = _numbers(40, seed=1 + step)
        yield {"w_weight": weight, "gradient/w_weight": gradient}
        total = total + gradient
        weight = weight - 0.01 * total


def _vanishing() -> dict[str, Any]:
    sizes = {"a_weight": 1e-12, "b_weight": 1.0, "c_weight": 1.0, "d_weight": 1.0}
    gradients = {f"gradient/{name}": ONES * size for name, size in sizes.items()}
    return dict.fromkeys(sizes, ONES) | gradients


_HIDDEN = _numbers(8, 6)
_TOKENS = np.random.default_rng(0).integers(0, 9, (4, 12))
_PICTURES = _numbers(8, 1, 9, 9)
_NO_SPLITS = {
    "trees/Node": np.arange(1), "trees/Split": np.array([np.nan]), "trees/Gain": np.array([0.5]),
    "trees/Cover": np.array([100.0]),
}  # fmt: skip

EXTRA_SCENES = {
    "DuplicateBatches": Scene(
        train(*[{"Net_input_0": _numbers(4, 3)}] * 2), [1], {"window": 2, "max_share_percent": 50}, ("Net_input_0",)
    ),
    "EvaluationMismatch": Scene(
        [(TRAIN, {"Net_input_0": _numbers(64, 4)}), (EVAL, {"Net_input_0": _numbers(64, 4) + 5})], [1], {},
        ("Net_input_0",),
    ),
    "EvaluationOverlap": Scene(
        [(mode, {"Net_input_0": _numbers(32, 4) + shift})
         for mode, shift in ((TRAIN, 0), (TRAIN, 1), (EVAL, 0), (TRAIN, 2))], [3], {}, ("Net_input_0",),
    ),
    "InputScale": Scene(train({"Net_input_0": ONES * 50}), [0], {"patience": 1}, ("Net_input_0",)),
    "LabelMix": Scene([(GLOBAL, {"labels": np.repeat([0.0, 1.0], [11, 1])})], [0], {}, ("labels",)),
    "LeakingFeature": Scene(train(_leak()), [0], {"samples": 40}, ("Net_input_0",)),
    "FlatLoss": Scene(
        train({"w_weight": ONES, "gradient/w_weight": ONES * 1e-4, "loss": 0.6}), [0], {"patience": 1}, ("loss",)
    ),
    "InitialLoss": Scene(
        train(loss_tensors(_numbers(64, 4) * 30, np.arange(64) % 4)), [0], {}, ("CrossEntropyLoss_output_0",)
    ),
    "InitialWeights": Scene(train({"w_weight": _numbers(4, 3) * 50}), [0], {}, ("w_weight",)),
    "UnbrokenSymmetry": Scene(train({"w_weight": ONES}), [0], {"patience": 1}, ("w_weight",)),
    "ActivationCollapse": Scene(train({"a_output_0": ONES}), [0], {"patience": 1}, ("a_output_0",)),
    "MissingActivation": Scene(
        train({
            "Net_a.weight": np.ones((6, 5)), "Net_b.weight": np.ones((2, 6)), "a_input_0": _numbers(8, 5),
            "a_output_0": _HIDDEN, "b_input_0": _HIDDEN, "b_output_0": _HIDDEN[:, :2],
        }), [0], {"patience": 1}, ("a_output_0",),
    ),
    "AxisMixup": Scene(
        train({"Net_input_0": _numbers(8, 5, 3), "lstm_input_0": _numbers(8, 5, 3).reshape(5, 8, 3)}), [0],
        {"patience": 1}, ("lstm_input_0",),
    ),
    "TokenShift": Scene(
        train({"Net_input_0": _TOKENS[:, :-2], **loss_tensors(_numbers(40, 9), _TOKENS[:, 2:].reshape(-1))}), [0],
        {"patience": 1}, ("CrossEntropyLoss_input_1",),
    ),
    "MisalignedTargets": Scene(
        train({
            "Net_input_0": _PICTURES, "Net_output_0": _PICTURES,
            **loss_tensors(_PICTURES, np.concatenate([_PICTURES[:4], _PICTURES[4:, ..., ::-1]]), name="MSELoss"),
        }), [0],
        {"samples": 8}, ("MSELoss_input_1", "Net_input_0"),
    ),
    "LearningRateSchedule": Scene(
        train({"SGD_learning_rate_0": 0.1}, *[{"SGD_learning_rate_0": 1e-9}] * 5), [5], {}, ("SGD_learning_rate_0",)
    ),
    "MovingAverageLag": Scene(
        [(TRAIN, {"loss": 1.0}), (EVAL, {"loss": 3.0})], [1], {}, ("loss",),
        program=ProgramRecord(
            framework="PyTorch", layers=(LayerRecord(name="bn", type="BatchNorm1d", moving_share=0.01),)
        ),
    ),
    "OverRegularisation": Scene(
        train({"drop_input_0": np.ones((8, 8)), "drop_output_0": np.zeros((8, 8))}), [0], {"window": 1},
        ("drop_output_0",),
    ),
    "PredictionCollapse": Scene(
        train(loss_tensors(np.eye(3)[[1] * 30], np.arange(30) % 3)), [0],
        {"samples": 30, "patience": 1, "patience_running": 1}, ("CrossEntropyLoss_input_0", "CrossEntropyLoss_input_1"),
    ),
    "TrainEvalMixup": Scene(
        [(EVAL, {"drop_input_0": np.ones((16, 8)), "drop_output_0": np.eye(16, 8)})], [0], {"patience": 1},
        ("drop_output_0",),
    ),
    "FrozenParameters": Scene(
        train(*[{"w_weight": ONES, "gradient/w_weight": ONES}] * 2), [1], {"patience": 1, "patience_running": 1},
        ("w_weight",),
    ),
    "GradientDecay": Scene(train(_vanishing()), [0], {}, ("gradient/a_weight",)),
    "GradientOutlier": Scene(train({"gradient/w": ONES * 1e4}), [0], {}, ("gradient/w",)),
    "GradientsNotReset": Scene(train(*_summed_gradients()), [10, 11], {}, ("w_weight",)),
    "LearningRateTooHigh": Scene(train({"w_weight": ONES}, {"w_weight": ONES * 2}), [1], {"window": 1}, ("w_weight",)),
    "LearningRateTooLow": Scene(
        train({"w_weight": ONES}, {"w_weight": ONES + 1e-7}), [1], {"window": 1}, ("w_weight",)
    ),
    "NoiseFloor": Scene(
        train(*[{"w_weight": ONES * sign, "gradient/w_weight": ONES * 2 * sign, "loss": 12.0} for sign in [1, -1] * 6]),
        [11], {"patience": 10}, ("loss",),
    ),
    "UnfinishedDescent": Scene(
        train(*[
            {"w_weight": -ONES * step, "gradient/w_weight": ONES}
            | loss_tensors(np.zeros((20, 1)), np.arange(20.0)[:, None] % 2, name="MSELoss")
            for step in range(16)
        ]),
        [15], {"patience": 16}, ("MSELoss_output_0",),
    ),
    "NonFiniteOrigin": Scene(train({"x": ONES * np.inf}), [0], {}, ("x",)),
    "ReplicaDivergence": Scene(train({"w_weight": ONES}), [0], {}, ("w_weight",), second_worker={"w_weight": ONES * 2}),
    "GeneralizationGap": Scene(
        [(GLOBAL, {"train-loss": 1.0, "validation-loss": 1.0}), (GLOBAL, {"train-loss": 0.5, "validation-loss": 2.0})],
        [1], {"patience": 1}, ("validation-loss",),
    ),
    "LossDirection": Scene(
        train(*(loss_tensors(np.eye(2) * -10 * n, np.arange(2), loss=2.0 - n, name="OwnLoss") for n in range(2))), [1],
        {"window": 1}, ("OwnLoss_output_0",),
    ),
    "LossDivergence": Scene(train(*[{"loss": 1.0}] * 3, {"loss": 9.0}), [3], {"window": 1}, ("loss",)),
    "LossInputMismatch": Scene(
        train(loss_tensors(np.ones((4, 1)), np.ones(4), name="MSELoss")), [0], {},
        ("MSELoss_input_0", "MSELoss_input_1"),
    ),
    "LossPlateau": Scene(
        train(*[{"loss": 1.0}] * 2), [1], {"window": 1, "patience": 2, "patience_running": 2}, ("loss",)
    ),
    "LossSpike": Scene(train({"loss": 1.0}, {"loss": 1.0}, {"loss": 9.0}), [2], {"window": 2}, ("loss",)),
    "NoSkill": Scene(
        train(loss_tensors(_numbers(300, 3), np.arange(300) % 3)), [0],
        {"window": 1, "patience": 1, "patience_running": 1}, ("CrossEntropyLoss_output_0",),
    ),
    "Underfit": Scene(train(_missed_line()), [0], {"patience": 1}, ("MSELoss_output_0",)),
    "SlowLearning": Scene(train({"loss": 1.0}, {"loss": 0.999}), [1], {"window": 2}, ("loss",)),
    "TreeGrowth": Scene(
        [(GLOBAL, {**_NO_SPLITS, "train-logloss": 0.6})] * 2, [1], {"patience": 2}, ("trees/Node", "train-logloss")
    ),
}  # fmt: skip
"""Scenes of the rules that SageMaker does not have."""
