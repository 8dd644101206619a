"""`Story`: the findings in trials with place, onset and evidence, as one value that every face draws."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

import attrs

from sagemaker_debug_ext._json import JSONObject
from sagemaker_debug_ext.rules.issue import Issue

FORMAT: Final = 1
"""Version of the story as JSON."""

SCHEMA_FILE: Final = "story.schema.json"

PartKind: TypeAlias = Literal["text", "cause", "tensor", "step", "worker", "rule"]
RuleState: TypeAlias = Literal["found", "nothing found", "nothing to evaluate", "lacks tensors", "error", "stopped"]
JobStateName: TypeAlias = Literal["running", "ended", "silent"]


@attrs.frozen
class Part:
    """A part of a sentence.

    Args:
        text: The text.
        kind: What it names.
        name: Name of the tensor if the text is its label; empty otherwise.
    """

    text: str
    kind: PartKind = "text"
    name: str = ""


@attrs.frozen
class Sentence:
    """A sentence whose parts are marked.

    Args:
        parts: The parts, spaces included.
    """

    parts: tuple[Part, ...]

    @classmethod
    def of(cls, *parts: str | Part) -> Sentence:
        """Return the sentence of some parts; plain text needs no mark."""
        return cls(tuple(Part(part) if isinstance(part, str) else part for part in parts))

    def __str__(self) -> str:
        return "".join(part.text for part in self.parts)


@attrs.frozen(kw_only=True)
class Onset:
    """The onset of the unusual value that a rule evaluated.

    Args:
        measure: The measure, in words.
        tensor: The tensor.
        step: The step at which the value left its usual range, or, for rules that evaluate each step on its own, met
            the condition; None if it is unusual from the first step on.
        text: The onset as a clause.
    """

    measure: str
    tensor: str
    step: int | None
    text: str


@attrs.frozen(kw_only=True)
class Evidence:
    """A view that shows a finding.

    Args:
        subject: A measure of layers, or another subject of `evidence.Subject`.
        tensors: The tensors to show, the loudest first.
    """

    subject: str
    tensors: tuple[str, ...]


@attrs.frozen(kw_only=True)
class Finding:
    """A likely cause of issues.

    Args:
        trial: Number of the trial in the story, from 0.
        cause: Name of the cause.
        meaning: Meaning of the cause.
        sentence: Cause, place and time, without a full stop.
        message: The message of the first issue of the most direct rule; tensors have their labels.
        where: The layer path that the tensors share; the tensor itself if there is one; empty if no tensor is named.
        tensors: The tensors concerned, the loudest first, at most 50.
        num_tensors: Number of tensors concerned.
        workers: The workers concerned, sorted.
        found_at: The first step with an issue.
        onset: Onset of the unusual value; None if it is unknown.
        rules: The rules that agree, the most direct one first.
        evidence: The views that show the finding.
        advice: Suggestion for the user.
        issues: The first issues, at most 50.
        num_issues: Number of issues.
        may_follow: Whether it may be a consequence of other findings.
        look_alikes: Names of other causes that would look the same, though no rule saw a sign of them.
    """

    trial: int
    cause: str
    meaning: str
    sentence: Sentence
    message: str
    where: str
    tensors: tuple[str, ...]
    num_tensors: int
    workers: tuple[str, ...]
    found_at: int
    onset: Onset | None
    rules: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    advice: str
    issues: tuple[Issue, ...]
    num_issues: int
    may_follow: bool
    look_alikes: tuple[str, ...]


@attrs.frozen(kw_only=True)
class RuleLine:
    """A rule and its result.

    Args:
        trial: Number of the trial in the story.
        name: Name of the rule.
        state: Result of the rule.
        details: The error, or the reason why it evaluated nothing; empty otherwise.
        num_tensors: Number of tensors that it reads.
        collections: Their collections.
        num_steps: Number of steps that it evaluated.
        num_skipped: Number of steps that lack its tensors.
        first_issue_step: The first step with an issue.
        num_issues: Number of issues.
        save: Collections to save so that it can evaluate; empty if it lacks nothing that can be named.
    """

    trial: int
    name: str
    state: RuleState
    details: str
    num_tensors: int
    collections: tuple[str, ...]
    num_steps: int
    num_skipped: int
    first_issue_step: int | None
    num_issues: int
    save: tuple[str, ...]


@attrs.frozen(kw_only=True)
class SavedCollection:
    """A collection, and what was saved of it.

    Args:
        name: Name of the collection.
        num_tensors: Number of its tensors.
        num_bytes: About the size of its records in the event files, in bytes: those of one step of each kind are
            counted, for all steps of that kind.
        num_steps: Number of steps by mode.
        first_step: The first global step; None if nothing was saved.
        last_step: The last global step.
    """

    name: str
    num_tensors: int
    num_bytes: int
    num_steps: Mapping[str, int]
    first_step: int | None
    last_step: int | None


@attrs.frozen(kw_only=True)
class TrialFacts:
    """A trial, in numbers.

    Args:
        name: Name of the trial.
        path: Its folder or URL.
        state: State of the job.
        verdict: What is wrong with it, in a sentence.
        steps: Number of steps by mode.
        first_step: The first global step; None without any.
        last_step: The last global step.
        workers: The workers, sorted.
        silent_workers: Workers whose last step is far before that of others, with that step.
        num_workers: Number of workers that were to write.
        num_tensors: Number of tensors.
        last_losses: Last value of each loss by mode, as text.
        collections: The saved collections.
        problems: Files that cannot be used, with the reason.
    """

    name: str
    path: str
    state: JobStateName
    verdict: Sentence
    steps: Mapping[str, int]
    first_step: int | None
    last_step: int | None
    workers: tuple[str, ...]
    silent_workers: Mapping[str, int]
    num_workers: int
    num_tensors: int
    last_losses: Mapping[str, str]
    collections: tuple[SavedCollection, ...]
    problems: tuple[str, ...]


@attrs.frozen(kw_only=True)
class Parting:
    """The first step at which two trials part.

    Args:
        first: Number of the one trial in the story.
        second: Number of the other.
        step: The first of three saved steps at which a value is more than twice that of the other; None if they do not
            part.
        tensor: The tensor whose value parts first.
        label: Its label.
        measure: The measure, in words.
        num_compared: Number of tensors that were compared.
    """

    first: int
    second: int
    step: int | None
    tensor: str
    label: str
    measure: str
    num_compared: int


@attrs.frozen(kw_only=True)
class Coverage:
    """What the story rests on.

    Args:
        evaluated: Whether rules were run.
        num_read: Number of steps whose layers were measured, by trial.
        num_steps: Number of steps with layers to measure, by trial.
        notes: What was thinned or left out, in sentences.
    """

    evaluated: bool
    num_read: tuple[int, ...]
    num_steps: tuple[int, ...]
    notes: tuple[str, ...]


@attrs.frozen(kw_only=True)
class Story:
    """What one trial or several tell.

    Args:
        headline: What is wrong, in one sentence; of several trials, of the worst.
        trials: The trials.
        findings: The likely causes: those of each trial in the order of `likely_causes`.
        rules: Every rule over every trial.
        partings: Where each further trial parts from the first.
        coverage: What the story rests on.
    """

    headline: Sentence
    trials: tuple[TrialFacts, ...]
    findings: tuple[Finding, ...]
    rules: tuple[RuleLine, ...]
    partings: tuple[Parting, ...]
    coverage: Coverage

    @property
    def has_issues(self) -> bool:
        """Whether a rule found an issue."""
        return any(rule.state == "found" for rule in self.rules)

    def findings_of(self, trial: int) -> tuple[Finding, ...]:
        """Return the findings of a trial, by its number."""
        return tuple(finding for finding in self.findings if finding.trial == trial)

    def to_json_dict(self) -> JSONObject:
        """Return the story as a JSON object; `story_schema` describes it."""
        return {"format": FORMAT, **cast(JSONObject, _plain(self))}


def story_schema() -> JSONObject:
    """Return the JSON schema of a story."""
    text = Path(__file__).with_name(SCHEMA_FILE).read_text(encoding="utf-8")
    return cast(JSONObject, json.loads(text))


def _plain(value: Any) -> Any:
    if isinstance(value, Issue):
        return value.to_json_dict()
    if isinstance(value, Sentence):
        return {"text": str(value), "parts": [_plain(part) for part in value.parts]}
    if attrs.has(type(value)):
        return {field.name: _plain(getattr(value, field.name)) for field in attrs.fields(type(value))}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
