"""`BuiltinRule`: a rule whose parameters the catalog declares, and that says what it found and what it needs."""

from __future__ import annotations

import abc
import functools
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

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

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial

_WAYS: Final = ("find_issues", "invoke_at_step", "issues_at", "set_required_tensors", "result_at")
_EVALUATING: Final = ("evaluate", "_measure_all", *_WAYS)
"""The methods by which a rule comes to a verdict; who overrides one of them evaluates in a way of its own."""


def describe_tensors(tensors: Sequence[str]) -> str:
    """Name the first of some tensors, and say how many more there are."""
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
        clock: Tells the time in seconds, for rules that watch it.
        **parameters: Values of the declared parameters, typed or as text; the others get their defaults.

    Raises:
        SMDebugValueError: A parameter is unknown, or its value is not allowed.
        InsufficientInformationForRuleInvocation: The parameters do not say what to look at.

    Attributes:
        spec_name: Name of the rule in the catalog.
        advice: What a user may try when the rule fires.
        parameters: Typed values of all declared parameters.
        selection: The tensors that the rule looks at.
        views: What the rule reads; share one instance among rules over the same trial to read each tensor once.
        evaluates_only_tensors: Whether the rule finds and learns nothing at a step at which none of the tensors
            that it looks at was saved.
    """

    spec_name: ClassVar[str]
    advice: ClassVar[str]
    selection: Selection = Selection()
    evaluates_only_tensors: ClassVar[bool] = False

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
        if other_trials and any(each.name == "other_trials" for each in spec.parameters):
            given["other_trials"] = [trial.path for trial in other_trials]
        self.parameters: dict[str, Any] = spec.parse_parameters(given)
        self._given = given
        self.clock = clock
        self.views = StepReader(base_trial)
        for group in spec.at_least_one_of:
            if not any(self.parameters[name] for name in group):
                raise InsufficientInformationForRuleInvocation(
                    self.rule_name, f"one of {', '.join(group)} must be given (got none of them)"
                )
        self.configure()

    def configure(self) -> None:
        """Prepare what follows from the parameters, and refuse those that do not go together. Optional.

        Raises:
            InsufficientInformationForRuleInvocation: The parameters do not say what to look at.
            SMDebugValueError: Two parameters contradict each other.
        """

    def is_given(self, name: str) -> bool:
        """Tell whether a parameter was given, rather than filled in with its default."""
        return self._given.get(name) not in (None, "", "None", [], ())

    def needs(self) -> tuple[TensorRequirement, ...]:
        """Return what the rule looks at, for `rules.explain`."""
        return (TensorRequirement("tensors", self.selection),)

    def looks_at(self) -> tuple[Selection, ...]:
        """Return all that the rule looks at."""
        return tuple(need.selection for need in self.needs())

    @property
    def needs_tensors(self) -> bool:
        """Whether `evaluates_only_tensors` holds for the rule; False for a subclass that evaluates in its own way."""
        return self.evaluates_only_tensors and _speaks_for(type(self), "evaluates_only_tensors")

    @property
    def can_screen_block(self) -> bool:
        """Whether the rule has a `screen_block` that speaks for it; likewise."""
        return _origin(type(self), "screen_block") is not BuiltinRule and _speaks_for(type(self), "screen_block")

    def screen_block(self, series: Mapping[str, TensorSeries], num_steps: int) -> Screening:  # noqa: ARG002 - for subclasses
        """Return at which steps of a block the rule certainly finds nothing. Optional; see `reading.screening`.

        Args:
            series: Tensors that the rule reads, by name; the values of small ones are in memory.
            num_steps: Number of steps.
        """
        return undecided(num_steps)

    @abc.abstractmethod
    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return what the rule finds at a step, at most one issue; None if there is nothing that it could evaluate."""

    def result_at(self, step: int) -> list[Issue] | None:
        """Evaluate a step with as few calls as may be, unless a subclass evaluates steps in its own way."""
        return self._evaluate_quietly(step) if _evaluates_by_view(type(self)) else super().result_at(step)

    def _evaluate_now(self, step: int) -> list[Issue]:
        if type(self).set_required_tensors is Rule.set_required_tensors:  # there is nothing to fetch
            return list(self.find_issues(step))
        return super()._evaluate_now(step)

    def find_issues(self, step: int) -> Iterator[Issue]:
        """Yield what the rule finds at a global step.

        Raises:
            NoVerdict: There is nothing that it could evaluate.
        """
        issues = self._evaluate_quietly(step)
        if issues is None:
            raise NoVerdict(self.rule_name, step)
        yield from issues

    def invoke_at_step(self, step: int) -> bool:
        """Tell whether the rule finds an issue at a global step."""
        return bool(self._evaluate_quietly(step))

    def _evaluate_quietly(self, step: int) -> list[Issue] | None:
        with np.errstate(all="ignore"):  # infinities and overflow are what rules look for, not accidents
            return self.evaluate(self.views.at(step))

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
    """What a rule measured of one tensor at a step.

    Args:
        value: The measured value.
        fires: Whether it meets the rule's condition.
        threshold: The limit it was compared with.
        severity: Orders the tensors that fire, the largest first; NaN counts as the largest.
        text: What the message says of the tensor, when it is named first.
    """

    value: float | None
    fires: bool
    threshold: float | None = None
    severity: float = 0.0
    text: str = ""


class TensorRule(BuiltinRule):
    """A rule that evaluates each of its tensors by itself, and names those that meet its condition in one issue.

    Subclasses write `measure` and `describe`; those whose verdict at a step follows from the trial alone may also write
    `screen`, which spares evaluating steps at which they find nothing.

    Attributes:
        compares_with_previous: Whether `screen` compares values with those saved before.
        screen_needs_sums: Whether it wants the sums of large values.
        measurements: What was measured of tensors that meet the condition, by global step; see `evaluate_share`.
    """

    compares_with_previous: ClassVar[bool] = False
    screen_needs_sums: ClassVar[bool] = False
    evaluates_only_tensors = True
    _share: tuple[int, int] | None = None
    measurements: dict[int, dict[str, Measurement]]

    def _is_mine(self, name: str) -> bool:
        return self._share is None or _share_of(name, self._share[1]) == self._share[0]

    def looks_at(self) -> tuple[Selection, ...]:
        """Return all that the rule looks at."""
        return (self.selection,)

    @property
    def can_screen(self) -> bool:
        """Whether `screen` speaks for the rule: it does not for a subclass that evaluates in its own way."""
        return _origin(type(self), "screen") is not TensorRule and _speaks_for(type(self), "screen", "measure")

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
        """Return what was measured of a tensor saved at the step; None if it cannot be evaluated."""

    @abc.abstractmethod
    def describe(self, names: Sequence[str], first: Measurement) -> str:
        """Return the message for the tensors that fire, the loudest first, of which `first` was measured."""

    def evaluate(self, view: StepView) -> list[Issue] | None:
        """Return an issue that names the tensors that meet the condition, the loudest first."""
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
        """Return the issue that names those of some tensors that meet the condition, the loudest first."""
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
        """Look at a share of the tensors only, and note measurements instead of finding issues.

        Args:
            number: Which share, from 0.
            num_shares: How many there are.
        """
        self._share = (number, num_shares)
        self.measurements = {}

    def _measure_all(self, view: StepView) -> Mapping[str, Measurement]:
        measured = {name: self.measure(view, name) for name in view.selected(self.selection) if self._is_mine(name)}
        return {name: measurement for name, measurement in measured.items() if measurement is not None}


@functools.cache
def _evaluates_by_view(rule_class: type[BuiltinRule]) -> bool:
    """Tell whether a rule's verdict is what its `evaluate` says of a view, and nothing else."""
    return all(issubclass(BuiltinRule, each) for each in _origins(rule_class, _WAYS))


def _share_of(name: str, num_shares: int) -> int:
    """Return the number of the share that a tensor belongs to, the same on every machine."""
    return zlib.crc32(name.encode("utf-8", "surrogatepass")) % num_shares


def _origin(rule_class: type, name: str) -> type:
    """Return the class that a method of a class comes from."""
    return next(each for each in rule_class.__mro__ if name in vars(each))


def _origins(rule_class: type, names: Iterable[str]) -> list[type]:
    return [_origin(rule_class, each) for each in names if hasattr(rule_class, each)]


@functools.cache
def _speaks_for(rule_class: type, name: str, *others: str) -> bool:
    """Tell whether an attribute of a rule was written with the methods by which it evaluates in view, or after them.

    Args:
        rule_class: Class of the rule.
        name: The attribute.
        others: Further methods that it says something of.
    """
    says_so = _origin(rule_class, name)
    return all(issubclass(says_so, each) for each in _origins(rule_class, (*_EVALUATING, *others)))


def _rank(severity: float) -> float:
    return float("inf") if severity != severity else severity  # noqa: PLR0124 - true for NaN only
