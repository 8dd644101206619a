"""InputScale: inputs of the model, or targets, that are not scaled."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.extra.data._frozen_norms import NARROW, WIDE, FrozenNorms, follow_trained_layers
from sagemaker_debug_ext.rules.inference.activations import (
    is_normalised_next,
    joins_what_a_layer_gets,
    reaches_layer_unchanged,
)
from sagemaker_debug_ext.rules.inference.losses import class_labels, observed_losses
from sagemaker_debug_ext.rules.inference.training import LOSSES, DeferredMeasurements, StreakCounter, loss_values
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.numeric import Array, holds_quantities, to_float64
from sagemaker_debug_ext.rules.reading.selection import Selection, chosen_or
from sagemaker_debug_ext.rules.reading.step_view import StepView, train_or_all
from sagemaker_debug_ext.rules.reading.tensor_roles import Role, naming_scheme_of
from sagemaker_debug_ext.store.format.program import NO_PROGRAM, ProgramRecord

MATTERS: Final = 0.75
"""Fraction of the mean of targets that is ignored."""
PATIENT: Final = 25
"""Number of consecutive saved steps for which targets must be too large; some are learnt in fewer."""
SCALED_BY_MODEL: Final = Selection(patterns=[r"(^|/)rescaling[^/]*/outputs$"])
"""Inputs as a Keras model has scaled them."""
FURTHER: Final = Selection(roles=(Role.FURTHER_INPUT,))
FEWEST_SAMPLES: Final = 10
"""Number of samples from which on a batch shows where its features lie."""
FAR: Final = 5
"""Number of standard deviations from 0 beyond which features are not centred."""
LARGE: Final = 0.25
"""Fraction of the largest scale from which on it matters that features are not centred."""
VERY_FAR: Final = 50
"""Number of standard deviations from 0 beyond which it matters for pictures at any scale."""
MOST: Final = 0.5
"""Fraction of its elements in which two samples differ by more than their size if features are not far from 0."""
FAINT: Final = 2.5
"""Ratio to the smallest scale: samples of a table with smaller norms are hardly told apart, whatever a few hold."""
FEWEST_FEATURES: Final = 8
"""Number of features from which on a few large ones may hide that the others are tiny."""
ROUNDING: Final = 1e-9
"""Relative spread of numbers that are all the same, as rounding leaves it."""
PICTURES: Final = 4
"""Number of axes of a batch of pictures, whose channels come before or after the two of a picture."""
CUT: Final = "an embedding takes indices, and cuts numbers such as"
"""Beginning of the message part on fractions that an embedding gets."""
OF_OTHERS: Final = "a frozen batch normalisation gets values whose spread is"
"""Beginning of the message part on data that a pretrained model does not know."""
OF_TARGETS: Final = "these targets"
"""Message part on targets, in place of inputs."""
STANDS_FOR_MISSING: Final = "seems to mark missing targets, because all others are scaled"


def largest_scale(inputs: Array) -> float | None:
    """Return the root mean square; None for indices, and for non-finite values."""
    if not holds_quantities(inputs):
        return None
    found = float(np.sqrt(np.mean(np.square(to_float64(inputs)))))
    return found if math.isfinite(found) else None


def largest_magnitude(inputs: Array) -> float | None:
    """Return the largest absolute value; None for indices, and for non-finite values."""
    if not holds_quantities(inputs) or not inputs.size:
        return None
    found = float(np.abs(to_float64(inputs)).max())
    return found if math.isfinite(found) else None


def median_norm(inputs: Array) -> float | None:
    """Return the median of the Euclidean norms of the samples of a table that are not all zero.

    None for other inputs, and few features.
    """
    if not holds_quantities(inputs) or inputs.ndim != 2 or not len(inputs) or inputs.shape[1] < FEWEST_FEATURES:
        return None
    norms = np.linalg.norm(to_float64(inputs), axis=1)
    found = float(np.median(norms[norms != 0])) if norms.any() else math.nan
    return found if math.isfinite(found) else None


def offset_in_spreads(inputs: Array) -> float | None:
    """Return how many standard deviations features lie from 0, by their median.

    None for few samples, or equal ones, and if two of them differ by more than their size in most features, which tells
    of nearly all batches that features are not far from 0, and saves the time.
    """
    if not holds_quantities(inputs) or inputs.ndim < 2 or len(inputs) < FEWEST_SAMPLES:
        return None
    one, other = to_float64(inputs[0]), to_float64(inputs[-1])
    if np.mean(np.abs(one - other) > np.abs(one)) > MOST:
        return None
    has_channels_first = inputs.ndim == PICTURES and inputs.shape[1] < inputs.shape[-1]
    values = np.moveaxis(to_float64(inputs), 1, -1) if has_channels_first else to_float64(inputs)
    columns = values.reshape(-1, values.shape[-1])
    distances, spreads = np.abs(columns.mean(axis=0)), columns.std(axis=0)
    varies = spreads > ROUNDING * distances
    ratios = distances[varies] / spreads[varies]
    found = float(np.median(ratios)) if ratios.size else math.nan
    return found if math.isfinite(found) else None


def scale_of_targets(targets: Array) -> float | None:
    """Return the root mean square of targets minus three quarters of their mean."""
    if targets.dtype.kind not in "fV" or not targets.size:
        return None
    values = to_float64(targets)
    return largest_scale(values - MATTERS * float(values.mean()))


def placeholder(values: Array, limit: float) -> float | None:
    """Return the whole number without which all values would be within a limit, or None if there is none."""
    flat = to_float64(values).reshape(-1)
    far = float(flat[np.argmax(np.abs(flat))])
    others = flat[flat != far]
    if others.size == 0 or not far.is_integer():
        return None
    return far if float(np.sqrt(np.mean(np.square(others)))) <= limit else None


def fraction_in(inputs: Array) -> float | None:
    """Return a number that is no whole one; None if there is none."""
    if inputs.dtype.kind not in "fV":
        return None
    values = to_float64(inputs).reshape(-1)
    fractions = values[np.isfinite(values) & (values != np.trunc(values))]
    return float(fractions[0]) if fractions.size else None


def embedding_inputs(program: ProgramRecord) -> Selection:
    """Return the selection of the inputs of embeddings, by the record of a program in Keras."""
    names = [re.escape(layer.name) for layer in program.layers if layer.type == "Embedding"]
    is_keras = program.framework == "Keras"
    return Selection(patterns=[f"^({'|'.join(names)})/inputs$"] if names and is_keras else ())


def are_numbers(view: StepView, targets: str) -> bool:
    """Return whether targets are regression targets, if their name does not decide."""
    return not naming_scheme_of(view.trial).hides_kinds or class_labels(view, targets) is None


def comes_near(view: StepView, targets: str, limit: float) -> bool:
    """Return whether saved predictions differ from their targets by at most a limit."""
    for loss in observed_losses(view):
        if loss.targets_name == targets and loss.scores.shape == loss.targets.shape:
            apart = to_float64(loss.scores) - to_float64(loss.targets)
            return float(np.sqrt(np.mean(np.square(apart)))) <= limit
    return False


def is_spoilt(view: StepView) -> bool:
    """Return whether a loss is not finite, so that it says nothing of predictions."""
    return not all(map(math.isfinite, loss_values(view, LOSSES).values()))


class InputScale(TensorRule):
    """Inputs of the model are far from the scale that networks are initialised for.

    Checks floating-point inputs, and pictures of bytes, at TRAIN steps, or at all steps if the trial has no TRAIN
    steps; EvaluationMismatch is about those of evaluation. The rule fires if their root mean square is above
    `max_scale`, or their largest magnitude is below `min_scale`, at `patience` consecutive saved steps. In tables of
    eight features or more, a few numbers may be large and the usual sample tiny: the rule also fires if the median norm
    of samples that are not all zero is below 2.5 times `min_scale`. It also fires if half of the features are more than
    five standard deviations from 0 at a root mean square above a quarter of `max_scale`, or half of the channels of
    pictures more than fifty at any: such features are alike for all samples until they are centred. Inputs are skipped
    if layers were saved and none with a weight matrix takes them unchanged: the model then scales them itself, for
    example by a normalisation. Further inputs of a PyTorch model may be times or masks, and only fire if they are too
    large, and a layer with a weight matrix gets them alone or beside others. Large inputs, and those far from 0, are
    skipped as well if a batch normalisation follows each layer that gets them, and features have similar scales. The
    outputs of a Rescaling layer of Keras are checked as well, because images that are scaled already may be scaled once
    more.

    Targets of losses of differences (MSE, L1, …) must not be above `max_scale` either. Only a quarter of their mean
    counts, because a single bias learns it. Targets are skipped if predictions differ from them by at most `max_scale`,
    because the model then already knows their location, or if a loss is not finite. While the job runs, targets must be
    too large at 25 consecutive saved steps, because a fast model learns them in fewer. If the same whole number alone
    makes targets too large at all of these steps, the message states that it marks missing targets.

    Embeddings of Keras take numbers of any type. The rule fires if one gets fractions, which it cuts to indices, so
    that most scaled inputs become index 0. The program record tells which layers are embeddings.

    A model that was trained before expects inputs that are prepared as those of its training. Its frozen batch
    normalisations divide by the deviations of these, so that their outputs, without offset and scale, are spread by 1.
    The rule fires if all of them are spread by less than a quarter, or all by more than four times as much, in the
    median channel, at 25 consecutive saved steps or at the end. A normalisation that follows a layer which is trained
    does not count, nor one that was trained in the same job, but so shortly that its averages have not followed.

    Parameters:
        tensor_regex: Regular expressions searched in the names of inputs, as a list or separated by commas; then frozen
            layers are not checked. When not given: those of the whole model, as the framework names them.
        targets_regex: The same for targets. When not given: those of losses of differences.
        max_scale: Largest root mean square; 20 when not given.
        min_scale: Smallest magnitude of the largest input; 0.004 when not given, which images of 0 to 255 do not reach
            if they are divided by 255 twice.
        patience: Number of consecutive saved steps; 3 when not given.

    Source:
        Inputs that are not normalised are the first check of Schoop, Huang and Hartmann, UMLAUT, CHI 2021.

    Example:
        >>> rule = create_rule("InputScale", trial, {"max_scale": 5})
        >>> invoke_rule(rule)
    """

    spec_name = "InputScale"
    has_per_tensor_state = True
    advice = (
        "Scale each feature and each regression target to mean 0 and standard deviation 1, or images to the "
        "range from 0 to 1. Give embeddings whole numbers, and other layers what is no index."
    )

    def configure(self) -> None:
        self._targets = chosen_or(self.parameters["targets_regex"], Role.REGRESSION_TARGET)
        inputs = chosen_or(self.parameters["tensor_regex"], Role.MODEL_INPUT)
        self._norms = Selection(roles=() if self.parameters["tensor_regex"] else (Role.NORM_OUTPUT,))
        if not self.parameters["tensor_regex"]:
            inputs = inputs.united_with(SCALED_BY_MODEL).united_with(FURTHER)
        self._of_embeddings = embedding_inputs(self.base_trial.program or NO_PROGRAM)
        of_layers = self._of_embeddings.united_with(self._norms)
        self.selection = inputs.united_with(self._targets).united_with(of_layers)
        self._streaks = StreakCounter()
        self._frozen = FrozenNorms()
        self._pending = DeferredMeasurements()
        self._placeholders: dict[str, float | None] = {}

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the root mean square of an input, or its largest magnitude if that is too small."""
        if view.step_in(train_or_all(view)) is None:
            return None
        if name in view.selected(self._of_embeddings):
            return self._measure_indices(view, name)
        if name in view.selected(self._norms):
            return self._measure_spread(view, name)
        is_target = name in view.selected(self._targets)
        scale = view.statistic(name, scale_of_targets if is_target else largest_scale)
        if scale is None:
            return None
        high: float = self.parameters["max_scale"]
        is_further = not is_target and name in view.selected(FURTHER)
        low: float = 0.0 if is_target or is_further else self.parameters["min_scale"]
        largest = view.statistic(name, largest_magnitude) if scale < low else None
        is_small = largest is not None and largest < low
        norm = view.statistic(name, median_norm) if scale < FAINT * low and not is_small else None
        faint = norm if norm is not None and norm < FAINT * low else None
        offset = None if is_target or is_further or scale > high else self._offset(view, name, scale)
        is_off = offset is not None and offset > (FAR if scale > LARGE * high else VERY_FAR)
        is_beyond = scale > high or is_small or faint is not None or is_off
        if is_beyond and is_target:
            is_beyond = are_numbers(view, name) and not (comes_near(view, name, high) or view.once(is_spoilt))
        elif is_beyond:
            cancels_out = not is_small and faint is None and is_normalised_next(view, name)
            reaches = joins_what_a_layer_gets if is_further else reaches_layer_unchanged
            is_beyond = reaches(view, name) and not cancels_out
        length = self._streaks.observe(name, is_beyond)
        value, limit, kind = (largest, low, "largest magnitude") if is_small else (scale, high, "root mean square")
        if faint is not None:
            value, limit, kind = faint, FAINT * low, "median norm of samples"
        text = f"the {kind} of {OF_TARGETS if is_target else 'the first'} is {value:.4g}, beyond the limit of {limit:g}"
        if is_off:
            text = f"features of the first lie {offset:.3g} standard deviations from 0, at a {kind} of {value:.4g}"
        if is_target and length:
            text += self._missing(view, name, length)
        found = Measurement(
            value, fires=length >= self.parameters["patience"], threshold=limit, severity=scale, text=text
        )
        return self._pending.settle(view, name, found, is_late=length >= PATIENT) if is_target else found

    def _offset(self, view: StepView, name: str, scale: float) -> float | None:
        """Return how far features lie from 0; None if that does not matter at their scale.

        The next samples of a series are alike, too, so that only those of pictures tell anything at a small scale.
        """
        value = view.value(name)
        matters = scale > LARGE * self.parameters["max_scale"] or (value is not None and value.ndim == PICTURES)
        return view.statistic(name, offset_in_spreads) if matters else None

    def issues_while_waiting(self) -> list[Issue]:
        """Return the issues of the last steps, if no more steps will follow."""
        return [issue for view, measurements in self._pending.take() for issue in self.issues_of(view, measurements)]

    def _measure_indices(self, view: StepView, name: str) -> Measurement:
        """Return the number of steps for which an embedding has had fractions."""
        fraction, patience = view.statistic(name, fraction_in), int(self.parameters["patience"])
        length = self._streaks.observe(name, fraction is not None)
        text = "" if fraction is None else f"{CUT} {fraction:.4g} to {int(fraction)}"
        return Measurement(length, fires=length >= patience, threshold=patience, severity=math.inf, text=text)

    def _measure_spread(self, view: StepView, name: str) -> Measurement | None:
        """Return how widely what a frozen batch normalisation gets is spread, which must show in all of them."""
        spreads, patience = self._frozen.spreads(view, view.selected(self._norms)), int(self.parameters["patience"])
        if name not in spreads:
            return None
        spread, is_narrow = spreads[name], max(spreads.values()) < NARROW
        length = self._streaks.observe(name, is_narrow or min(spreads.values()) > WIDE)
        fires = length >= patience and not follow_trained_layers(view, name)
        text = f"{OF_OTHERS} {spread:.2g} of that of what it was trained on"
        limit = NARROW if is_narrow else WIDE
        found = Measurement(spread, fires=fires, threshold=limit, severity=math.inf, text=text)
        return self._pending.settle(view, name, found, is_late=length >= PATIENT)

    def _missing(self, view: StepView, name: str, length: int) -> str:
        """Return the message part on a single number that puts targets beyond the limit for `length` steps, or ""."""
        value = view.value(name)
        found = None if value is None else placeholder(value, self.parameters["max_scale"])
        if length > 1 and found != self._placeholders.get(name):
            found = None
        self._placeholders[name] = found
        return "" if found is None else f"; {found:g} {STANDS_FOR_MISSING}"

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        if first.text.startswith(CUT):
            return f"Inputs are no indices in {describe_tensors(names)}: {first.text}."
        if first.text.startswith(OF_OTHERS):
            return f"Inputs are not prepared as a frozen layer expects in {describe_tensors(names)}: {first.text}."
        return f"Inputs are not scaled in {describe_tensors(names)}: {first.text}."
