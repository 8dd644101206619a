"""`Outcome`: whether a model has learnt its task, which disproves issues of rules on how training goes.

A large gradient, small initial weights or unscaled inputs are reasons why a model may fail to learn. Where it has
learnt, they were none.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from sagemaker_debug_ext.rules.inference.baselines.constant import BaselineComparison
from sagemaker_debug_ext.rules.inference.loss_course import LossCourse
from sagemaker_debug_ext.rules.inference.moving_goals import AdversarialLosses
from sagemaker_debug_ext.rules.inference.training import LOSSES, is_training, loss_values
from sagemaker_debug_ext.rules.reading.step_view import StepReader
from sagemaker_debug_ext.rules.reading.trained_models import TrainedModels
from sagemaker_debug_ext.vocabulary import ModeKeys

WINDOW: Final = 20
"""Number of latest steps that are compared with a constant."""
PATIENCE: Final = 200
"""Number of TRAIN steps that a loss gets to fall before issues count."""
MAX_PATIENCE: Final = 1000
"""Number of TRAIN steps after which issues count although a loss is falling."""
FALLEN: Final = 0.9
"""Fraction of its first level below which a loss falls."""


class Outcome:
    """How far the model of a trial has learnt its task so far.

    The measure is the gain: the percentage by which the error on the latest batches is below that of the best constant
    prediction (`BaselineComparison`). Adversarial losses, where one side wins what the other loses, say nothing, and
    neither does a loss that is no longer finite.

    Args:
        views: Reader of the trial.
    """

    def __init__(self, views: StepReader) -> None:
        self._views = views
        self._models = TrainedModels()
        self.begin()

    def begin(self) -> None:
        """Forget what was observed, because the script goes on to train another model."""
        self._trained = BaselineComparison(WINDOW)
        self._on_new_data = BaselineComparison(WINDOW)
        self._adversarial = AdversarialLosses()
        self._course = LossCourse()
        self._is_finite = True
        self._gain: float | None = None

    @property
    def num_steps(self) -> int:
        """Number of TRAIN steps that were observed of the model."""
        return self._course.num_steps

    def trains_another_model(self, step: int) -> bool:
        """Return whether a step is the first that trains another model; to be called once for each step."""
        return self._models.have_changed(self._views.at(step))

    def observe(self, step: int) -> None:
        """Observe a step."""
        self._gain = None
        with np.errstate(all="ignore"):
            view = self._views.at(step)
            if is_training(view):
                self._trained.observe(view)
                self._adversarial.observe(view)
                self._course.observe(view)
                self._is_finite = all(map(math.isfinite, loss_values(view, LOSSES).values()))
            elif view.mode is ModeKeys.EVAL:
                self._on_new_data.observe(view)

    def has_learnt(self, gain: float) -> bool:
        """Return whether the model has learnt its task; False if that is unknown.

        Args:
            gain: Smallest gain on the latest training batches, and on the latest evaluation batches if there are any.
        """
        if self._gain is None:
            self._gain = self._smallest_gain()
        return self._gain >= gain

    def _smallest_gain(self) -> float:
        """Return the smallest gain, in training or evaluation; minus infinity if it is unknown."""
        trained = [gain for name, gain in self._trained.gains().items() if not self._adversarial.has(name)]
        if not trained or not self._is_finite:
            return -math.inf
        return min(*trained, *self._on_new_data.gains().values(), math.inf)

    def may_still_learn(self, num_steps: int) -> bool:
        """Return whether issues have to wait, because the model may still learn its task.

        Args:
            num_steps: Number of TRAIN steps since the first of them.
        """
        if num_steps < PATIENCE:
            return True
        return num_steps < MAX_PATIENCE and self._course.has_fallen_from(self._course.first_levels(), FALLEN)
