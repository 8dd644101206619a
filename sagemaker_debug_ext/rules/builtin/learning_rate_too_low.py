"""LearningRateTooLow: steps hardly change any weight."""

from __future__ import annotations

from sagemaker_debug_ext.rules.builtin.learning_rate import UpdateSizeRule


class LearningRateTooLow(UpdateSizeRule):
    """Steps hardly change any weight: the learning rate is too low.

    Looks at the collection ``weights``, at TRAIN steps; as long as the trial has none, at all steps. The change of a
    weight since it was saved before, relative to its norm and divided by the steps between, is its update; the rule
    fires if the median of the latest `window` updates is below `threshold` for every weight that changes at all.
    Weights that do not change are the business of FrozenParameters.

    Parameters:
        threshold: Least part of its norm that a step must usually change some weight by; 1e-5 when not given.
        window: How many updates are looked at; 10 when not given.

    Source:
        Updates of about a thousandth of the weights are a rule of thumb of the Stanford course CS231n, notes on
        learning; this is a hundredth of that.

    Example:
        >>> rule = create_rule("LearningRateTooLow", trial, {"threshold": "1e-6"})
        >>> invoke_rule(rule)
    """

    spec_name = "LearningRateTooLow"
    advice = "Raise the learning rate by a factor of 10 or more, or check the schedule that lowers it."
    is_too_large = False

    def out_of_bounds(self, usual: dict[str, float]) -> list[str]:
        """Return all weights, the slowest first, if even the fastest is too slow."""
        if max(usual.values()) >= self.parameters["threshold"]:
            return []
        return sorted(usual, key=lambda name: (usual[name], name))
