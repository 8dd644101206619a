"""Shared code of rules over the course of training: rolling windows, losses, and training steps."""

from __future__ import annotations

import bisect
import collections
import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import attrs
import numpy as np

from sagemaker_debug_ext.rules.inference.loss_pairs import VALIDATION_NAME
from sagemaker_debug_ext.rules.reading.numeric import Array, as_scalar, to_float64
from sagemaker_debug_ext.rules.reading.selection import Selection
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.rules.reading.tensor_roles import Role, naming_scheme_of
from sagemaker_debug_ext.vocabulary import CollectionKeys, ModeKeys

if TYPE_CHECKING:
    from sagemaker_debug_ext.rules.builtin_rule import Measurement
    from sagemaker_debug_ext.trials import Trial

RUNNING_BATCH: Final = "batch"
"""Tensor with the index of the batch in its epoch, saved beside running means of the epoch."""
LOSSES: Final = Selection(collections=(CollectionKeys.LOSSES,))
DIGITS: Final = 1e-5
"""Smallest relative difference between two sums that float32 resolves."""
FEWEST_SCALED: Final = 64
"""Smallest factor that counts as that of a gradient scaler, because a script may weigh losses by small numbers."""
_STARTED: Final = re.compile(r"loss_output_[0-9]+")
"""Names of the numbers on which scripts call ``backward``."""
_TOTAL: Final = "loss"
_GRADIENTS: Final = Selection(collections=(CollectionKeys.GRADIENTS,))
_MODEL_INPUTS: Final = Selection(roles=(Role.MODEL_INPUT,))
_FEW_ANSWERS: Final = 5
"""Number of single answers before any training that show an agent."""
LONGEST_EPOCH: Final = 10_000
"""Number of batches beyond which a float32 running mean is too imprecise to recover the loss of one batch."""


def is_training(view: StepView) -> bool:
    """Return whether a step is a training step: of mode TRAIN, or of no mode."""
    return view.mode in (ModeKeys.TRAIN, ModeKeys.GLOBAL)


def is_final(view: StepView, name: str) -> bool:
    """Return whether the job has ended, and saved a tensor at no later step of the same mode."""
    step = view.step_in(view.mode) if view.trial.loaded_all_steps else None
    saved = [] if step is None else view.trial.tensor(name).steps(mode=view.mode)
    return bool(saved) and saved[-1] == step


def learns_by_acting(view: StepView) -> bool:
    """Return whether the script asks the model for single answers before it trains it for the first time.

    So does an agent that learns from what it has done. What it is to learn changes all the time, and so does its loss.
    """
    steps = view.trial.steps()[:_FEW_ANSWERS]
    return len(steps) == _FEW_ANSWERS and all(_is_answer(view, step) for step in steps)


def _is_answer(view: StepView, step: int) -> bool:
    """Return whether the model only answers for a single sample at a step, with neither a loss nor a gradient."""
    names = view.views.names_at(step)
    if any(view.views.selected(selection, names) for selection in (LOSSES, _GRADIENTS)):
        return False
    inputs = view.views.selected(_MODEL_INPUTS, names)
    values = [view.views.value(name, step, keeps=False) for name in inputs]
    return bool(values) and all(value is not None and _is_sample(value) for value in values)


def _is_sample(value: Array) -> bool:
    """Return whether an input is one sample: a batch of one, or a vector without an axis of samples."""
    return value.shape[:1] == (1,) or (value.ndim == 1 and value.dtype.kind in "fV")


def is_sum_of_agent(view: StepView, name: str) -> bool:
    """Return whether a loss may be a sum over what an agent has done, which is larger the longer the agent lasts.

    It is a number on which the script of an agent calls ``backward``.
    """
    return _STARTED.fullmatch(name) is not None and learns_by_acting(view)


def key_of_loss(view: StepView, name: str) -> str:
    """Return the name of a loss, with the gradients that come with it where several losses share the name.

    Numbers on which a script calls ``backward`` are named alike, as those of a generator and a discriminator in turn.
    """
    return f"{name} {view.of_names(_gradients_among)}" if _STARTED.fullmatch(name) else name


def _gradients_among(trial: Trial, names: tuple[str, ...]) -> int:
    return hash(tuple(filter(naming_scheme_of(trial).is_gradient, names)))


def gradient_in(view: StepView, parameter: str) -> str | None:
    """Return the name of a parameter's gradient; None if it was not saved at the step."""
    return view.of_names(_gradient_of, parameter)


def _gradient_of(trial: Trial, names: tuple[str, ...], parameter: str) -> str | None:
    return naming_scheme_of(trial).gradient_of(parameter, names)


def parameters_beside(view: StepView, name: str) -> list[str]:
    """Return the names of the parameters of the layer that has an input or output, of those saved at the step."""
    return view.of_names(_parameters_beside, name)


def _parameters_beside(trial: Trial, names: tuple[str, ...], name: str) -> list[str]:
    return naming_scheme_of(trial).parameters_beside(name, names)


def value_before_update(view: StepView, parameter: str) -> Array | None:
    """Return the value of a parameter that the step used, before any update; None if it was not saved.

    For hooks that save parameters after the update, it is the value of the previous step. If that was not saved, it is
    the value of this step, provided that its gradient is 0.
    """
    if view.mode in (ModeKeys.EVAL, ModeKeys.PREDICT) or not naming_scheme_of(view.trial).is_updated(parameter):
        return view.value(parameter)
    if view.step:
        return view.earlier_value(parameter, view.step - 1)
    gradient = gradient_in(view, parameter)
    is_unchanged = gradient is not None and not np.any(view.value(gradient))
    return view.value(parameter) if is_unchanged else None


def loss_reduction_size(view: StepView) -> int:
    """Return the number of samples that the loss sums over, derived from the losses; 1 if it is a mean."""
    if not naming_scheme_of(view.trial).has_sample_losses:
        return 1
    values = [view.value(name) for name in view.selected(LOSSES)]
    return max((value.size for value in values if value is not None), default=1)


def loss_at(view: StepView, name: str) -> float | None:
    """Return a loss of the step; None if the tensor is no loss.

    For hooks that save a number for each sample, it is the mean of these. For hooks that save running means of the
    epoch, it is the mean of the batches since the previous saved step.
    """
    loss = as_loss(view.value(name), view.trial)
    if loss is None or not naming_scheme_of(view.trial).has_running_losses:
        return loss
    return view.once(_since_before, name, loss)


def as_loss(value: Array | None, trial: Trial) -> float | None:
    """Return a saved loss as one number; None if it is no loss.

    For hooks that save a number for each sample, it is the mean of these.
    """
    if value is None or value.dtype.kind == "c" or not naming_scheme_of(trial).has_sample_losses:
        return as_scalar(value)
    return float(to_float64(value).mean())


def loss_values(view: StepView, selection: Selection) -> Mapping[str, float]:
    """Return the selected losses of a step, by name."""
    return view.once(_loss_values, selection)


def _loss_values(view: StepView, selection: Selection) -> Mapping[str, float]:
    return {name: loss for name in view.selected(selection) if (loss := loss_at(view, name)) is not None}


def _since_before(view: StepView, name: str, mean: float) -> float:
    """Return the mean loss of the batches since the previous saved step, from the running means of the epoch.

    These are means over samples. The last batch of an epoch may have fewer of them than those before.
    """
    step = view.mode_step
    batch = view.scalar(RUNNING_BATCH) if RUNNING_BATCH in view.tensor_names else None
    if step is None or batch is None or not 0 < batch < LONGEST_EPOCH or not math.isfinite(mean):
        return mean
    before = _saved_before(view, name, step)
    global_step = None if before is None else view.trial.global_step(view.mode, before)
    if before is None or global_step is None:
        return mean
    earlier, earlier_batch = (as_scalar(view.earlier_value(counter, global_step)) for counter in (name, RUNNING_BATCH))
    if earlier is None or earlier_batch is None or step - before != batch - earlier_batch:
        return mean  # of another epoch
    size, usual_size = _batch_sizes(view, global_step)
    total, total_before = (batch * usual_size + size) * mean, (earlier_batch + 1) * usual_size * earlier
    if abs(total - total_before) < DIGITS * max(abs(total), abs(total_before)):
        return mean  # too few digits are left
    return (total - total_before) / ((batch - earlier_batch - 1) * usual_size + size)


def _batch_sizes(view: StepView, before: int) -> tuple[int, int]:
    """Return the number of samples of a step, and of an earlier one; 1 each if either is unknown."""
    for names in naming_scheme_of(view.trial).answers(view.tensor_names):
        now, earlier = view.value(names.targets), view.earlier_value(names.targets, before)
        if now is not None and earlier is not None and now.ndim and earlier.ndim and now.size and earlier.size:
            return len(now), len(earlier)
    return 1, 1


def _saved_before(view: StepView, name: str, step: int) -> int | None:
    """Return the previous step of the same mode at which a tensor was saved."""
    previous = view.trial.global_step(view.mode, step - 1) if step else None
    if previous is not None and view.earlier_value(name, previous) is not None:
        return step - 1  # as nearly always, where listing all steps at each of them would take long
    saved = view.trial.tensor(name).steps(mode=view.mode)
    position = bisect.bisect_left(saved, step)
    return saved[position - 1] if position else None


def loss_scale(view: StepView) -> float:
    """Return the factor by which a gradient scaler multiplies the loss that gradients are of; 1 without one.

    The number on which the script calls ``backward`` is saved as ``loss_output_<i>``. It is scaled if another loss of
    the step times a power of two gives the same number.
    """
    losses = loss_values(view, LOSSES)
    started = [loss for name, loss in losses.items() if _STARTED.fullmatch(name)]
    ratios = (
        number / loss for number in started for name, loss in losses.items() if loss and not _STARTED.fullmatch(name)
    )
    return next((ratio for ratio in ratios if ratio >= FEWEST_SCALED and math.log2(ratio).is_integer()), 1.0)


def is_part_of_total(view: StepView, name: str) -> bool:
    """Return whether a training loss is a part of a total that is saved beside it.

    A part may rise while the total falls: a divergence of latent variables starts at nearly 0. Keras saves the total
    ``loss`` beside parts such as ``kl_loss``. PyTorch's hook saves the number on which the script calls ``backward``,
    if no loss function returned it; where that is a loss times the factor of a gradient scaler, the loss itself counts.
    """
    if name.endswith(f"_{_TOTAL}") and _TOTAL in view.tensor_names and not VALIDATION_NAME.fullmatch(name):
        return True
    started = view.once(_started_losses)
    return bool(started) and (name in started) == (view.once(loss_scale) != 1)


def _started_losses(view: StepView) -> frozenset[str]:
    return frozenset(name for name in view.selected(LOSSES) if _STARTED.fullmatch(name))


def mean_loss(losses: Sequence[float]) -> float:
    """Return the mean of losses; NaN if it is undefined, as for infinities of both signs, or overflows."""
    try:
        return statistics.fmean(losses)
    except (OverflowError, ValueError):
        return math.nan


def loss_selection(patterns: Iterable[str] | None) -> Selection:
    """Return the selection of the patterns, or of the losses if no patterns are given."""
    return Selection(patterns=patterns) if patterns else LOSSES


class DeferredMeasurements:
    """Measurements that become issues only if the job ends, because it may still recover."""

    def __init__(self) -> None:
        self._readings: dict[tuple[str, ModeKeys], tuple[StepView, Measurement]] = {}

    def settle(self, view: StepView, name: str, reading: Measurement, *, is_late: bool) -> Measurement:
        """Return a measurement that fires if it is late or the job has ended; otherwise it is deferred.

        Args:
            view: The step.
            name: The tensor.
            reading: The measurement.
            is_late: Whether the job has had enough steps to recover.
        """
        self._readings.pop((name, view.mode), None)
        if not reading.fires or is_late or is_final(view, name):
            return reading
        self._readings[name, view.mode] = (view, reading)
        return attrs.evolve(reading, fires=False)

    def take(self) -> list[tuple[StepView, dict[str, Measurement]]]:
        """Return the deferred measurements by step, in order, once the job has ended; none before.

        Measurements are dropped if later steps of their tensor were saved but not evaluated.
        """
        ended: dict[int, tuple[StepView, dict[str, Measurement]]] = {}
        for (name, mode), (view, reading) in list(self._readings.items()):
            if is_final(view, name):
                ended.setdefault(view.step, (view, {}))[1][name] = reading
                del self._readings[name, mode]
        return [ended[step] for step in sorted(ended)]


class RollingWindow:
    """Rolling window of the last finite values of each tensor.

    Args:
        length: Maximum number of values.
    """

    def __init__(self, length: int) -> None:
        self._length = length
        self._values: dict[str, collections.deque[float]] = {}

    def of(self, name: str) -> list[float]:
        """Return the values in the window, the oldest first."""
        return list(self._values.get(name, ()))

    def is_full(self, name: str) -> bool:
        """Return whether the window is full."""
        return len(self._values.get(name, ())) == self._length

    def add(self, name: str, value: float) -> None:
        """Add a value, unless it is not finite, because one such value would spoil every mean."""
        if math.isfinite(value):
            self._values.setdefault(name, collections.deque(maxlen=self._length)).append(value)


class StreakCounter:
    """Counts consecutive observations for which a condition holds, by name."""

    def __init__(self) -> None:
        self._lengths: dict[str, int] = collections.Counter()

    def observe(self, name: str, holds: bool) -> int:
        """Count an observation, and return the length of the streak."""
        self._lengths[name] = self._lengths[name] + 1 if holds else 0
        return self._lengths[name]

    def length(self, name: str) -> int:
        """Return the length of the streak."""
        return self._lengths[name]
