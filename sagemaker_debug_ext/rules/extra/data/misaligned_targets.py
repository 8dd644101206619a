"""MisalignedTargets: targets that are pictures are flipped or turned against their inputs."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable
from typing import Final

import attrs
import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule
from sagemaker_debug_ext.rules.inference.class_labels import MODEL_INPUTS, MODEL_OUTPUTS
from sagemaker_debug_ext.rules.inference.losses import INPUTS, LossObservation, observed_losses
from sagemaker_debug_ext.rules.inference.training import is_training
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64
from sagemaker_debug_ext.rules.reading.selection import TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView

Pictures = npt.NDArray[np.float32]
"""Pictures of shape (samples, channels, rows, columns)."""

PICTURES: Final = 4
"""Number of axes of a batch of pictures."""
SMALLEST: Final = 8
"""Number of rows and columns of the smallest pictures."""
LARGEST: Final = 64
"""Number of rows and columns up to which all are compared; of larger pictures, every so many."""
MOST_CHANNELS: Final = 8
"""Number of channels, or of classes of the targets, that are compared."""
MOST_CLASSES: Final = 32
"""Number of different whole numbers up to which they are classes."""
LEAST_FIT: Final = 0.1
"""Squared correlation from which on a target fits its input."""
TIMES_BETTER: Final = 3.0
"""Ratio of the squared correlations of a target that is flipped and as it is, for a target that is misaligned."""
LEAST_ALIGNED: Final = 0.05
"""Fraction of the samples that must be aligned, because what is never aligned may be a task of its own."""
AS_WELL: Final = 0.5
"""Smallest ratio of how well targets fit that are misaligned, once they are changed, and aligned ones."""
SAME_PASS: Final = 0.5
"""Squared correlation of the answers that a loss gets and the output of the model, if both are of the same pass."""
THAN_OTHERS: Final = 1.5
"""Ratio to which targets must fit their own inputs better than those of other samples do."""
LEFT_TO_RIGHT: Final = "flipped left to right"
UPSIDE_DOWN: Final = "flipped upside down"
HALF_TURN: Final = "turned by 180 degrees"
QUARTER_TURN: Final = "turned by 90 degrees"
DIAGONAL: Final = "mirrored along a diagonal"


def _transposed(pictures: Pictures) -> Pictures:
    found: Pictures = pictures.swapaxes(-1, -2)
    return found


WAYS: Final[tuple[tuple[str, Callable[[Pictures], Pictures]], ...]] = (
    ("as they are", lambda pictures: pictures),
    (LEFT_TO_RIGHT, lambda pictures: pictures[..., ::-1]),
    (UPSIDE_DOWN, lambda pictures: pictures[..., ::-1, :]),
    (HALF_TURN, lambda pictures: pictures[..., ::-1, ::-1]),
    (DIAGONAL, _transposed),
    (QUARTER_TURN, lambda pictures: _transposed(pictures)[..., ::-1]),
    (QUARTER_TURN, lambda pictures: _transposed(pictures)[..., ::-1, :]),
    (DIAGONAL, lambda pictures: _transposed(pictures)[..., ::-1, ::-1]),
)
"""The ways in which a picture can be laid on itself; the first four do not need it to be a square."""
NUM_WITHOUT_TURNING: Final = 4


def as_pictures(inputs: Array, targets: Array) -> tuple[Array, Array] | None:
    """Return inputs and targets of shape (samples, channels, rows, columns), thinned out alike; None if they have none.

    Channels may be the second or the last axis of both, and targets may have no axis for them.
    """
    if inputs.ndim != PICTURES or targets.ndim not in {PICTURES - 1, PICTURES} or len(inputs) != len(targets):
        return None
    for axis in (-1, 1):
        pictures = np.moveaxis(inputs, axis, 1)
        rows, columns = pictures.shape[2:]
        others = (
            [targets[:, None]] if targets.ndim < PICTURES else [np.moveaxis(targets, place, 1) for place in (-1, 1)]
        )
        fitting = next((other for other in others if other.shape[2:] == (rows, columns)), None)
        has_room = min(rows, columns) >= SMALLEST
        if fitting is not None and has_room and max(pictures.shape[1], fitting.shape[1]) <= MOST_CHANNELS:
            thin = slice(None, None, -(-max(rows, columns) // LARGEST))
            return pictures[..., thin, thin], fitting[..., thin, thin]
    return None


def fit_in_each_way(inputs: Pictures, targets: Pictures) -> npt.NDArray[np.float64]:
    """Return how well each target fits its input in each way, of shape (ways, samples).

    That is the squared correlation of the two channels that fit best.
    """
    inputs, targets = _normalised(inputs), _normalised(targets)
    is_square = inputs.shape[-1] == inputs.shape[-2]
    ways = WAYS if is_square else WAYS[:NUM_WITHOUT_TURNING]
    fits = [np.einsum("nchw,nkhw->nck", inputs, way(targets)) for _, way in ways]
    return np.stack([np.square(fit, dtype=np.float64).max(axis=(1, 2)) for fit in fits])


def _normalised(pictures: Pictures) -> Pictures:
    """Return pictures of which each channel has mean 0 and norm 1, or is 0."""
    apart = pictures - pictures.mean(axis=(-1, -2), keepdims=True)
    norms = np.linalg.norm(apart.astype(np.float64), axis=(-1, -2), keepdims=True)  # squares of tiny numbers are 0
    found: Pictures = np.divide(apart, norms, out=np.zeros(apart.shape), where=norms > 0).astype(np.float32)
    return found


def _channels_of_classes(targets: Array) -> Pictures:
    """Return targets with a channel for each of their most common classes, if they are classes."""
    classes, counts = np.unique(targets, return_counts=True)
    if targets.dtype.kind not in "iu" or targets.shape[1] > 1 or not 2 < len(classes) <= MOST_CLASSES:
        return targets.astype(np.float32)
    common = classes[np.argsort(-counts, kind="stable")[:MOST_CHANNELS]]
    found: Pictures = (targets == common[:, None, None]).astype(np.float32)
    return found


@attrs.define
class _Collected:
    """The first samples of some inputs and targets of one shape."""

    inputs: list[Array] = attrs.field(factory=list)
    targets: list[Array] = attrs.field(factory=list)
    is_decided: bool = False

    def add(self, inputs: Array, targets: Array, most: int) -> bool:
        """Add samples up to a number of them; return whether that has just been reached."""
        num_wanted = most - sum(map(len, self.inputs))
        self.inputs.append(inputs[:num_wanted].astype(np.float32))
        self.targets.append(targets[:num_wanted].copy())
        self.is_decided = len(inputs) >= num_wanted
        return self.is_decided


class MisalignedTargets(BuiltinRule):
    """Targets that are pictures, such as masks, are flipped or turned against the pictures that the model gets.

    Checks the first TRAIN steps (or steps without a mode), until `samples` samples are known. Inputs of the model and
    targets of a loss must be pictures with as many rows and columns, eight at least. The rule fires if more than
    `max_share_percent` of the targets fit their input three times as well after a flip, or a turn by a multiple of 90
    degrees, as they are, as where a picture and its mask are augmented by random changes that are not the same. How
    well they fit is the squared correlation of the two channels that fit best; it must be at least 0.1. It must also be
    1.5 times as large, by the median, as for the targets of other samples, because in pictures that have nothing to do
    with each other some flip fits best by chance. Of class indices, each of the eight most common ones counts as a
    channel. One in twenty targets must fit best as it is, and the others half as well once they are changed: a task
    whose targets all lie elsewhere, such as the fainter one of two symmetric objects, is no fault.

    Models with several pictures as inputs are skipped, and losses of other answers than the model's output, as where a
    script has the model see the mirror image as well. So are targets that hardly depend on the brightness of pictures,
    such as regions that only texture sets apart. A model that is to turn its inputs back fires: exclude the rule.

    Parameters:
        samples: Number of samples to compare; 64 when not given.
        max_share_percent: Largest percentage of them that may fit better in another way; 20 when not given.

    Source:
        Own.

    Example:
        >>> rule = create_rule("MisalignedTargets", trial)
        >>> invoke_rule(rule)
    """

    spec_name = "MisalignedTargets"
    begins_anew = True
    advice = (
        "Apply the same random flips, turns and crops to a picture and its target, as with one generator for both or "
        "the same seed, and check that both are loaded with rows and columns in the same order."
    )
    selection = MODEL_INPUTS.united_with(INPUTS).united_with(MODEL_OUTPUTS)

    def configure(self) -> None:
        self._collected: dict[tuple[str, str, tuple[int, ...]], _Collected] = {}

    def needs(self) -> tuple[TensorRequirement, ...]:
        return (
            TensorRequirement("inputs of the model", MODEL_INPUTS),
            TensorRequirement("outputs of the model", MODEL_OUTPUTS),
            TensorRequirement("inputs of losses", INPUTS),
        )

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue at the step at which enough samples are known, if targets are misaligned."""
        if not is_training(view):
            return None
        values = {name: view.value(name) for name in view.selected(MODEL_INPUTS)}
        inputs = {name: value for name, value in values.items() if value is not None and value.ndim == PICTURES}
        if len(inputs) != 1:
            return None
        ((inputs_name, pictures),) = inputs.items()
        was_evaluated = False
        for loss in observed_losses(view):
            found = as_pictures(pictures, loss.targets)
            if found is None:
                continue
            was_evaluated = True
            key = (inputs_name, loss.targets_name, found[0].shape[1:])
            collected = self._collected.setdefault(key, _Collected())
            if collected.is_decided or not all(np.isfinite(each).all() for each in found):
                continue
            if _is_of_same_pass(view, loss) and collected.add(*found, self.parameters["samples"]):
                issues = self._compare(view, collected, inputs_name, loss.targets_name)
                if issues:
                    return issues
        return [] if was_evaluated else None

    def _compare(self, view: StepView, collected: _Collected, inputs_name: str, targets_name: str) -> list[Issue]:
        """Return an issue if too many of the samples that were collected are misaligned, and forget the samples."""
        inputs, targets = np.concatenate(collected.inputs), _channels_of_classes(np.concatenate(collected.targets))
        collected.inputs, collected.targets = [], []
        own = fit_in_each_way(inputs, targets)
        of_others = fit_in_each_way(inputs, np.roll(targets, 1, axis=0))
        ways = own[1:].argmax(axis=0) + 1
        best = own[1:].max(axis=0)
        is_off = best >= np.maximum(LEAST_FIT, TIMES_BETTER * own[0])
        is_aligned = own[0] >= np.maximum(LEAST_FIT, best)
        share = 100 * float(np.mean(is_off))
        limit: float = self.parameters["max_share_percent"]
        if share <= limit or np.mean(is_aligned) < LEAST_ALIGNED:
            return []
        fits_as_well = np.mean(best[is_off]) >= AS_WELL * np.mean(own[0][is_aligned])
        if not fits_as_well or np.median(own.max(axis=0)) < THAN_OTHERS * np.median(of_others.max(axis=0)):
            return []
        text = (
            f"Targets are not aligned with their inputs: {share:.0f} % of {len(inputs)} pictures of {targets_name!r} "
            f"fit {inputs_name!r} better by far when they are {_most_common(WAYS[way][0] for way in ways[is_off])} "
            f"(at most {limit:g} % expected)."
        )
        return [self.found(view, text, tensors=[targets_name, inputs_name], value=share, threshold=limit)]


def _is_of_same_pass(view: StepView, loss: LossObservation) -> bool:
    """Return whether a loss gets the output of the model that was saved beside its input.

    Scripts may call a model several times in a step, of which the last call is saved.
    """
    outputs = [value for name in view.selected(MODEL_OUTPUTS) if (value := view.value(name)) is not None]
    return any(output.size == loss.scores.size and _are_alike(output, loss.scores) for output in outputs)


def _are_alike(output: Array, answers: Array) -> bool:
    """Return whether answers are an output, perhaps after a function of each number."""
    one, other = (to_float64(values).reshape(-1) for values in (output, answers))
    one, other = one - one.mean(), other - other.mean()
    sizes = float(one @ one) * float(other @ other)
    return bool(np.array_equal(one, other) or (sizes > 0 and float(one @ other) ** 2 > SAME_PASS * sizes))


def _most_common(ways: Iterable[str]) -> str:
    """Return the two most common ways, joined."""
    return " or ".join(way for way, _ in collections.Counter(ways).most_common(2))
