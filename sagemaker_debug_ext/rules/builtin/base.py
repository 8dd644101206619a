"""`BuiltinRule`: a rule whose parameters the catalog declares, and that says what it found."""

from __future__ import annotations

import abc
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from sagemaker_debug_ext.catalog.registry import get_rule_spec
from sagemaker_debug_ext.rules.base import Rule
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.step import StepView, StepViews

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial


def naming(tensors: Sequence[str]) -> str:
    """Name the first of some tensors, and say how many more there are."""
    more = len(tensors) - 1
    if not more:
        return repr(tensors[0])
    return f"{tensors[0]!r} and {more} other tensor{'s' if more > 1 else ''}"


class BuiltinRule(Rule):
    """A rule whose parameters are declared in the catalog.

    Subclasses set `spec_name` and `advice`, and write `find_issues`, which reads the step through ``self.views``.

    Args:
        base_trial: The trial to check.
        action_str: What to do when the rule fires; see `Rule`.
        other_trials: Further trials that the rule reads.
        clock: Tells the time in seconds, for rules that watch it.
        **parameters: Values of the declared parameters, typed or as text; the others get their defaults.

    Raises:
        SMDebugValueError: A parameter is unknown, or its value is not allowed.

    Attributes:
        spec_name: Name of the rule in the catalog.
        advice: What a user may try when the rule fires.
        parameters: Typed values of all declared parameters.
        views: What the rule reads; share one instance among rules over the same trial to read each tensor once.
    """

    spec_name: ClassVar[str]
    advice: ClassVar[str]

    def __init__(
        self,
        base_trial: Trial,
        action_str: str | None = "",
        other_trials: Sequence[Trial] | None = None,
        *,
        clock: Callable[[], float] = time.time,
        **parameters: object,
    ) -> None:
        super().__init__(base_trial, action_str, other_trials)
        self.parameters: dict[str, Any] = get_rule_spec(self.spec_name).parse_parameters(parameters)
        self.clock = clock
        self.views = StepViews(base_trial)
        self.configure()

    def configure(self) -> None:
        """Prepare what follows from the parameters, and refuse those that do not go together. Optional.

        Raises:
            InsufficientInformationForRuleInvocation: The parameters do not say what to look at.
        """

    @abc.abstractmethod
    def find_issues(self, step: int) -> Iterator[Issue]:
        """Yield what the rule finds at a global step, at most one issue a step."""

    def invoke_at_step(self, step: int) -> bool:
        """Tell whether the rule finds an issue at a global step."""
        return bool(list(self.find_issues(step)))

    def found(
        self, view: StepView, message: str, *, tensors: Sequence[str], value: float | None, threshold: float
    ) -> Issue:
        """Return the issue of this rule at a step; see `Issue` for the arguments."""
        return self.issue(
            view.step,
            message,
            tensors=tensors,
            worker=view.default_worker(tensors[0]),
            value=value,
            threshold=threshold,
            advice=self.advice,
        )
