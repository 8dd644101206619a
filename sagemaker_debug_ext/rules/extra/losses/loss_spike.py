"""LossSpike: the loss jumps far above its recent values."""

from __future__ import annotations

import collections
import math
import statistics
from collections.abc import Sequence
from typing import Final

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.inference.losses import is_of_few
from sagemaker_debug_ext.rules.inference.training import (
    RollingWindow,
    is_part_of_total,
    is_training,
    key_of_loss,
    learns_by_acting,
    loss_at,
    loss_selection,
)
from sagemaker_debug_ext.rules.reading.step_view import StepView

MATTERS: Final = 1.5
"""Smallest ratio of a relevant spike to the first loss."""


class LossSpike(TensorRule):
    """The loss jumps far above its recent values, or is no longer finite.

    Checks the losses of TRAIN steps (or steps without a mode), but not the parts of a total, such as ``kl_loss`` beside
    ``loss``. Each value is compared with the median of the `window` values before it. A value is a spike if it meets
    three conditions. It is larger than `factor` times the median. It exceeds the median by more than `factor` times the
    mean absolute distance of those values from the median. It is at least one and a half times the first value. A loss
    of fewer than eight targets has no spikes, because it is that of its hardest sample.

    The loss of an agent jumps whenever it comes to something new, and is no spike either: an agent answers for single
    samples before it is trained at all.

    From the `patience`-th spike on, the rule fires, whether the loss jumped again or stayed high: a single hard batch
    is no fault. It also fires at values that are not finite. Where a script goes on to train another model, whose loss
    may be of another size, the rule begins anew.

    Parameters:
        tensor_regex: Regular expressions searched in the names of losses, as a list or separated by commas. When not
            given: the collection ``losses``.
        window: Number of previous values to compare with; 20 when not given.
        factor: Ratio to those values above which a value is a spike; 5 when not given.
        patience: Number of spikes at which the rule fires; 1 when not given.

    Source:
        Loss spikes in the training of large models, and their handling: Chowdhery and others, PaLM, 2022, section 5.1.

    Example:
        >>> rule = create_rule("LossSpike", trial, {"factor": 10})
        >>> invoke_rule(rule)
    """

    spec_name = "LossSpike"
    has_per_tensor_state = True
    begins_anew = True
    advice = (
        "Check the batch of that step for bad data, clip gradients, and lower the learning rate or warm it "
        "up. Restart a large model from a checkpoint before the spike, and skip the batch."
    )

    def configure(self) -> None:
        self.selection = loss_selection(self.parameters["tensor_regex"])
        self._recent = RollingWindow(self.parameters["window"])
        self._first: dict[str, float] = {}
        self._num_jumps: collections.Counter[str] = collections.Counter()

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the ratio of a loss to its usual value."""
        loss = loss_at(view, name) if is_training(view) and not is_part_of_total(view, name) else None
        if loss is None:
            return None
        key = key_of_loss(view, name)
        recent, factor = self._recent.of(key), self.parameters["factor"]
        is_full = self._recent.is_full(key)
        self._recent.add(key, loss)
        if not math.isfinite(loss):
            return Measurement(math.inf, fires=True, threshold=factor, severity=math.inf, text=f"{loss} now")
        first = self._first.setdefault(key, loss)
        if not is_full:
            return None
        usual = statistics.median(recent)
        spread = statistics.fmean(abs(value - usual) for value in recent)
        times = loss / usual if usual > 0 else 0.0
        # a loss near 0 may rise tenfold by chance, so jumps are also compared with the first loss
        jumps = times > factor and loss - usual > factor * spread and loss > MATTERS * abs(first)
        jumps = jumps and not is_of_few(view, name) and not learns_by_acting(view)
        self._num_jumps[key] += jumps
        fires = jumps and self._num_jumps[key] >= self.parameters["patience"]
        return Measurement(
            times, fires=fires, threshold=factor, severity=times, text=f"{loss:.4g} after about {usual:.4g}"
        )

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        return (
            f"The loss jumps in {describe_tensors(names)}: the first is {first.text}, over "
            f"{first.threshold:g} times as high."
        )
