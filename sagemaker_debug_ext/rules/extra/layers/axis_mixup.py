"""AxisMixup: a reshape, a layer or a loss takes one axis of a tensor for another."""

from __future__ import annotations

import collections
import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from sagemaker_debug_ext.rules.extra.layers._attention_heads import find_head_mixup, may_attend
from sagemaker_debug_ext.rules.inference.activations import outputs_of_softmax
from sagemaker_debug_ext.rules.inference.first_steps import FirstStepsRule
from sagemaker_debug_ext.rules.inference.losses import LossObservation, observed_losses
from sagemaker_debug_ext.rules.inference.pairings import adds_up_over_samples
from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import Role, naming_scheme_of
from sagemaker_debug_ext.store.format.program import LossRecord, SoftmaxRecord

MADE: Final = Selection(roles=(Role.MODEL_INPUT, Role.LAYER_OUTPUT))
"""Tensors that are reshaped on the way to the next layer or the loss."""
TAKEN: Final = Selection(roles=(Role.LAYER_INPUT,))
ANSWERS: Final = Selection(roles=(Role.PREDICTION,))
RECURRENT: Final = frozenset({"LSTM", "GRU", "RNN"})
"""Classes of the layers whose inputs are series."""
FEWEST_PLACES: Final = 8
"""Fewest samples, and steps of time, of a series to look at."""
FEWEST_SCALED: Final = 32
"""Fewest different numbers that are compared apart from a scale and an offset, which fit any two numbers."""
NUM_COMPARED: Final = 64
"""Number of places that are compared before all are."""
ROUNDING: Final = 1e-3
"""Largest error of scaled numbers, as a fraction of their standard deviation."""
MOST_ATTENTIONS: Final = 4
"""Attentions to look at, because those of a model are alike."""
MOST_PROJECTIONS: Final = 6
"""Linear layers of an attention."""
ROUGH: Final = 0.8
"""Roughness of neighbours that have nothing to do with each other; that of independent values is 1."""
SMOOTH: Final = 0.5
"""Roughness of neighbours in a series."""
BETWEEN_ANY: Final = 2 / math.sqrt(math.pi)
"""Mean difference of two independent values, in units of their standard deviation, if they are normally distributed."""
MIXED: Final = "Numbers of different samples or places are mixed: "


def is_transposed_by_reshape(made: Array, taken: Array) -> bool:
    """Return whether two tensors have the same axes in another order, but their numbers in the same order.

    The places of pictures may be along several axes in the first, and along one in the second.
    """
    shapes = _shapes(made.shape, taken.ndim)
    if not any(sorted(shape) == sorted(taken.shape) for shape in shapes):
        return False
    if any(_long_axes(shape) == _long_axes(taken.shape) for shape in shapes):
        return False
    return _has_same_numbers(made, taken)


def is_flattened_across_samples(made: Array, rows: Array) -> bool:
    """Return whether what has the samples along its second axis was flattened to rows, without moving that axis first.

    So does a view of the last states of a recurrent layer, of shape (layers and directions, samples, units).
    """
    if made.ndim != 3 or rows.ndim != 2 or made.size != rows.size or made.shape[0] == 1:
        return False
    return made.shape[0] != made.shape[1] == len(rows) > 1 and _has_same_numbers(made, rows)


def is_split_along_places(made: Array, taken: Array) -> bool:
    """Return whether what has its channels along axis 1 was viewed as if another axis were there.

    So does a view of pictures of shape (N, C, H, W) as (N, H, C·W): its rows hold numbers of one channel, for several
    places, instead of those of all channels for one.
    """
    if made.ndim != 4 or taken.ndim != 3 or made.size != taken.size or len(made) != len(taken):
        return False
    channels, *places = made.shape[1:]
    is_place = taken.shape[1] in places and taken.shape[1] != channels
    return is_place and min(made.shape[1:]) > 1 and _has_same_numbers(made, taken)


def is_flattened_across_classes(made: Array, rows: Array) -> bool:
    """Return whether scores of shape (N, classes, …) were flattened to rows of classes without moving that axis."""
    if rows.ndim != 2 or made.ndim < 3 or made.size != rows.size or _long_axes(made.shape) == _long_axes(rows.shape):
        return False
    num_classes = rows.shape[1]
    return 1 < num_classes == made.shape[1] != made.shape[-1] and _has_same_numbers(made, rows)


def is_reshaped_series(taken: Array, axis: int) -> bool:
    """Return whether samples of a series have been reshaped to other axes: restored, they change slowly along time.

    Along the axis that is taken for time they then jump from one sample to another.

    Args:
        taken: What a recurrent layer takes, of three axes, of which the last one holds the features.
        axis: The axis that the layer takes for the samples.
    """
    first, second, features = taken.shape
    if min(first, second) < FEWEST_PLACES or first == second:
        return False
    values = to_float64(taken)
    restored = values.reshape(second, first, features)
    return _roughness(values, 1 - axis) > ROUGH and _roughness(restored, axis) < SMOOTH


def _roughness(values: Array, axis: int) -> float:
    """Return the mean difference of neighbours along an axis, in units of that of any two values; NaN if all agree."""
    spread = float(np.sqrt(np.mean(np.var(values, axis=(0, 1))))) * BETWEEN_ANY
    return float(np.mean(np.abs(np.diff(values, axis=axis)))) / spread if spread > 0 else math.nan


def _shapes(shape: tuple[int, ...], ndim: int) -> list[tuple[int, ...]]:
    """Return a shape, or those with all axes after the second in one and with all between first and last in one."""
    if ndim != 3 or len(shape) <= ndim:
        return [shape]
    first, second, last = shape[0], shape[1], shape[-1]
    return [(first, second, math.prod(shape[2:])), (first, math.prod(shape[1:-1]), last)]


def _long_axes(shape: tuple[int, ...]) -> list[int]:
    return [length for length in shape if length > 1]


def _has_same_numbers(one: Array, other: Array) -> bool:
    """Return whether two tensors have the same numbers in the same order, apart from one scale and offset for all."""
    first, second = one.reshape(-1), other.reshape(-1)
    if not np.any(first != first[0]):
        return False
    return np.array_equal(first, second) or (first.dtype.kind == second.dtype.kind == "f" and _is_scaled(first, second))


def _is_scaled(first: Array, second: Array) -> bool:
    """Return whether numbers are others times a number and plus another.

    Few different numbers, and ramps, are always others that were scaled.
    """
    some = np.linspace(0, len(first) - 1, NUM_COMPARED).astype(np.intp)  # most pairs differ at any place
    if not _fits_line(first[some], second[some]):
        return False
    steps = np.diff(first[:NUM_COMPARED].astype(np.float64))
    is_ramp = bool(np.ptp(steps) <= ROUNDING * np.abs(steps).max())
    return not is_ramp and len(np.unique(first)) >= FEWEST_SCALED and _fits_line(first, second)


def _fits_line(first: Array, second: Array) -> bool:
    """Return whether the second numbers are a linear function of the first, up to a small part of their spread."""
    numbers, scaled = to_float64(first), to_float64(second)
    if not (np.isfinite(numbers).all() and np.isfinite(scaled).all()):
        return False
    numbers, scaled = numbers - numbers.mean(), scaled - scaled.mean()
    power, spread = float(numbers @ numbers), float(scaled.std())
    if not (power > 0 and spread > 0):
        return False
    return bool(np.abs(scaled - (numbers @ scaled / power) * numbers).max() <= ROUNDING * spread)


class AxisMixup(FirstStepsRule):
    """A reshape, a layer or a loss takes one axis for another, so that numbers of different samples or places mix.

    Checks TRAIN steps (or steps without a mode), and decides after `patience` of them. The rule fires if

    - the input of a layer has the axes of another layer's output, or of the model's input, in another order, but the
      same numbers in the same order: it was reshaped, not transposed. The numbers may have been scaled and shifted
      as a whole. The places of pictures may have become one axis;
    - the input of a layer is what another has put out for samples along the second axis, as the last states of a
      recurrent layer, flattened to rows of samples without that axis being moved to the front;
    - the input of a recurrent or attention layer is what another has put out with its channels along the second axis,
      viewed as if one of the axes of places were there;
    - a softmax layer within the model, by the program record, has as many rows as there are targets, and what it puts
      out adds up to 1 over these instead of over the units;
    - a softmax before the predictions is over an axis as long as the targets, where no other axis is that long, or a
      multiple of it, or all of them are over axes of length 1, so that they make 1 of everything. Hooks for PyTorch
      record softmaxes;
    - before the predictions, axes are exchanged by a reshape, as from (samples, times, features) to (samples, features,
      times), unless splitting and joining neighbours would give the same shape. Hooks for PyTorch record such reshapes,
      also those that join some axes, but none of padded numbers or before a part is cut off, which shift rows against
      each other;
    - the input of a linear layer is, by its numbers, what an attention makes of the output of another linear layer of
      the same module, with heads that are split or joined by a reshape without a transpose. That shows as long as the
      weights of the attention are nearly uniform, as they usually are at first;
    - scores of shape (N, classes, …) reach the loss as rows of classes without that axis being moved to the end;
    - a recurrent or attention layer takes another axis for the samples than the one that is as long as the targets, as
      an `nn.LSTM` without ``batch_first=True`` does with inputs of shape (samples, time, features). If samples have a
      series of targets each, the first axis must be as long as the batches of the loader. Hooks for PyTorch record
      which axis a layer takes, and the size of batches;
    - a recurrent layer takes a series that jumps along its axis of time, and would change slowly if its first two axes
      were exchanged by another reshape: windows of shape (samples, time) were reshaped to (time, samples).

    Axes of length 1 do not count. Where two axes are equally long, the rule cannot see that one was taken for the
    other.

    Parameters:
        patience: Number of steps at which it must hold; 2 when not given.

    Source:
        Own.

    Example:
        >>> rule = create_rule("AxisMixup", trial)
        >>> invoke_rule(rule)
    """

    spec_name = "AxisMixup"
    advice = (
        "Move axes with transpose, permute or movedim, because reshape and view keep numbers in their order. "
        "Recurrent and attention layers of PyTorch need batch_first=True if the samples are along the first axis."
    )
    selection = MADE.united_with(TAKEN).united_with(ANSWERS)

    def needs(self) -> tuple[TensorRequirement, ...]:
        return TensorRequirement("inputs of layers", TAKEN), TensorRequirement("outputs of layers", MADE)

    def problems(self, view: StepView) -> Mapping[str, str] | None:
        """Return the tensors whose axes are taken for others."""
        taken = _values(view, TAKEN)
        return dict(_mixups(view, taken)) if taken else None


def _values(view: StepView, selection: Selection) -> dict[str, Array]:
    """Return the selected tensors that are numbers along several axes."""
    values = {name: view.value(name) for name in view.selected(selection)}
    return {
        name: value
        for name, value in values.items()
        if value is not None and value.ndim > 1 and value.size and value.dtype.kind in "biufV"
    }


def _mixups(view: StepView, taken: Mapping[str, Array]) -> Iterator[tuple[str, str]]:
    """Yield the names of tensors whose axes are taken for others, each with a sentence about it."""
    yield from _batches_along_another_axis(view, taken)
    yield from _reshaped_series(view, taken)
    yield from _softmaxes_over_samples(view)
    yield from _softmaxes_over_other_axes(view)
    made, answers = _values(view, MADE), _values(view, ANSWERS)
    yield from _mixed_heads(view, made, taken)
    sequences = {f"{layer.name}_input_0" for layer in view.program.layers if layer.batch_axis is not None}
    by_size = collections.defaultdict[int, list[str]](list)
    for name, value in made.items():
        by_size[value.size].append(name)
    for name, value in taken.items():
        sources = by_size[value.size]
        if name in answers:
            source = next((other for other in sources if is_flattened_across_classes(made[other], value)), None)
            way = "flattened to rows of classes, which are along another axis"
        else:
            source = next((other for other in sources if is_transposed_by_reshape(made[other], value)), None)
            way = "reshaped, which does not transpose it"
            if source is None:
                source = next((other for other in sources if is_flattened_across_samples(made[other], value)), None)
                way = "flattened to rows of samples, which are along its second axis"
            if source is None and name in sequences:
                source = next((other for other in sources if is_split_along_places(made[other], value)), None)
                way = "viewed as if its channels, which are along the second axis, were along the last one"
        if source is not None:
            yield name, f"{MIXED}{name!r} of shape {value.shape} is {source!r} of shape {made[source].shape}, {way}."
    yield from _mixing_reshapes(view)


def _mixing_reshapes(view: StepView) -> Iterator[tuple[str, str]]:
    """Yield the predictions, or losses, before which a reshape takes axes for others."""
    for record in view.program.losses:
        names = (f"{record.name}_input_0", f"{record.name}_output_0")
        name = next((name for name in names if name in view.tensor_names), None)
        if name is not None and record.reshapes:
            reshape = record.reshapes[0]
            yield name, f"{MIXED}before {name!r}, {reshape.before} is reshaped to {reshape.after}, not transposed."


def _batches_along_another_axis(view: StepView, taken: Mapping[str, Array]) -> Iterator[tuple[str, str]]:
    """Yield the inputs of layers that take another axis for the samples than the one as long as targets or batches."""
    axes = {f"{layer.name}_input_0": layer.batch_axis for layer in view.program.layers}
    losses = observed_losses(view)
    found = {len(loss.targets) for loss in losses if _is_of_samples(loss)}
    found = found or {len(loss.targets) for loss in losses} & {view.program.batch_size}
    for name, value in taken.items():
        axis = axes.get(name)
        if axis is None or value.ndim != 3 or len(found) != 1:
            continue
        length, (num_samples,) = value.shape[axis], found
        if length > 1 and length != num_samples == value.shape[1 - axis]:
            way = f"its layer takes axis {axis}, of length {length}, for the {num_samples} samples"
            yield name, f"{MIXED}{name!r} has shape {value.shape}, and {way}."


def _softmaxes_over_samples(view: StepView) -> Iterator[tuple[str, str]]:
    """Yield the outputs of softmax layers that add up to 1 over the samples instead of the units."""
    losses = [loss for loss in observed_losses(view) if _is_of_samples(loss)]
    for name in view.of_names(outputs_of_softmax) if losses else ():
        value = view.value(name)
        if value is None or any(value.shape == loss.scores.shape or len(value) != len(loss.targets) for loss in losses):
            continue
        if adds_up_over_samples(value):
            yield name, f"{MIXED}the softmax that makes {name!r} of shape {value.shape} is over the samples, axis 0."


def _softmaxes_over_other_axes(view: StepView) -> Iterator[tuple[str, str]]:
    """Yield the predictions before which softmaxes are over the samples, or over a single number each."""
    loss_of = naming_scheme_of(view.trial).loss_of
    for loss in observed_losses(view) if any(record.softmaxes for record in view.program.losses) else ():
        record, name = view.program.loss(loss_of(loss.answers_name)), loss.answers_name
        # a softmax that makes the predictions is a matter of the loss
        found = record.softmaxes if record is not None and not _ends_with_softmax(record) else ()
        if found and all(softmax.shape[softmax.axis] == 1 < math.prod(softmax.shape) for softmax in found):
            place = f"axis {found[0].axis} of shape {found[0].shape}, which has a single number in each place"
            yield name, f"A softmax before {name!r} makes 1 of everything: it is over {place}."
        elif _is_of_samples(loss):
            over = next((softmax for softmax in found if _is_over_samples(softmax, len(loss.targets))), None)
            if over is not None:
                place = f"axis {over.axis} of shape {over.shape}"
                yield name, f"{MIXED}a softmax before {name!r} is over the samples, {place}."


def _ends_with_softmax(record: LossRecord) -> bool:
    return any(layer.activation == "softmax" for layer in record.tail)


def _is_over_samples(softmax: SoftmaxRecord, num_samples: int) -> bool:
    """Return whether samples compete: along an axis as long as they are many, where no other one can hold them.

    Another one holds them where each competes with all others, as in a loss that compares pairs, or where they share an
    axis with heads or places.
    """
    others = list(softmax.shape)
    length = others.pop(softmax.axis)
    return length == num_samples > 1 and all(other % num_samples for other in others) and math.prod(others) > 1


def _reshaped_series(view: StepView, taken: Mapping[str, Array]) -> Iterator[tuple[str, str]]:
    """Yield the inputs of recurrent layers that are series of other shape, reshaped."""
    for layer in view.program.layers:
        name = f"{layer.name}_input_0"
        value = taken.get(name)
        if layer.type not in RECURRENT or layer.batch_axis is None:
            continue  # as attention, whose inputs depend on the place, too, which all samples share
        if value is None or value.ndim != 3 or value.dtype.kind not in "fV":
            continue
        if is_reshaped_series(value, layer.batch_axis):
            way = f"holds series of shape {(value.shape[1], value.shape[0], value.shape[2])}, reshaped, not transposed"
            yield name, f"{MIXED}{name!r} of shape {value.shape} {way}."


def _mixed_heads(view: StepView, made: Mapping[str, Array], taken: Mapping[str, Array]) -> Iterator[tuple[str, str]]:
    """Yield the inputs of linear layers that are results of an attention which mixes heads with places."""
    for name, sources in itertools.islice(_attentions(view, made, taken), MOST_ATTENTIONS):
        found = find_head_mixup(sources, taken[name])
        if found is not None:
            step = "split" if found.at_split else "joined"
            way = f"its {found.num_heads} heads are {step} by a reshape without a transpose"
            yield name, f"{MIXED}{name!r} is what an attention makes of {found.source!r}, and {way}."


def _attentions(
    view: StepView, made: Mapping[str, Array], taken: Mapping[str, Array]
) -> Iterator[tuple[str, dict[str, Array]]]:
    """Yield the inputs of linear layers that may be results of an attention over what others of their module make."""
    by_module = collections.defaultdict[str, list[str]](list)
    for record in view.program.layers:
        if record.type == "Linear":
            by_module[record.name.rpartition(".")[0]].append(record.name)
    for layers in by_module.values():
        for position, layer in enumerate(layers if len(layers) <= MOST_PROJECTIONS else ()):
            name, before = f"{layer}_input_0", [f"{other}_output_0" for other in layers[:position]]
            sources = {source: made[source] for source in before if source in made}
            if name in taken and any(may_attend(source, taken[name]) for source in sources.values()):
                yield name, sources


def _is_of_samples(loss: LossObservation) -> bool:
    """Return whether a loss has one target, or one vector of targets, for each sample."""
    return loss.targets.ndim == 1 or (loss.targets.ndim == 2 and loss.targets.shape == loss.scores.shape)
