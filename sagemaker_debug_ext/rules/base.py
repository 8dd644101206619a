"""`Rule`: a check over a trial, invoked at its steps in order."""

from __future__ import annotations

import abc
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from sagemaker_debug_ext._printable import html_table
from sagemaker_debug_ext.errors import (
    NoVerdict,
    RuleEvaluationConditionMet,
    SMDebugTypeError,
    StepUnavailable,
    TensorUnavailable,
    TensorUnavailableForStep,
)
from sagemaker_debug_ext.rules._validation import check_trial, list_trials
from sagemaker_debug_ext.rules.action import Actions
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.required_tensors import RequiredTensors

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial


NO_VERDICT = (NoVerdict, TensorUnavailableForStep, StepUnavailable, TensorUnavailable)
"""Errors that mean that a rule cannot evaluate a step, which is then skipped."""


class Rule(abc.ABC):
    """A check over a trial. Subclass it, and write `invoke_at_step`.

    Rules written for two-argument constructors, ``(base_trial, other_trials)``, work too.

    Args:
        base_trial: The trial to check.
        action_str: What to do when the rule fires, as JSON (see `rules.action.Actions`); nothing when empty or None.
        other_trials: Further trials that the rule reads.

    Raises:
        SMDebugTypeError: A trial is none, such as the path of one.

    Attributes:
        is_stateless: Whether the result at a step depends on the trial alone, not on earlier evaluations. Steps may
            then be evaluated in any order; see `rules.scaling`.
        has_per_tensor_state: Whether the state and the result for a tensor depend on that tensor alone. Tensors may
            then be evaluated in different processes. Only for subclasses of `TensorRule`.
        base_trial: The trial to check.
        other_trials: The further trials, None when there are none.
        trials: All of them, the base trial first.
        req_tensors: What `set_required_tensors` asked for at the current step.
        actions: What happens when the rule fires; may be replaced.
        rule_name: Name of the class.
        logger: For messages of the rule.
        output_path: Folder for files that the rule writes; None if it must not write any.
        report: Notes of the rule on its findings, in a form of its own.
        unless_learnt: Percentage by which the errors of a model have to be below those of the best constant prediction
            for `evaluate` to drop the issues; None if they count whatever it learns. See `rules.evaluation.outcome`.

    Example:
        >>> class LargeLoss(Rule):
        ...     def __init__(self, base_trial, limit=10.0):
        ...         super().__init__(base_trial)
        ...         self.limit = float(limit)
        ...
        ...     def invoke_at_step(self, step):
        ...         return any(
        ...             self.base_trial.tensor(name).value(step).mean() > self.limit
        ...             for name in self.base_trial.tensor_names(step=step, collection="losses")
        ...         )
    """

    is_stateless: ClassVar[bool] = False
    has_per_tensor_state: ClassVar[bool] = False
    unless_learnt: float | None = None

    def __init__(
        self,
        base_trial: Trial,
        action_str: str | Sequence[Trial] | None = "",
        other_trials: Sequence[Trial] | None = None,
    ) -> None:
        if action_str is not None and not isinstance(action_str, str):
            other_trials, action_str = action_str, ""
        check_trial(base_trial, "base_trial")
        others = list_trials(other_trials)
        self.base_trial = base_trial
        self.other_trials = others or None
        self.trials = [base_trial, *others]
        self.req_tensors = RequiredTensors(base_trial, others)
        self.rule_name = type(self).__name__
        self.actions = Actions(action_str, self.rule_name)
        self.logger = logging.getLogger(f"{__name__}.{self.rule_name}")
        self.output_path: str | None = None
        self.report: dict[str, Any] = {
            "RuleTriggered": 0,
            "Violations": 0,
            "Details": {},
            "Datapoints": 0,
            "RuleParameters": "",
        }

    def __repr__(self) -> str:
        return f"<rule {self.rule_name} over {self.base_trial.path!r}>"

    def _repr_html_(self) -> str:
        parameters: Mapping[str, object] = getattr(self, "parameters", None) or {}
        rows = [("trial", self.base_trial.path), *((name, str(value)) for name, value in parameters.items())]
        return html_table(rows, caption=f"rule {self.rule_name}")

    @property
    def min_num_steps(self) -> int:
        """Fewest evaluated steps after which the rule can find something; 1 unless a subclass knows better."""
        return 1

    def set_required_tensors(self, step: int) -> None:  # noqa: B027 - optional, as the docstring says
        """Ask for tensors with ``self.req_tensors.add``; steps that lack one of them are skipped.

        Optional: a rule may also read what it wants in `invoke_at_step`.

        Args:
            step: The global step about to be evaluated.
        """

    @abc.abstractmethod
    def invoke_at_step(self, step: int) -> bool:
        """Return whether the condition is met.

        Args:
            step: The global step to evaluate.

        Returns:
            Anything true if the rule fires.
        """

    def find_issues(self, step: int) -> Iterator[Issue]:
        """Yield the issues of the rule at a global step.

        Override this in a rule that knows the tensor, the value or advice.
        """
        if self.invoke_at_step(step):
            yield self.issue(step, tensors=self.req_tensors.get_names())

    def give_actions(self, actions: Actions) -> None:
        """Replace the actions that run when the rule fires."""
        self.actions = actions

    def issues_while_waiting(self) -> list[Issue]:
        """Return issues that follow from the absence of new steps.

        Called repeatedly while a running trial has no new step, and once after its job has ended. Optional.
        """
        return []

    def evaluation_ended(self) -> None:  # noqa: B027 - optional, as the docstring says
        """Finish after the last step, for example by writing a report. Optional."""

    def issues_at(self, step: int) -> list[Issue]:
        """Evaluate a saved step: fetch the required tensors and find issues. No trial is refreshed meanwhile.

        Raises:
            TensorUnavailable: A tensor that the rule needs does not exist so far.
            TensorUnavailableForStep: It was not saved at the step.
            StepUnavailable: A step that the rule needs was not saved.
        """
        moving = [trial for trial in self.trials if trial.dynamic_refresh]
        for trial in moving:  # not by `no_refresh`, which takes longer than many rules
            trial.dynamic_refresh = False
        try:
            return self._evaluate_now(step)
        finally:
            for trial in moving:
                trial.dynamic_refresh = True

    def result_at(self, step: int) -> list[Issue] | None:
        """Evaluate a step as `issues_at` does, for a caller that has switched off refreshing of all trials.

        Returns:
            The issues; None if there is nothing to evaluate, for which the errors of `issues_at` may be raised too.
        """
        return self.issues_at(step)

    def _evaluate_now(self, step: int) -> list[Issue]:
        self.req_tensors.clear()
        self.set_required_tensors(step)
        self.req_tensors.fetch(present=step)
        return list(self.find_issues(step))

    def invoke(self, step: int) -> None:
        """Wait for a global step and evaluate it; if the rule fires, run its actions.

        Raises:
            RuleEvaluationConditionMet: The rule fired.
            NoMoreData: The job ended before the step.
            NoVerdict: The rule has nothing to evaluate at the step.
            StepUnavailable: The step was not saved.
            TensorUnavailable: As `issues_at`.
            TensorUnavailableForStep: As `issues_at`.
        """
        for trial in self.trials:
            trial.maybe_refresh()  # the rule may look at later steps, too
        self.base_trial.wait_for_steps([step])
        self.invoke_at_present(step)

    def invoke_at_present(self, step: int) -> None:
        """Evaluate a saved global step as `invoke` does, without waiting for it."""
        issues = self.issues_at(step)
        if issues:
            self.actions.invoke(issues[0].message)
            raise RuleEvaluationConditionMet(self.rule_name, step)

    def issue(
        self,
        step: int,
        message: str = "",
        *,
        tensors: Sequence[str] = (),
        worker: str | None = None,
        value: float | None = None,
        threshold: float | None = None,
        advice: str = "",
    ) -> Issue:
        """Return an issue of this rule at a global step of the base trial; see `Issue` for the arguments."""
        return Issue(
            rule=self.rule_name,
            step=step,
            mode=self.base_trial.mode(step),
            mode_step=self.base_trial.mode_step(step),
            tensors=tuple(tensors),
            worker=worker,
            value=value,
            threshold=threshold,
            message=message or str(RuleEvaluationConditionMet(self.rule_name, step)),
            advice=advice,
        )


def check_rule(rule: object, name: str) -> None:
    """Raise if the argument is no rule.

    Raises:
        SMDebugTypeError: It is something else, such as the name or the class of a rule.
    """
    if isinstance(rule, Rule):
        return
    hint = ""
    if isinstance(rule, str):
        hint = f"; create_rule({rule!r}, trial) makes one of the catalog's"
    elif isinstance(rule, type) and issubclass(rule, Rule):
        hint = f"; {rule.__name__}(trial) makes one"
    raise SMDebugTypeError(f"{name} must be a rule made for a trial (got {rule!r}){hint}")
