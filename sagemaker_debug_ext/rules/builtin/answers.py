"""What goes into a loss and what comes out: `LossView`; and what the best constant answer would get."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import attrs
import numpy as np
import numpy.typing as npt

from sagemaker_debug_ext.rules.selection import Selection
from sagemaker_debug_ext.rules.step import Array, StepView, to_float64

Numbers = npt.NDArray[np.float64]

INPUTS: Final = Selection(patterns=("[Ll]oss.*_input_[01]$",))
"""Scores and targets as hooks name them, for `Need`."""

OUTPUT: Final = "_output_0"


@attrs.frozen
class LossView:
    """A loss at one step.

    Args:
        name: Name of the loss itself.
        value: The loss.
        scores: What the model answered, one row for each sample.
        targets: What it should have.
    """

    name: str
    value: float
    scores: Array
    targets: Array

    @property
    def num_classes(self) -> int | None:
        """Number of classes if scores are one for each class and targets are numbers of classes, else None."""
        of_samples = (self.scores.shape[0], *self.scores.shape[2:])
        if self.targets.dtype.kind not in "iu" or self.scores.ndim < 2 or self.targets.shape != of_samples:
            return None
        return self.scores.shape[1] if self.scores.shape[1] > 1 else None

    @property
    def is_binary(self) -> bool:
        """Tell whether there is one score for each target, and targets are 0 or 1."""
        if self.scores.shape != self.targets.shape:
            return False
        return bool(np.all((self.targets == 0) | (self.targets == 1)))

    def cross_entropy(self) -> float | None:
        """Return the mean cross entropy of scores, whatever the loss makes of them; None without classes."""
        if self.num_classes is None:
            return None
        scores = np.moveaxis(to_float64(self.scores), 1, -1)
        targets = self.targets.reshape(-1)
        rows = scores.reshape(-1, scores.shape[-1])
        known = (targets >= 0) & (targets < rows.shape[1])  # others are ignored, as padding is
        if not known.any():
            return None
        rows, targets = rows[known], targets[known]
        rows = rows - rows.max(axis=1, keepdims=True)
        logs = rows[np.arange(len(rows)), targets] - np.log(np.exp(rows).sum(axis=1))
        return float(-logs.mean())


def losses_at(view: StepView) -> Iterator[LossView]:
    """Yield the losses of a step whose two inputs were saved, and are numbers of a batch."""
    names = set(view.tensor_names)
    for name in view.tensor_names:
        stem = name.removesuffix(OUTPUT)
        if stem == name or f"{stem}_input_1" not in names or f"{stem}_input_0" not in names:
            continue
        value, scores, targets = view.scalar(name), view.value(f"{stem}_input_0"), view.value(f"{stem}_input_1")
        if value is None or scores is None or targets is None:
            continue
        if scores.ndim == 0 or scores.shape[:1] != targets.shape[:1]:
            continue
        if scores.dtype.kind in "fV" and np.isfinite(to_float64(scores)).all():
            yield LossView(name, value, scores, targets)


def entropy(shares: Numbers) -> float:
    """Return the entropy of shares that add up to 1, in nats."""
    positive = shares[shares > 0]
    return float(-(positive * np.log(positive)).sum())


def label_entropy(labels: Array) -> float:
    """Return the entropy of numbers of classes: the cross entropy of the best constant answer."""
    _, counts = np.unique(labels, return_counts=True)
    return entropy(counts / counts.sum())
