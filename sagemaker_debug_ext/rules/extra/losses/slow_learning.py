"""SlowLearning: the loss falls at every step, but hardly at all."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.inference.loss_pairs import VALIDATION_NAME
from sagemaker_debug_ext.rules.inference.training import RollingWindow, is_training, loss_at, loss_selection
from sagemaker_debug_ext.rules.reading.step_view import StepView


class SlowLearning(TensorRule):
    """The training loss falls at every step, but so little that the learning rate must be too low.

    Checks the first `window` saved losses of TRAIN steps (or steps without a mode). The rule fires if each value was
    below the previous one, and all together fell by less than `min_fall_percent`. A loss that stands still later does
    not fire. The rule suits boosted trees, whose rate is ``eta``, and training on all data at once. Losses of single
    batches are too noisy for it.

    Parameters:
        tensor_regex: Regular expressions searched in the names of losses, as a list or separated by commas. When not
            given: the collection ``losses``.
        window: Number of values to check; 20 when not given.
        min_fall_percent: Smallest fall over all of them; 2 when not given.

    Source:
        Shrinkage in boosting: Friedman, Greedy Function Approximation, Annals of Statistics 2001, section 5.

    Example:
        >>> rule = create_rule("SlowLearning", trial, {"window": 50})
        >>> invoke_rule(rule)
    """

    spec_name = "SlowLearning"
    has_per_tensor_state = True
    advice = "Raise the learning rate (eta) by a factor of 10, or plan for many more rounds."

    def configure(self) -> None:
        self.selection = loss_selection(self.parameters["tensor_regex"])
        self._recent = RollingWindow(self.parameters["window"])
        self._evaluated: set[str] = set()

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the fall of the loss."""
        loss = loss_at(view, name) if is_training(view) and not VALIDATION_NAME.fullmatch(name) else None
        if loss is None or name in self._evaluated:
            return None
        self._recent.add(name, loss)
        if not self._recent.is_full(name):
            return None
        self._evaluated.add(name)
        values = self._recent.of(name)
        fall = 100 * (values[0] - values[-1]) / abs(values[0]) if values[0] else 0.0
        limit: float = self.parameters["min_fall_percent"]
        fires = fall < limit and all(later < earlier for earlier, later in pairwise(values))
        return Measurement(fall, fires=fires, threshold=limit, severity=-fall)

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        return (
            f"Learning is too slow in {describe_tensors(names)}: the first fell at each of "
            f"{self.parameters['window']} saved steps, but only by {first.value:.2g} % in total."
        )
