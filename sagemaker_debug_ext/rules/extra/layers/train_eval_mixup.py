"""TrainEvalMixup: dropout or batch normalisation in the wrong mode."""

from __future__ import annotations

import collections
import itertools
import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.inference.training import StreakCounter, value_before_update
from sagemaker_debug_ext.rules.reading.numeric import Array, to_float64
from sagemaker_debug_ext.rules.reading.selection import Selection, chosen_or
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import Role, naming_scheme_of
from sagemaker_debug_ext.store.format.program import NO_PROGRAM, LayerRecord, ProgramRecord
from sagemaker_debug_ext.vocabulary import ModeKeys

MIN_ELEMENTS: Final = 64
"""Number of elements below which a dropout layer may drop none by chance."""

MIN_SAMPLES: Final = 8
"""Number of values of a channel, from all samples and places, below which their mean may be the bias by chance."""
CLOSE: Final = 1e-4
ROUNDED: Final = 2.0**-8
"""Largest relative error of a number that is rounded to bfloat16."""
MORE_DIGITS: Final = np.uint32(2**13 - 1)
"""Bits of a float32 that are 0 in each number of 16 bits."""
MAX_ELEMENTS: Final = 4096
"""Number of elements of a tensor that suffices to recognize zeros by chance."""
FEWEST: Final = 0.05
NEARLY_ALL: Final = 0.8
MOST_TURNS: Final = 2.5
"""Largest total variation of a function of elements, in units of its range; a monotone function has 1."""
MANY: Final = 0.5
"""Fraction of the nonzero elements that must be distinct."""
NUM_LOOKS: Final = 4
"""Number of EVAL steps at which layers are compared with each other."""
MAX_LOOKED_AT: Final = 32
"""Number of tensors of a large model to check, because a call that ignores modes is seldom made only once."""
MAX_OTHERS: Final = 64
"""Number of tensors of the same shape that each tensor is compared with."""
MODEL_INPUTS: Final = Selection(roles=(Role.MODEL_INPUT,))
LAYERS: Final = Selection(roles=(Role.LAYER_INPUT, Role.LAYER_OUTPUT))
DUAL_LAYERS: Final = ("BatchNorm", "Dropout", "SpatialDropout", "AlphaDropout", "GaussianDropout")
"""Beginnings of the names of Keras classes whose layers do something else while they are told to train."""
UNTOLD: Final = "the model is called without training=True"
TOLD_ALWAYS: Final = "the model is called with training=True also where only the loss is computed, as in a validation"
CALLS: Final = Selection(patterns=(r"^functional\.\w+_active_[0-9]+$",))
"""Whether a call of a function drops elements."""


def drops(inputs: Array, output: Array) -> bool | None:
    """Return whether a dropout layer turns some nonzero elements into 0. None if that is unclear.

    NaN and infinity say nothing, because 0 times either is NaN.
    """
    if inputs.shape != output.shape:
        return None
    may_drop = np.isfinite(inputs) & (inputs != 0)
    if np.count_nonzero(may_drop) < MIN_ELEMENTS:
        return None
    return bool(np.any(may_drop & (output == 0)))


def drops_by_chance(given: Array, output: Array) -> bool:
    """Return whether an output is a function of single input elements, except for some that are 0 by chance.

    Elements are sorted by the input. If the zeros depend on the element itself, as in ReLU, they are adjacent. If the
    other values are not a function of the element, they jump up and down. Masks cover whole samples, positions or
    units, so nearly each row and each column must have both zeros and other values.
    """
    width = output.shape[-1] if output.ndim > 1 else 0
    rows = min(output.size, MAX_ELEMENTS) // max(width, 1)
    if output.size < MIN_ELEMENTS or rows < 1 or width < 2:
        return False
    zeros = output.reshape(-1, width)[:rows] == 0
    share = float(zeros.mean())
    mixed = min(float(np.mean(zeros.any(axis=axis) & ~zeros.all(axis=axis))) for axis in (0, 1))
    if not FEWEST < share < 1 - FEWEST or mixed < NEARLY_ALL:
        return False
    before, after, zeros = (values.reshape(-1, width)[:rows].reshape(-1) for values in (given, output, output == 0))
    low, high = before[~zeros].min(), before[~zeros].max()
    is_within = (before >= low) & (before <= high)
    order = np.argsort(before[is_within], kind="stable")
    zeros, after = zeros[is_within][order], to_float64(after[is_within][order])
    share = float(zeros.mean())
    kept = after[~zeros]
    if len(zeros) < MIN_ELEMENTS or not FEWEST < share < 1 - FEWEST or not np.isfinite(kept).all():
        return False
    has_many = len(np.unique(kept)) >= MANY * len(kept)  # because targets of 0 and 1 are a function of anything
    changes = np.count_nonzero(zeros[1:] != zeros[:-1])
    by_chance = changes > len(zeros) * share * (1 - share)  # half of the expected number
    return bool(has_many and by_chance and np.abs(np.diff(kept)).sum() <= MOST_TURNS * np.ptp(kept))


def is_centred_on(output: Array, bias: Array) -> bool | None:
    """Return whether the mean of each channel over the batch is its bias, as batch statistics make it. None if unclear.

    It is unclear where only the precision of the output, as of bfloat16 numbers, keeps a mean from the bias.

    Args:
        output: Output of a batch normalisation, axis 1 being the channels.
        bias: Its bias, one number for each channel.
    """
    if output.ndim < 2 or bias.shape != output.shape[1:2] or output.size < MIN_SAMPLES * len(bias):
        return None
    flat = np.moveaxis(to_float64(output), 1, 0).reshape(len(bias), -1)
    centre = to_float64(bias)
    scale = flat.std(axis=1)
    moving = scale > 0
    distance, scale, centre = np.abs(flat.mean(axis=1) - centre)[moving], scale[moving], np.abs(centre)[moving]
    if np.all(distance <= CLOSE * scale):
        return True if moving.any() else None
    may_be_rounding = _is_rounded(output) and np.all(distance <= CLOSE * scale + ROUNDED * (scale + centre))
    return None if may_be_rounding else False


def _is_rounded(values: Array) -> bool:
    """Return whether numbers have no more digits than those of 16 bits, whatever type they were saved as."""
    return not np.any(values.astype(np.float32).view(np.uint32) & MORE_DIGITS)


class TrainEvalMixup(TensorRule):
    """Layers behave as in training while the model is evaluated, or the other way round.

    Checks TRAIN and EVAL steps. ``sagemaker-debug run`` tells them apart by what happens: whether a pass has gradients
    and an update follows, not by the mode that the model was set to. Only in training does a dropout layer drop
    elements, and a batch normalisation centre its output on its bias by the statistics of the batch. The rule fires if
    a layer does so at `patience` consecutive saved EVAL steps, or fails to at as many TRAIN steps. The rule needs the
    inputs and outputs of dropout layers, or the outputs and biases of batch normalisations. Of calls of PyTorch's
    dropout functions, ``sagemaker-debug run`` saves whether they drop elements.

    A dropout layer can fail only after it has dropped elements, because its probability may be 0, or if the program
    record shows that it was set to evaluation when training began. A layer that was set to evaluation in a model set
    to training may fail, because it is frozen on purpose.

    Keras itself tells layers to train, but for those that a script has frozen, so that TRAIN steps are evaluated only
    for models with a ``train_step`` of their own. The rule fires if a custom loop calls a model with such layers, but
    without ``training=True``, at `patience` saved steps with a gradient tape, or with ``training=True`` also where it
    computes a loss of Keras without a tape. ``sagemaker-debug run`` records how the loop calls it.

    It also fires if a dropout call ignores the mode. Inputs and outputs of layers are compared with others of the same
    shape, at the first four EVAL steps, or at the first `patience` if that is more. The rule fires if a tensor has
    zeros by chance at `patience` of these steps: each of its elements is a function of the element of the other tensor,
    except for randomly placed zeros in nearly each sample and each unit. Model inputs are not compared with, because
    they may be masked. For a large model, up to 32 tensors are checked in this way.

    Parameters:
        dropout_regex: Regular expressions searched in the names of outputs of dropout layers. When not given: the first
            outputs of layers with ``drop`` in their names, or of that class in the program record.
        norm_regex: The same for batch normalisations; ``bn`` or ``batch_norm``, or that class, when not given.
        patience: Number of consecutive saved steps; 2 when not given.

    Source:
        A model that is evaluated in training mode is one of the faults that are checked for by Schoop, Huang and
        Hartmann, UMLAUT, CHI 2021.

    Example:
        >>> rule = create_rule("TrainEvalMixup", trial, {"dropout_regex": "regularise_output"})
        >>> invoke_rule(rule)
    """

    spec_name = "TrainEvalMixup"
    has_per_tensor_state = True
    advice = "Call model.eval() before each evaluation, and model.train() before training goes on."

    def configure(self) -> None:
        program = self.base_trial.program or NO_PROGRAM
        self._dropout = chosen_or(self.parameters["dropout_regex"], Role.DROPOUT_OUTPUT)
        norm = chosen_or(self.parameters["norm_regex"], Role.NORM_OUTPUT)
        if not self.parameters["dropout_regex"]:
            self._dropout = self._dropout.united_with(_outputs_of(program.layers, "Dropout"))
        if not self.parameters["norm_regex"]:
            norm = norm.united_with(_outputs_of(program.layers, "BatchNorm"))
        self._by_name = self._dropout.united_with(norm).united_with(CALLS)
        self._of_loops = Selection(roles=[Role.LOSS_OF_LOOP] if _told_wrongly(program) else [])
        self.selection = self._by_name.united_with(LAYERS).united_with(self._of_loops)
        self._streaks = StreakCounter()
        self._has_dropped: set[str] = set()
        self._looks: collections.Counter[str] = collections.Counter()
        self._is_set_to_train = {layer.name: layer.is_training for layer in program.layers}
        is_keras = naming_scheme_of(self.base_trial).framework == "Keras"
        self._is_told_by_keras = is_keras and not program.has_own_step
        self._is_model_set_to_train = bool(program.layers) and program.layers[0].is_training is True

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the number of steps for which a layer has been in the wrong mode."""
        if view.mode not in (ModeKeys.TRAIN, ModeKeys.EVAL):
            return None
        if name in view.selected(self._of_loops):
            return self._measure_loop(view, name)
        if name not in view.selected(self._by_name):
            return self._measure_other(view, name)
        output = view.value(name)
        trains = None if output is None else self._trains(view, name, output)
        if trains is None:
            return None
        in_training = view.mode is ModeKeys.TRAIN
        if in_training and self._may_be_frozen(name):
            return None
        patience: int = self.parameters["patience"]
        length = self._streaks.observe(f"{view.mode.name} {name}", trains is not in_training)
        text = "evaluation while the job trains" if in_training else "training while the job evaluates"
        return Measurement(length, fires=length >= patience, threshold=patience, severity=length, text=text)

    def _may_be_frozen(self, name: str) -> bool:
        """Return whether a layer that works as in evaluation while the model is trained may do so on purpose."""
        is_set_so = self._is_set_to_train.get(_layer_of(name)) is False and self._is_model_set_to_train
        return is_set_so or self._is_told_by_keras

    def _measure_loop(self, view: StepView, name: str) -> Measurement | None:
        """Return the number of steps of a custom loop that tells layers the wrong mode."""
        if view.mode is not ModeKeys.TRAIN:
            return None
        length, patience = self._streaks.observe(name, holds=True), int(self.parameters["patience"])
        text = _told_wrongly(view.program)
        return Measurement(length, fires=length >= patience, threshold=patience, severity=length, text=text)

    def _measure_other(self, view: StepView, name: str) -> Measurement | None:
        """Return the number of EVAL steps at which a tensor has had zeros by chance."""
        patience: int = self.parameters["patience"]
        if view.mode is not ModeKeys.EVAL or self._looks[name] >= max(NUM_LOOKS, patience):
            return None
        layers = view.selected(LAYERS)
        if name not in layers[:: -(-len(layers) // MAX_LOOKED_AT)]:
            return None
        self._looks[name] += 1
        output = view.value(name)
        if output is None or output.ndim < 2 or output.dtype.kind not in "fV" or not np.any(output == 0):
            return None
        given = [value for model_input in view.selected(MODEL_INPUTS) if (value := view.value(model_input)) is not None]
        values = (value for other in layers if other != name and (value := view.value(other)) is not None)
        values = (value for value in values if not any(np.array_equal(value, model_input) for model_input in given))
        alike = (value for value in values if (value.dtype, value.shape) == (output.dtype, output.shape))
        drops = any(drops_by_chance(value, output) for value in itertools.islice(alike, MAX_OTHERS))
        length = self._streaks.observe(name, drops)
        text = "training while the job evaluates: it has zeros by chance"
        return Measurement(length, fires=length >= patience, threshold=patience, severity=length, text=text)

    def _trains(self, view: StepView, name: str, output: Array) -> bool | None:
        """Return whether the layer behaves as in training."""
        if name in view.selected(CALLS):
            if np.any(output):
                self._has_dropped.add(name)
            return bool(np.any(output)) if name in self._has_dropped or view.mode is ModeKeys.EVAL else None
        if name in view.selected(self._dropout):
            inputs = view.value(naming_scheme_of(view.trial).input_of(name))
            found = None if inputs is None else drops(inputs, output)
            if found:
                self._has_dropped.add(name)
            # a layer that was never seen to drop may have the probability 0
            may_fail = name in self._has_dropped or self._is_set_to_train.get(_layer_of(name)) is False
            return found if may_fail or view.mode is ModeKeys.EVAL else None
        scheme = naming_scheme_of(view.trial)
        offset = scheme.offset_of(name, view.tensor_names)
        bias = None if offset is None else value_before_update(view, offset)
        if bias is None or output.ndim < 2:
            return None
        return is_centred_on(np.moveaxis(output, -1, 1) if scheme.has_channels_last(name) else output, bias)

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        if first.text.startswith((UNTOLD, TOLD_ALWAYS)):
            return f"Layers are in the wrong mode: {first.text}."
        return (
            f"Layers are in the wrong mode in {describe_tensors(names)}: the first has behaved as in {first.text}, "
            f"for {first.value:g} steps."
        )


def _told_wrongly(program: ProgramRecord) -> str:
    """Return how a custom loop in Keras tells the wrong mode to layers with two modes; empty if it does not."""
    layers = program.layers if program.framework == "Keras" else ()
    dual = [layer for layer in layers if layer.type.startswith(DUAL_LAYERS)]
    idle = [layer.name for layer in dual if layer.is_training is False]
    if idle:
        return f"{UNTOLD}, so {describe_tensors(idle)} work as in evaluation"
    if dual and program.validates_in_training:
        return f"{TOLD_ALWAYS}, so {describe_tensors([layer.name for layer in dual])} work as in training"
    return ""


def _outputs_of(layers: Sequence[LayerRecord], kind: str) -> Selection:
    """Return the selection of the first outputs of PyTorch layers whose class begins with a word."""
    names = [re.escape(layer.name) for layer in layers if layer.type.startswith(kind) and layer.is_training is not None]
    return Selection(patterns=[f"^({'|'.join(names)})_output_0$"] if names else ())


def _layer_of(output: str) -> str:
    """Return the name of the layer in the program record, given its output."""
    return re.sub(r"_output_\d+$", "", output)
