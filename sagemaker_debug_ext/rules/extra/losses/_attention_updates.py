"""Updates of models with attention, of which NoSkill tells whether they were too large."""

from __future__ import annotations

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
        updates = (view.once(latest_update, name, train_or_all(view)) for name in view.selected(WEIGHTS))
        sizes = [update.ratio / update.num_steps for update in updates if update is not None and update.norm > 0]
        self._largest = max(self._largest, statistics.median(sizes) if sizes else 0.0)

    def were_large(self) -> bool:
        """Return whether an update has changed the median weight by more than 4 % of its norm."""
        return self._largest > LARGE
