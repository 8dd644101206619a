"""Updates of models with attention, of which NoSkill tells whether they were too large."""

from __future__ import annotations

import math
import statistics
from typing import Final

from sagemaker_debug_ext.rules.inference.updates import latest_update
from sagemaker_debug_ext.rules.reading.selection import Selection
from sagemaker_debug_ext.rules.reading.step_view import StepView, train_or_all
from sagemaker_debug_ext.vocabulary import CollectionKeys

WEIGHTS: Final = Selection(collections=(CollectionKeys.WEIGHTS,))
ATTENTIONS: Final = frozenset({"MultiHeadAttention", "MultiheadAttention", "GroupedQueryAttention"})
"""Types of layers by the program record."""
LARGE: Final = 0.04
"""Change of the median weight in a step, relative to its norm, that models with attention seldom bear."""
FAST: Final = 3e-3
"""Root mean square of such a change. In its first step, Adam changes each number by the learning rate."""


class AttentionUpdates:
    """Observes how much the weights of a model with attention change in a step.

    After updates that other layers bear, attention may attend to a few places, or to all alike, for the rest of the
    training. Optimizers such as Adam make their largest updates first.
    """

    def __init__(self) -> None:
        self._largest = 0.0

    def observe(self, view: StepView) -> None:
        """Observe a training step."""
        if not any(layer.type in ATTENTIONS for layer in view.program.layers):
            return
        names = [name for name in view.selected(WEIGHTS) if (value := view.value(name)) is not None and value.ndim > 1]
        sizes, lengths = [], []
        for name in names:
            update, value = view.once(latest_update, name, train_or_all(view)), view.value(name)
            if update is not None and value is not None and update.norm > 0:
                sizes.append(update.ratio / update.num_steps)
                lengths.append(sizes[-1] * update.norm / math.sqrt(value.size))
        if sizes and statistics.median(lengths) > FAST:
            self._largest = max(self._largest, statistics.median(sizes))

    def were_large(self) -> bool:
        """Return whether an update has changed the median weight by more than 4 % of its norm, and by much."""
        return self._largest > LARGE
