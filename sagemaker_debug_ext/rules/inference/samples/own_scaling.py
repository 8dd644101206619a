"""`OwnScaling`: evaluation data that were standardised by a scaler of their own."""

from __future__ import annotations

import collections
from typing import Final

import attrs
import numpy as np

from sagemaker_debug_ext.rules.inference.samples.spreads import Numbers, Spread
from sagemaker_debug_ext.rules.reading.numeric import Array
from sagemaker_debug_ext.rules.reading.samples import MAX_KEPT, sample_hashes
from sagemaker_debug_ext.vocabulary import ModeKeys

CENTRED: Final = 1e-4
"""Largest mean of a feature that was centred by its own mean, up to rounding."""
FEWEST_SCALED: Final = 3
"""Number of features that are not scaled so by chance."""
TWO_VALUES: Final = 1e-3
"""Distance of the kurtosis from 1 plus the squared skewness, up to which a feature has two values only."""
FEW_BATCHES: Final = 2
"""Number of different training batches with mean 0 and deviation 1 that show that each batch is scaled by itself."""
KNOWN: Final = 0.01
"""Fraction of evaluated samples that are of training, from which on all may be; few of training may be saved."""
MOSTLY: Final = 0.5
"""Fraction of training samples from which on they are evaluated on purpose."""
REPEATED: Final = 1.5
"""Number of times that training has used each sample, from which on its inputs are not changed at random each time."""


@attrs.define
class _Samples:
    spread: Spread = attrs.field(factory=Spread)
    hashes: set[bytes] = attrs.field(factory=set)


class OwnScaling:
    """Detects evaluation data to which a scaler of their own was fitted.

    Most features of all evaluation samples together have mean 0 and deviation 1 then, which those have not that were
    scaled by the constants of training. Nothing is known of training data, which are expected to have them: if any are
    evaluated, if training does not repeat its samples, as where they are changed at random, or if it scales each batch
    by itself.
    """

    def __init__(self) -> None:
        self._trained: dict[tuple[str, int], set[bytes]] = collections.defaultdict(set)
        self._num_trained: collections.Counter[tuple[str, int]] = collections.Counter()
        self._num_scaled_batches: collections.Counter[tuple[str, int]] = collections.Counter()
        self._evaluated: dict[tuple[tuple[str, int], ModeKeys], _Samples] = collections.defaultdict(_Samples)

    def observe(self, name: str, mode: ModeKeys, batch: Array, rows: Numbers) -> None:
        """Add a batch of inputs.

        Args:
            name: Name of the inputs.
            mode: Mode of the step.
            batch: The inputs.
            rows: The same with one row of features for each sample.
        """
        hashes = sample_hashes(batch.astype(np.float32)) if batch.ndim == 2 else None
        if hashes is None:
            return
        key = (name, rows.shape[1])
        if mode is not ModeKeys.TRAIN:
            evaluated = self._evaluated[key, mode]
            evaluated.spread.add(rows)
            if len(evaluated.hashes) < MAX_KEPT:
                evaluated.hashes.update(hashes)
            return
        trained = self._trained[key]
        if not trained.issuperset(hashes) and self._num_scaled_batches[key] < FEW_BATCHES:
            self._num_scaled_batches[key] += share_standardised(Spread.of(rows), len(rows)) > 0
        self._num_trained[key] += len(hashes)
        if len(trained) < MAX_KEPT:
            trained.update(hashes)

    def share(self, name: str, width: int, mode: ModeKeys) -> float:
        """Return the fraction of features that a scaler of their own has scaled; 0 if none has, or it is unknown."""
        key = (name, width)
        trained, evaluated = self._trained[key], self._evaluated[key, mode]
        num_known = len(trained & evaluated.hashes)
        are_new = num_known < min(KNOWN * len(evaluated.hashes), MOSTLY * len(trained))
        is_repeated = self._num_trained[key] >= REPEATED * len(trained)
        if not (are_new and is_repeated) or self._num_scaled_batches[key] >= FEW_BATCHES:
            return 0.0
        return share_standardised(evaluated.spread, len(evaluated.hashes))


def share_standardised(spread: Spread, num_samples: int) -> float:
    """Return the fraction of features that have mean 0 and deviation 1, of those with more than two values.

    0 for fewer than three of them. The deviation may be that of a sample, with one less than the number of samples.

    Args:
        spread: Mean and deviation of the features.
        num_samples: Number of different samples.
    """
    deviation = spread.deviation
    matters = (deviation > 0) & (spread.excess_over_two_values > TWO_VALUES)
    is_scaled = (np.abs(spread.mean) < CENTRED) & (np.abs(deviation - 1) < CENTRED + 1 / max(num_samples, 1)) & matters
    number = np.count_nonzero(is_scaled)
    return number / np.count_nonzero(matters) if number >= FEWEST_SCALED else 0.0
