"""What all profiler rules have in common: parameters, counts, findings and the report's form."""

from __future__ import annotations

import abc
import enum
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final

import attrs

from sagemaker_debug_ext.catalog import get_rule_spec
from sagemaker_debug_ext.errors import SMDebugValueError, did_you_mean
from sagemaker_debug_ext.profiler.rules.slices import Slice

MAX_FINDINGS: Final = 1000
"""Findings of one rule that are kept; all are counted."""


PATIENCE_SECONDS: Final[Mapping[str, float]] = {"patience_seconds": 0.0}
"""The parameter of rules that wait for some points: a length of time instead; 0 if the points count."""


class Verdict(enum.Enum):
    """What a rule says of a job."""

    NO_ISSUES = "NoIssuesFound"
    ISSUES = "IssuesFound"
    NOT_EVALUATED = "NotEvaluated"


@attrs.frozen(kw_only=True)
class Finding:
    """Something that a rule found.

    Attributes:
        rule: Name of the rule.
        message: The finding as a sentence with its numbers.
        node: The machine or worker; empty for the whole job.
        device: The GPU; empty if no single one is concerned.
        start: Seconds since 1970.
        end: Seconds since 1970.
        numbers: The compared numbers, by name.
        advice: What to change.
    """

    rule: str
    message: str
    node: str = ""
    device: str = ""
    start: float
    end: float
    numbers: Mapping[str, float] = attrs.field(factory=dict)
    advice: str = ""

    def to_json_dict(self) -> dict[str, Any]:
        """Return the finding as a JSON object."""
        return {**attrs.asdict(self), "numbers": dict(self.numbers)}


class ProfilerRule(abc.ABC):
    """A rule over profiler data.

    A rule sees a job slice by slice and keeps counters, histograms and a window, never all data. A subclass sets `name`
    and `order`, and implements `observe` and `details`.

    Args:
        parameters: Parameters by name, as numbers or as the texts of a request; defaults are those of the catalog.

    Attributes:
        triggered: Number of times that the condition was met.
        violations: Number of single violations.
        datapoints: Number of evaluated data points.
        findings: The first thousand findings.

    Raises:
        SMDebugValueError: There is no such parameter, or its value is not allowed.
    """

    name: ClassVar[str]
    order: ClassVar[tuple[str, ...]]
    """Parameters in the order of the report file."""

    advice: ClassVar[str] = ""
    in_catalog: ClassVar[bool] = True
    """Whether the catalog has the rule, with its parameters."""

    own_parameters: ClassVar[Mapping[str, float]] = {}
    """Parameters beyond the catalog's, with their defaults; seconds, which win over a number of points."""

    def __init__(self, parameters: Mapping[str, object] | None = None) -> None:
        given = dict(parameters or {})
        own = {name: given.pop(name) for name in list(given) if name in self.own_parameters}
        self.parameters: dict[str, Any] = self._parse(given)
        for name, default in self.own_parameters.items():
            self.parameters[name] = _positive(self.name, name, own.get(name, default))
        self.triggered = 0
        self.violations = 0
        self.datapoints = 0
        self.findings: list[Finding] = []

    def _parse(self, given: Mapping[str, object]) -> dict[str, Any]:
        if not self.in_catalog:
            for name in given:
                raise SMDebugValueError(
                    f"{self.name} has the parameters {', '.join(self.own_parameters)} (got {name!r})"
                    f"{did_you_mean(name, self.own_parameters)}"
                )
            return {}
        spec = get_rule_spec(self.name)
        defaults = {parameter.name: parameter.default for parameter in spec.parameters}
        return {**defaults, **spec.parse_parameters(given)}

    @abc.abstractmethod
    def observe(self, piece: Slice) -> None:
        """Look at the next slice, and decide."""

    @abc.abstractmethod
    def details(self) -> dict[str, Any]:
        """Return the evidence in the form of the report file."""

    def not_evaluated(self) -> str | None:
        """Return why the rule cannot decide; None if it can."""
        return None

    @property
    def verdict(self) -> Verdict:
        """The result of the rule so far."""
        if self.triggered:
            return Verdict.ISSUES
        return Verdict.NOT_EVALUATED if self.not_evaluated() else Verdict.NO_ISSUES

    def report(self) -> dict[str, Any]:
        """Return the content of ``profiler-reports/<Rule>.json`` (profiler format, section 3.1)."""
        return {
            "RuleTriggered": self.triggered,
            "Violations": self.violations,
            "Details": self.details(),
            "Datapoints": self.datapoints,
            "RuleParameters": "\n".join(f"{name}:{self._shown(name)}" for name in self.order),
        }

    def _shown(self, name: str) -> object:
        return self.parameters[name]

    def _found(self, message: str, start: float, end: float, **facts: Any) -> None:
        """Keep a finding; an equal one of the slice before is made longer."""
        finding = Finding(rule=self.name, message=message, start=start, end=end, advice=self.advice, **facts)
        for place in range(len(self.findings) - 1, max(len(self.findings) - 33, -1), -1):
            earlier = self.findings[place]
            is_same = (earlier.node, earlier.device) == (finding.node, finding.device)
            if is_same and earlier.end >= start - 1.0:
                self.findings[place] = attrs.evolve(finding, start=min(earlier.start, start))
                return
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(finding)


class SecondsOrPoints:
    """A number of points, or a time that wins over it.

    Args:
        points: Number of points.
        seconds: How long instead; 0 if not given.
    """

    def __init__(self, points: int, seconds: float) -> None:
        self.points = points
        self.seconds = seconds

    def is_over(self, count: int, span: float) -> bool:
        """Return whether a count of points, or the time that they span, is beyond the limit."""
        return span > self.seconds if self.seconds else count > self.points

    def describe(self, count: int, span: float) -> str:
        """Return how much is there and how much is needed."""
        if self.seconds:
            return f"{span / 60:.1f} of {self.seconds / 60:.1f} minutes"
        if count > 1 and span > 0:
            needed = span / (count - 1) * self.points
            return f"{count} of {self.points} points ({span / 60:.1f} of {needed / 60:.1f} minutes)"
        return f"{count} of {self.points} points"


def _positive(rule: str, name: str, value: object) -> float:
    try:
        number = float(value)  # type: ignore[arg-type] # a text of a request, or a number
    except (TypeError, ValueError):
        number = -1.0
    if not number >= 0:
        raise SMDebugValueError(f"{rule}.{name} must be a number of at least 0 (got {value!r})")
    return number


def unknown_rule(name: str, known: Iterable[str]) -> SMDebugValueError:
    """Return the error for a rule that does not exist."""
    names = sorted(known)
    return SMDebugValueError(f"rule must be one of {', '.join(names)} (got {name!r}){did_you_mean(name, names)}")
