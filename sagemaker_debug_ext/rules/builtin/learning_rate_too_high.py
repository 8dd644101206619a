"""LearningRateTooHigh: steps change weights by too much of their size."""

from __future__ import annotations

from sagemaker_debug_ext.rules.builtin.learning_rate import UpdateSizeRule


class LearningRateTooHigh(UpdateSizeRule):
    """Each step changes a weight by a large part of its norm: the learning rate is too high for that layer.

    Looks at the collection ``weights``, at TRAIN steps; as long as the trial has none, at all steps. The change of a
    weight since it was saved before, relative to its norm and divided by the steps between, is its update; the rule
    fires if the median of the latest `window` updates of any weight is above `threshold`. Weights that were 0 when they
    were first saved are not judged: they have no size yet that updates could be too large for, as offsets in a table or
    what is added to a layer that was trained before.

    Parameters:
        threshold: Largest part of its norm that a step may usually change a weight by; 0.25 when not given.
        window: How many updates are looked at; 5 when not given.

    Source:
        Updates of about a thousandth of the weights are a rule of thumb of the Stanford course CS231n, notes on
        learning; a quarter is far above what any schedule intends.

    Example:
        >>> rule = create_rule("LearningRateTooHigh", trial, {"threshold": 0.05})
        >>> invoke_rule(rule)
    """

    spec_name = "LearningRateTooHigh"
    advice = "Lower the learning rate by a factor of 10, warm it up, or clip the gradients."
    is_too_large = True

    def out_of_bounds(self, usual: dict[str, float]) -> list[str]:
        """Return the weights that change too fast, the fastest first."""
        limit: float = self.parameters["threshold"]
        found = (name for name in usual if usual[name] > limit and name not in self._from_zero)
        return sorted(found, key=lambda name: (-usual[name], name))
