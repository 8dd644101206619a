"""Pairings of a loss, the activation before it and its targets that do not fit.

The program record holds loss and activation, and the first batch shows the form and range of the targets. Each row of
`PAIRINGS` is a pairing that cannot work, or hardly; it is found before training.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs
import numpy as np

from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64
from sagemaker_debug_ext.store.format.program import LayerRecord, LossRecord, ProgramRecord

CLASSES: Final = frozenset(
    {
        "categorical_crossentropy", "sparse_categorical_crossentropy", "CrossEntropyLoss",
        "softmax_cross_entropy_with_logits", "sparse_softmax_cross_entropy_with_logits",
    }
)  # fmt: skip
YES_NO: Final = frozenset({"binary_crossentropy", "BCELoss", "BCEWithLogitsLoss", "sigmoid_cross_entropy_with_logits"})
DIFFERENCES: Final = frozenset(
    {
        "mean_squared_error", "mean_absolute_error", "mean_squared_logarithmic_error",
        "mean_absolute_percentage_error", "huber", "log_cosh",
        "MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss",
    }
)  # fmt: skip
LOGARITHMS: Final = frozenset({"NLLLoss", "KLDivLoss"})
"""Losses that expect logarithms of probabilities."""
MARGINS: Final = frozenset({"CosineEmbeddingLoss", "HingeEmbeddingLoss", "MarginRankingLoss", "SoftMarginLoss"})
"""Losses whose targets are 1 and -1."""
ALWAYS_LOGITS: Final = frozenset(
    {
        "CrossEntropyLoss", "BCEWithLogitsLoss", "softmax_cross_entropy_with_logits",
        "sparse_softmax_cross_entropy_with_logits", "sigmoid_cross_entropy_with_logits",
    }
)  # fmt: skip
"""Losses that always apply softmax or sigmoid themselves, even to the output of one."""
SIGMOIDS: Final = frozenset({"sigmoid", "hard_sigmoid"})
PROBABILITIES: Final = SIGMOIDS | {"softmax"}
NO_PROBABILITIES: Final = frozenset({"relu", "tanh", "linear", "elu", "selu", "leaky_relu", "softplus", "gelu", "silu"})

CUTTING: Final = frozenset({"relu", "relu6", "softmax", "sigmoid", "hard_sigmoid"})
"""Activations that leave nothing below 0, so that the probability of a yes cannot fall below one half."""

MOST_OUT_OF_REACH: Final = 0.1
"""Fraction of targets that may be outside the range of an activation, because targets may be rescaled later."""
MOST_NO_YES_OR_NO: Final = 0.02
MOST_ZEROS: Final = 0.02
LEAST_WITH_SEVERAL: Final = 0.02
"""Fraction of samples with several classes above which these are no mistake of single labels."""
DROPPED_ANSWERS: Final = "dropout sets some answers of the last layer to 0 before its activation"
"""Text of the pairing in which the loss is not at fault."""
BROADCAST: Final = "broadcast"
"""Text of pairings of answers with targets of other samples or places."""

POOLED: Final = "summed over all samples"
"""Text of a loss that compares targets of each sample with one sum of the answers of all."""

OVER_SAMPLES: Final = "the softmax is over the samples of a batch instead of the classes"
"""Text of the pairing that answers show whatever the loss is."""

KERAS_NAMES: Final = {
    "mse": "mean_squared_error",
    "mae": "mean_absolute_error",
}


@attrs.frozen
class Output:
    """Known properties of one output of a model when training begins.

    Args:
        loss: Name of the loss function.
        from_logits: Whether the loss applies softmax or sigmoid itself.
        activation: Name of the last activation; None if unknown.
        ignored: The class that the loss leaves out; None if there is none.
        inner: Name of the activation whose output the last one gets; None if there is none, or it is unknown.
        units: Number of units of the output; None if unknown.
        drops: Whether dropout lies between the last layer with weights and the output.
        targets: The targets of the first batch.
        answers: The predictions of the first batch; None if unknown.
    """

    loss: str
    from_logits: bool
    activation: str | None
    units: int | None
    drops: bool
    targets: Array
    answers: Array | None = None
    inner: str | None = None
    ignored: float | None = None

    def share_of_targets(self, test: Callable[[Array], Array]) -> float:
        """Return the fraction of targets for which a test holds."""
        values = to_float64(self.targets)
        return float(np.mean(test(values))) if values.size else 0.0

    @property
    def reach(self) -> tuple[float, float]:
        """The range of the activation."""
        return _RANGES.get(self.activation or "", (-np.inf, np.inf))

    @property
    def is_out_of_reach(self) -> bool:
        """Whether many targets are outside the range of the activation."""
        low, high = self.reach
        return self.share_of_targets(lambda values: (values < low) | (values > high)) > MOST_OUT_OF_REACH

    @property
    def has_quantities(self) -> bool:
        """Whether targets are outside 0 to 1."""
        return self.share_of_targets(lambda values: (values < 0) | (values > 1)) > MOST_NO_YES_OR_NO

    @property
    def lacks_units(self) -> bool:
        """Whether some targets are indices of classes that the output has no unit for."""
        if "sparse" not in self.loss or self.units is None:
            return False
        units, ignored = self.units, self.ignored
        return self.share_of_targets(lambda values: (values >= units) & (values != ignored)) > 0

    @property
    def adds_up_over_samples(self) -> bool:
        """Whether predictions add up to 1 over the samples of the batch for each class, and not over the classes."""
        return self.answers is not None and adds_up_over_samples(
            self.answers, of_logarithms=self.activation == "log_softmax"
        )

    @property
    def has_one_hot_targets(self) -> bool:
        """Whether targets are vectors with a single 1 among at least three numbers, and no two samples are equal."""
        values = to_float64(self.targets)
        if values.ndim != 2 or values.shape[1] < 3:
            return False
        return bool(np.all((values == 0) | (values == 1)) and np.all(values.sum(axis=1) == 1))

    @property
    def asks_each_class(self) -> bool:
        """Whether a binary cross entropy asks of each of at least three units on its own whether it is right."""
        answers_alone = self.activation in SIGMOIDS or (self.activation == "linear" and self.from_logits)
        return self.loss in YES_NO and answers_alone and (self.units or 0) > 2

    @property
    def spreads_targets(self) -> bool:
        """Whether there are more answers than targets for each sample."""
        return self.answers is not None and 1 < self.targets.size < self.answers.size

    @property
    def takes_shares(self) -> bool:
        """Whether the loss compares probabilities of classes with targets of the same form, and not with indices."""
        return self.loss in CLASSES and "sparse" not in self.loss and self.targets.dtype.kind == "f"

    @property
    def has_no_shares(self) -> bool:
        """Whether the targets of many samples are vectors that do not add up to 1."""
        values = to_float64(self.targets)
        if values.ndim != 2 or values.shape[1] != self.units:
            return False
        return float(np.mean(np.abs(values.sum(axis=1) - 1) > MOST_OUT_OF_REACH)) > MOST_OUT_OF_REACH

    @property
    def has_several_classes(self) -> bool:
        """Whether targets are vectors of 0 and 1, in many of which several classes are right.

        The targets of losses for indices are none, even if there are as many of them as classes.
        """
        if "sparse" in self.loss or (self.loss == "CrossEntropyLoss" and self.targets.dtype.kind in "biu"):
            return False
        values = to_float64(self.targets)
        axis = 1 if self.loss == "CrossEntropyLoss" else -1  # PyTorch has the classes there
        if values.ndim < 2 or values.shape[axis] != self.units or not np.all((values == 0) | (values == 1)):
            return False
        return float(np.mean(values.sum(axis=axis) > 1)) > LEAST_WITH_SEVERAL


def adds_up_over_samples(answers: Array, *, of_logarithms: bool = False) -> bool:
    """Return whether probabilities add up to 1 over the samples of the batch for each class, and not over the classes.

    Args:
        answers: The probabilities, of shape (samples, classes).
        of_logarithms: Whether they are logarithms of probabilities.
    """
    if answers.ndim != 2 or min(answers.shape) < 2 or answers.dtype.kind not in "fV":
        return False
    values = np.exp(to_float64(answers)) if of_logarithms else to_float64(answers)
    is_one = [bool(np.allclose(values.sum(axis=axis), 1, atol=1e-3)) for axis in (0, 1)]
    return is_one[0] and not is_one[1] and bool(values.min() >= 0)


_RANGES: Final = {
    "softmax": (0.0, 1.0),
    "sigmoid": (0.0, 1.0),
    "hard_sigmoid": (0.0, 1.0),
    "tanh": (-1.0, 1.0),
    "softsign": (-1.0, 1.0),
    "relu": (0.0, np.inf),
    "relu6": (0.0, 6.0),
    "softplus": (0.0, np.inf),
}


@attrs.frozen
class Pairing:
    """A pairing that does not fit.

    Args:
        text: The fault, as the end of "The loss does not suit the output: …".
        holds: Returns whether an output has it.
    """

    text: str
    holds: Callable[[Output], bool]


PAIRINGS: Final[tuple[Pairing, ...]] = (
    Pairing(
        "the softmax of a single unit is always 1",
        lambda output: output.activation == "softmax" and output.units == 1 and not output.from_logits,
    ),
    Pairing(
        "the cross entropy of a single class is always 0",
        lambda output: output.loss in CLASSES and output.units == 1,
    ),
    Pairing(
        "some targets are classes that the output has no unit for, because classes are counted from 0",
        lambda output: output.lacks_units,
    ),
    Pairing(
        OVER_SAMPLES,
        lambda output: output.activation in ("softmax", "log_softmax") and output.adds_up_over_samples,
    ),
    Pairing(
        "the loss applies softmax or sigmoid itself, and its input has already passed through one",
        lambda output: output.loss in ALWAYS_LOGITS and output.activation in PROBABILITIES,
    ),
    Pairing(
        "softmax or sigmoid needs numbers of any size, and another activation cuts what it gets",
        lambda output: output.activation in PROBABILITIES | {"log_softmax"} and output.inner in CUTTING,
    ),
    Pairing(
        "the loss needs logarithms of probabilities, as of a log_softmax",
        lambda output: output.loss in LOGARITHMS and output.activation in NO_PROBABILITIES | PROBABILITIES,
    ),
    Pairing(
        "binary cross entropy needs targets from 0 to 1, and many are outside",
        lambda output: output.loss in YES_NO and output.has_quantities,
    ),
    Pairing(
        "cross entropy needs probabilities, as of a softmax, or from_logits=True without an activation",
        lambda output: output.loss in CLASSES and not output.from_logits and output.activation in NO_PROBABILITIES,
    ),
    Pairing(
        "binary cross entropy needs probabilities, as of a sigmoid, or from_logits=True without an activation",
        lambda output: output.loss in YES_NO and not output.from_logits and output.activation in NO_PROBABILITIES,
    ),
    Pairing(
        "cross entropy with from_logits=True needs numbers of any size, and the activation cuts them",
        lambda output: output.loss in CLASSES | YES_NO and output.from_logits and output.activation in ("relu", "tanh"),
    ),
    Pairing(
        "the loss needs targets of 1 and -1, and many are 0",
        lambda output: output.loss in MARGINS and output.share_of_targets(lambda values: values == 0) > MOST_ZEROS,
    ),
    Pairing(
        f"each target is {BROADCAST} to several answers, as of a recurrent layer that returns its whole sequence",
        lambda output: output.loss in DIFFERENCES | YES_NO and output.spreads_targets,
    ),
    Pairing(
        "the activation cannot reach many of the targets",
        lambda output: output.loss in DIFFERENCES and output.is_out_of_reach,
    ),
    Pairing(
        "the answers of a softmax add up to 1, and the targets do not",
        lambda output: output.loss in DIFFERENCES and output.activation == "softmax" and output.has_no_shares,
    ),
    Pairing(
        "binary cross entropy takes each unit for a question of its own, and a softmax makes them compete",
        lambda output: output.loss in YES_NO and output.activation == "softmax" and (output.units or 0) > 2,
    ),
    Pairing(
        "the targets are classes, one-hot, and the loss and the plain output are of quantities",
        lambda output: output.loss in DIFFERENCES and output.activation == "linear" and output.has_one_hot_targets,
    ),
    Pairing(
        "samples have several classes, and a softmax makes only one probable; use sigmoid and binary cross entropy",
        lambda output: output.loss in CLASSES and output.has_several_classes,
    ),
    Pairing(
        "cross entropy of classes needs targets that add up to 1 for each sample, and many do not",
        lambda output: output.takes_shares and output.has_no_shares,
    ),
    Pairing(
        "cross entropy needs units that compete, as in a softmax, and a sigmoid answers for each unit alone",
        lambda output: output.loss in CLASSES and not output.from_logits and output.activation in SIGMOIDS,
    ),
    Pairing(
        DROPPED_ANSWERS,
        lambda output: output.drops,
    ),
)
"""Pairings that do not fit, the most certain first."""


def problem_of_own_loss(program: ProgramRecord) -> str:
    """Return the problem of a loss that the script computes itself; empty if there is none, or it has no such loss."""
    for loss in program.losses:
        if loss.spread_shape:
            text = str(loss.spread_shape).replace("-1", "N")
            return f"targets are {BROADCAST}, so the loss averages numbers of shape {text}"
        if loss.pooled_shape:
            of_each = f"targets of each, of shape {loss.pooled_shape}"
            return f"answers are {POOLED} before the loss compares them with {of_each}"
    return ""


def problem_of_pairing(output: Output) -> str:
    """Return the text of the pairing that an output has; empty if it has none."""
    return next((pairing.text for pairing in PAIRINGS if pairing.holds(output)), "")


def output_of(program: ProgramRecord, name: str, targets: Array, answers: Array | None = None) -> Output | None:
    """Return the output that a loss gets, from the record of a program; None if the record lacks part of it.

    Args:
        program: The record.
        name: Name of the loss.
        targets: Its targets at the first batch.
        answers: Its predictions at the first batch.
    """
    loss = program.loss(name)
    if loss is None or not loss.type or targets.dtype.kind not in "biuf":
        return None
    activation, inner = last_activations(loss)
    return Output(
        loss=KERAS_NAMES.get(loss.type, loss.type),
        from_logits=loss.type in ALWAYS_LOGITS or loss.arguments.get("from_logits") is True,
        activation=activation,
        inner=inner,
        units=loss.tail[0].units if loss.tail else None,
        drops=_drops_at_output(loss.tail, of_operations=program.framework == "PyTorch"),
        targets=targets,
        answers=answers,
        ignored=loss.arguments.get("ignore_class"),
    )


def last_activations(loss: LossRecord) -> tuple[str | None, str | None]:
    """Return the name of the activation that makes the predictions, and of the one before; None for what is missing.

    Layers that only reshape or drop have no activation. Without an activation, the last one is that of the last layer.
    """
    found: list[str] = []
    for layer in loss.tail:
        if layer.activation is not None and not (layer.type == "Activation" and layer.activation == "linear"):
            found.append(layer.activation)
            if len(found) > 1 or layer.activation == "linear":
                break
        elif not _is_passive(layer):
            break
    if not found and loss.tail and all(map(_is_passive, loss.tail)) and loss.tail[-1].activation == "linear":
        found.append("linear")
    inner = found[1] if len(found) > 1 and found[1] != "linear" else None
    return (found[0] if found else None), inner


def _is_passive(layer: LayerRecord) -> bool:
    return layer.type in ("Dropout", "Flatten", "Reshape", "Permute", "Identity") or (
        layer.type == "Activation" and layer.activation == "linear"
    )


def _drops_at_output(tail: tuple[LayerRecord, ...], *, of_operations: bool) -> bool:
    """Return whether dropout lies between the last layer with weights and the output, or the activation after it.

    Args:
        tail: The layers.
        of_operations: Whether they are the operations that took place, so that dropout at the very end is used, too.
    """
    types = [layer.type for layer in tail]
    first = 0 if of_operations else 1
    if "Dropout" not in types[first:-1]:
        return False
    position = types.index("Dropout", first)
    is_squashed = of_operations or any(layer.activation in PROBABILITIES for layer in tail[:position])
    return is_squashed and all(layer.activation in (None, "linear") for layer in tail[position:])
