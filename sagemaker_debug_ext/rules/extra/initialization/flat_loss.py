"""FlatLoss: the loss hardly depends on the weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule, describe_tensors
from sagemaker_debug_ext.rules.inference.losses import INPUTS, observed_losses
from sagemaker_debug_ext.rules.inference.recovery import ProvisionalIssues
from sagemaker_debug_ext.rules.inference.training import LOSSES, gradient_in, is_training, loss_at, loss_reduction_size
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.numeric import norm, root_mean_square
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement
from sagemaker_debug_ext.rules.reading.step_view import StepView
from sagemaker_debug_ext.vocabulary import CollectionKeys

PARAMETERS: Final = Selection(collections=(CollectionKeys.WEIGHTS, CollectionKeys.BIASES))
UNRELATED: Final = 1e-4
"""Elasticity below which gradients say nothing about the loss: they have vanished, or are scaled separately."""
LARGE: Final = 3.0
"""Root mean square of targets above which they are not scaled."""
FAR_LARGER: Final = 10
"""Ratio to that of the predictions from which on the loss is mostly the targets' own size."""
DIFFERENTIATED: Final = "loss_output_0"
"""Name of the loss that gradients belong to, where PyTorch's hook has seen the call of `backward`."""


def elasticity(view: StepView, loss: float) -> float | None:
    """Return the largest change of the loss, in percent, if each parameter changes by one percent of its norm.

    It is the sum of the products of the norms of parameters and their gradients, relative to the loss. Return None if
    no gradients were saved.
    """
    products = []
    for name in view.selected(PARAMETERS):
        gradient = gradient_in(view, name)
        size = view.statistic(name, norm)
        slope = None if gradient is None else view.statistic(gradient, norm)
        if size is not None and slope is not None:
            products.append(size * slope)
    return sum(products) / abs(loss) / loss_reduction_size(view) if products and loss else None


def _is_mostly_of_targets(view: StepView) -> bool:
    """Return whether a regression aims at numbers that are far larger than the predictions of a new model."""
    losses = [loss for loss in observed_losses(view) if loss.is_regression_loss]
    sizes = [(root_mean_square(loss.targets), root_mean_square(loss.scores)) for loss in losses]
    return any(targets > max(LARGE, FAR_LARGER * scores) for targets, scores in sizes)


class FlatLoss(TensorRule):
    """The loss of an untrained model hardly depends on the weights: the inputs of the loss are too small.

    Checks losses, parameters and gradients at the first TRAIN steps (or steps without a mode). The elasticity is the
    sum of the products of the norms of parameters and of their gradients, relative to the loss. It is the change of the
    loss, in percent, when all parameters change by one percent; a new model usually has at least 0.3. The rule fires if
    it is below `threshold` at each of the first `patience` saved steps, for example because scores are divided by a
    large number or a temperature. Values below 0.0001 are ignored, because gradients then have vanished or are scaled
    separately from the loss. If the hook saved the loss that was differentiated, others, of which that one may be a
    weighted sum, are left out. So are regressions whose targets are ten times as large as the predictions, and have a
    root mean square above 3: these are not scaled.

    Some models with small first weights begin slowly. With `patience_running`, an issue is held: it is taken back if a
    loss has fallen to half of its level since.

    Parameters:
        threshold: Smallest change of the loss, in percent, for a change of the weights by one percent; 0.03 when not
            given.
        patience: Number of first saved steps to check; 5 when not given.
        patience_running: Number of TRAIN steps, while the job runs, in which training may disprove an issue; 0, which
            waits for none, when not given.

    Source:
        Elasticity, the ratio of relative changes; scores must be able to become large: Guo and others, On Calibration
        of Modern Neural Networks, ICML 2017, on temperatures.

    Example:
        >>> rule = create_rule("FlatLoss", trial, {"patience": 10})
        >>> invoke_rule(rule)
    """

    spec_name = "FlatLoss"
    advice = (
        "Check the operations between the last layer and the loss: an unintended division or mean, a "
        "temperature that is too high, or a large constant term."
    )
    selection = LOSSES

    def configure(self) -> None:
        self._seen: dict[str, list[float]] = {}
        self._provisional = ProvisionalIssues(self.parameters["patience_running"])

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue if the loss hardly depends on the weights, once training has not disproved it."""
        return self._provisional.settle(view, super().evaluate(view))

    def issues_while_waiting(self) -> list[Issue]:
        """Return the issue that is held, if no more steps will follow."""
        return self._provisional.take(self.base_trial.loaded_all_steps)

    def needs(self) -> tuple[TensorRequirement, ...]:
        gradients = Selection(collections=(CollectionKeys.GRADIENTS,))
        return (
            TensorRequirement("losses", LOSSES),
            TensorRequirement("parameters", PARAMETERS),
            TensorRequirement("gradients", gradients),
            TensorRequirement("inputs of losses", INPUTS, is_required=False),
        )

    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the dependence of the loss on the weights."""
        patience: int = self.parameters["patience"]
        seen = self._seen.setdefault(name, [])
        if not is_training(view) or view.mode_step is None or len(seen) >= patience:
            return None
        if name != DIFFERENTIATED and DIFFERENTIATED in view.tensor_names:
            return None
        loss = loss_at(view, name)
        found = None if loss is None else elasticity(view, loss)
        if found is None or (not seen and view.mode_step > 0) or _is_mostly_of_targets(view):
            return None
        seen.append(found)
        limit: float = self.parameters["threshold"]
        fires = len(seen) == patience and all(UNRELATED < change < limit for change in seen)
        return Measurement(max(seen), fires=fires, threshold=limit, severity=-max(seen))

    def describe(self, names: Sequence[str], first: Measurement) -> str:
        return (
            f"The loss hardly depends on the weights in {describe_tensors(names)}: if all weights changed by one "
            f"percent, the first would change by at most {first.value:.2g} percent."
        )
