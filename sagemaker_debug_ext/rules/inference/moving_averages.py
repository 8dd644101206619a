"""`MovingAverages`: how far the averages of batch normalisations, which evaluation uses, have followed training.

Each step moves them by a share of the way to the mean and variance of its batch: `LayerRecord.moving_share`. Until they
have followed, evaluation normalises by other numbers than training, and its losses say little of the model.
"""

from __future__ import annotations

from typing import Final

from sagemaker_debug_ext.rules.inference.training import is_training
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.store.format.program import NO_PROGRAM, LayerRecord, ProgramRecord

SETTLED: Final = 0.5
"""Percentage of their first values that averages may still hold where they have followed."""


class MovingAverages:
    """The averages of the layers whose averages follow most slowly and fastest, by the program record.

    Attributes:
        layer: The layer whose averages follow most slowly; None if no averages are known.
        fastest: The layer whose averages follow fastest, except those with a share of 1.
        num_steps: Number of training steps so far.
    """

    def __init__(self) -> None:
        self.layer: LayerRecord | None = None
        self.fastest: LayerRecord | None = None
        self.num_steps = 0
        self._share = 0.0
        self._first_step: int | None = None
        self._program: ProgramRecord = NO_PROGRAM

    def observe(self, view: StepView) -> None:
        """Observe a step."""
        if view.program is not self._program:  # a running job may write it after its first steps
            self._program = view.program
            averaging = [
                (layer.moving_share, layer) for layer in self._program.layers if layer.moving_share is not None
            ]
            self._share, self.layer = min(averaging, key=lambda found: found[0], default=(0.0, None))
            in_part = [found for found in averaging if found[0] < 1]
            self.fastest = max(in_part, key=lambda found: found[0], default=(0.0, None))[1]
        step = view.step_in(view.mode) if is_training(view) else None
        if step is not None:
            self._first_step = step if self._first_step is None else self._first_step
            self.num_steps = step + 1 - self._first_step

    @property
    def percent_left(self) -> float:
        """How much of the averages is where they began; 0 if no averages are known."""
        return 100 * (1 - self._share) ** self.num_steps if self.layer is not None else 0.0

    @property
    def lag(self) -> bool:
        """Whether the averages have not followed yet."""
        return self.percent_left > SETTLED
