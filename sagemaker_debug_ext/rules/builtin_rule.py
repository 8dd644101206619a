"""`BuiltinRule` and `TensorRule`: rules whose parameters the catalog declares."""

from __future__ import annotations

import abc
import functools
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

import attrs
import numpy as np

from sagemaker_debug_ext.catalog.registry import get_rule_spec
from sagemaker_debug_ext.errors import InsufficientInformationForRuleInvocation, NoVerdict
from sagemaker_debug_ext.rules.base import Rule
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.screening import Screening, undecided
from sagemaker_debug_ext.rules.reading.selection import Selection, TensorRequirement
from sagemaker_debug_ext.rules.reading.series import TensorSeries
from sagemaker_debug_ext.rules.reading.step_view import StepReader, StepView
from sagemaker_debug_ext.rules.reading.trained_models import TrainedModels

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial

_WAYS: Final = ("find_issues", "invoke_at_step", "issues_at", "set_required_tensors", "result_at")
_EVALUATING: Final = ("evaluate", "_measure_all", *_WAYS)
"""The methods that decide the result of a rule; a subclass that overrides one is no longer screened by its base."""


def describe_tensors(tensors: Sequence[str]) -> str:
    """Return the first name and the number of further ones, for messages."""
    more = len(tensors) - 1
    if not more:
        return repr(tensors[0])
    return f"{tensors[0]!r} and {more} other tensor{'s' if more > 1 else ''}"


class BuiltinRule(Rule):
    """A rule whose parameters are declared in the catalog.

    Subclasses set `spec_name`, `advice` and `selection`, and write `evaluate`, which reads the step through its view.

    Args:
        base_trial: The trial to check.
        action_str: What to do when the rule fires; see `Rule`.
        other_trials: Further trials that the rule reads.
        clock: Returns the time in seconds, for rules that measure it.
        **parameters: Values of the declared parameters, typed or as text; the others get their defaults.

    Raises:
        SMDebugValueError: A parameter is unknown, or its value is not allowed.
        InsufficientInformationForRuleInvocation: The parameters select no tensors.

    Attributes:
        spec_name: Name of the rule in the catalog.
        advice: Suggestion to the user when the rule fires.
        parameters: Typed values of all declared parameters.
        selection: The tensors that the rule reads.
        views: Reader of the trial; rules over the same trial share one, so that each tensor is read once.
        evaluates_only_tensors: Whether steps at which none of the rule's tensors was saved can be skipped.
        fires_after_patience: Whether the rule cannot fire before it has evaluated `patience` steps.
        writes_report: Whether the rule exists for what it writes into its output folder.
        begins_anew: Whether the rule forgets what it has observed when a script goes on to train another model.
    """

    spec_name: ClassVar[str]
    advice: ClassVar[str]
    selection: Selection = Selection()
    evaluates_only_tensors: ClassVar[bool] = False
    fires_after_patience: ClassVar[bool] = False
    writes_report: ClassVar[bool] = False
    begins_anew: ClassVar[bool] = False

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
        spec = get_rule_spec(self.spec_name)
        given = dict(parameters)
        if other_trials and any(parameter.name == "other_trials" for parameter in spec.parameters):
            given["other_trials"] = [trial.path for trial in other_trials]
        self.parameters: dict[str, Any] = spec.parse_parameters(given)
        self._given = given
        self.unless_learnt = cast("float | None", self.parameters.get("unless_learnt"))
        self.clock = clock
        self.views = StepReader(base_trial)
        if self.begins_anew:
            self._models = TrainedModels()
        for group in spec.at_least_one_of:
            if not any(self.parameters[name] for name in group):
                raise InsufficientInformationForRuleInvocation(
                    self.rule_name, f"one of {', '.join(group)} must be given (got none of them)"
                )
        self.configure()

    @property
    def min_num_steps(self) -> int:
        """Value of `patience` if the rule cannot fire after fewer evaluated steps; 1 otherwise."""
        return int(self.parameters["patience"]) if self.fires_after_patience else 1

    def configure(self) -> None:
        """Derive attributes from the parameters, and reject combinations that make no sense. Optional.

        Raises:
            InsufficientInformationForRuleInvocation: The parameters select no tensors.
            SMDebugValueError: Two parameters contradict each other.
        """

    def is_given(self, name: str) -> bool:
        """Return whether the user set a parameter, rather than its default."""
        return self._given.get(name) not in (None, "", "None", [], ())

    def needs(self) -> tuple[TensorRequirement, ...]:
        """Return the tensors that the rule reads, for `rules.explain`."""
        return (TensorRequirement("tensors", self.selection),)

    def looks_at(self) -> tuple[Selection, ...]:
        """Return the selections of all tensors that the rule reads."""
        return tuple(need.selection for need in self.needs())

    @property
    def needs_tensors(self) -> bool:
        """Whether `evaluates_only_tensors` holds for the rule; False for a subclass that evaluates in its own way."""
        return self.evaluates_only_tensors and _is_valid_for(type(self), "evaluates_only_tensors")

    @property
    def can_screen_block(self) -> bool:
        """Whether `screen_block` is implemented, and valid for the rule; see `needs_tensors`."""
        return _origin(type(self), "screen_block") is not BuiltinRule and _is_valid_for(type(self), "screen_block")

    def screen_block(self, series: Mapping[str, TensorSeries], num_steps: int) -> Screening:  # noqa: ARG002 - for subclasses
        """Return at which steps of a block the rule certainly finds nothing. Optional; see `reading.screening`.

        Args:
            series: Tensors that the rule reads, by name; the values of small ones are in memory.
            num_steps: Number of steps.
        """
        return undecided(num_steps)

    @abc.abstractmethod
    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return the issues at a step, at most one; None if there is nothing to evaluate."""

    def result_at(self, step: int) -> list[Issue] | None:
        """Evaluate a step by the shortest path, unless a subclass overrides how steps are evaluated."""
        return self._evaluate_quietly(step) if _evaluates_by_view(type(self)) else super().result_at(step)

    def _evaluate_now(self, step: int) -> list[Issue]:
        if type(self).set_required_tensors is Rule.set_required_tensors:  # there is nothing to fetch
            return list(self.find_issues(step))
        return super()._evaluate_now(step)

    def find_issues(self, step: int) -> Iterator[Issue]:
        """Yield the issues of the rule at a global step.

        Raises:
            NoVerdict: There is nothing to evaluate.
        """
        issues = self._evaluate_quietly(step)
        if issues is None:
            raise NoVerdict(self.rule_name, step)
        yield from issues

    def invoke_at_step(self, step: int) -> bool:
        """Return whether the rule finds an issue at a global step."""
        return bool(self._evaluate_quietly(step))

    def _evaluate_quietly(self, step: int) -> list[Issue] | None:
        with np.errstate(all="ignore"):  # rules look for infinities and overflow, so they are no accidents here
            view = self.views.at(step)
            if self.begins_anew and self._models.have_changed(view):
                self.configure()
            return self.evaluate(view)

    def found(
        self, view: StepView, message: str, *, tensors: Sequence[str], value: float | None, threshold: float | None
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


@attrs.frozen
class Measurement:
    """Result of measuring one tensor at a step.

    Args:
        value: The measured value.
        fires: Whether it meets the rule's condition.
        threshold: The limit it was compared with.
        severity: Orders the tensors that fire, the largest first; NaN counts as the largest.
        text: Part of the message about the tensor, for the one that is named first.
    """

    value: float | None
    fires: bool
    threshold: float | None = None
    severity: float = 0.0
    text: str = ""


class TensorRule(BuiltinRule):
    """A rule that measures each of its tensors on its own, and reports those that meet its condition in one issue.

    Subclasses implement `measure` and `describe`. Those whose result at a step depends on the trial alone may also
    implement `screen`, so that steps at which they find nothing need no evaluation.

    Attributes:
        compares_with_previous: Whether `screen` compares values with those saved before.
        screen_needs_sums: Whether `screen` uses the sums of large tensors.
        measurements: Measurements that meet the condition, by global step and tensor; see `evaluate_share`.
    """

    compares_with_previous: ClassVar[bool] = False
    screen_needs_sums: ClassVar[bool] = False
    evaluates_only_tensors = True
    _share: tuple[int, int] | None = None
    measurements: dict[int, dict[str, Measurement]]

    def _is_mine(self, name: str) -> bool:
        return self._share is None or _share_of(name, self._share[1]) == self._share[0]

    def looks_at(self) -> tuple[Selection, ...]:
        """Return the selections of all tensors that the rule reads."""
        return (self.selection,)

    @property
    def can_screen(self) -> bool:
        """Whether `screen` is implemented, and valid for the rule: not if a subclass overrides the evaluation."""
        return _origin(type(self), "screen") is not TensorRule and _is_valid_for(type(self), "screen", "measure")

    def screen(self, series: TensorSeries) -> Screening:
        """Return at which steps a tensor certainly does not meet the condition; see `reading.screening`.

        The result of a value must not depend on the block that it is in. Several threads call this method.
        """
        return undecided(len(series.positions))

    def num_leading(self, num_entries: int) -> int:  # noqa: ARG002 - for subclasses
        """Return how many of the `num_entries` entries along the first axis of a large value `screen` uses."""
        return 0

    @abc.abstractmethod
    def measure(self, view: StepView, name: str) -> Measurement | None:
        """Return the measurement of a tensor saved at the step; None if there is nothing to evaluate."""

    @abc.abstractmethod
    def describe(self, names: Sequence[str], first: Measurement) -> str:
        """Return the message for the tensors that fire, the most severe first; `first` is its measurement."""

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue with the tensors that meet the condition, the most severe first."""
        measurements = self._measure_all(view)
        if not measurements:
            return None
        if self._share is None:
            return self.issues_of(view, measurements)
        self.measurements[view.step] = {
            name: measurement for name, measurement in measurements.items() if measurement.fires
        }
        return []

    def issues_of(self, view: StepView, measurements: Mapping[str, Measurement]) -> list[Issue]:
        """Return the issue with the measured tensors that meet the condition, the most severe first."""
        names = sorted(
            (name for name, measurement in measurements.items() if measurement.fires),
            key=lambda name: (-_rank(measurements[name].severity), name),
        )
        if not names:
            return []
        first = measurements[names[0]]
        message = self.describe(names, first)
        return [self.found(view, message, tensors=names, value=first.value, threshold=first.threshold)]

    def evaluate_share(self, number: int, num_shares: int) -> None:
        """Evaluate a share of the tensors only, and collect `measurements` instead of finding issues.

        Args:
            number: Number of the share, from 0.
            num_shares: Number of shares.
        """
        self._share = (number, num_shares)
        self.measurements = {}

    def _measure_all(self, view: StepView) -> Mapping[str, Measurement]:
        return {
            name: measurement
            for name in view.selected(self.selection)
            if self._is_mine(name) and (measurement := self.measure(view, name)) is not None
        }


@functools.cache
def _evaluates_by_view(rule_class: type[BuiltinRule]) -> bool:
    """Return whether the result of a rule is that of `evaluate`, with no method around it overridden."""
    return all(issubclass(BuiltinRule, origin) for origin in _origins(rule_class, _WAYS))


def _share_of(name: str, num_shares: int) -> int:
    """Return the share of a tensor; stable across machines."""
    return zlib.crc32(name.encode("utf-8", "surrogatepass")) % num_shares


def _origin(rule_class: type, name: str) -> type:
    """Return the class that defines an attribute of a class."""
    return next(base for base in rule_class.__mro__ if name in vars(base))


def _origins(rule_class: type, names: Iterable[str]) -> list[type]:
    return [_origin(rule_class, method) for method in names if hasattr(rule_class, method)]


@functools.cache
def _is_valid_for(rule_class: type, name: str, *others: str) -> bool:
    """Return whether no subclass overrides the evaluation of a rule without overriding an attribute about it.

    Args:
        rule_class: Class of the rule.
        name: The attribute.
        others: Further methods that the attribute depends on.
    """
    says_so = _origin(rule_class, name)
    return all(issubclass(says_so, origin) for origin in _origins(rule_class, (*_EVALUATING, *others)))


def _rank(severity: float) -> float:
    return float("inf") if severity != severity else severity  # noqa: PLR0124 - true for NaN only
