"""`Material`: the data of one trial that its story and its page are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

import attrs

from sagemaker_debug_ext.looking.curves import Curve, CurveReader
from sagemaker_debug_ext.looking.measures import LayerMeasures
from sagemaker_debug_ext.looking.measuring import MeasureReader
from sagemaker_debug_ext.looking.names import Labels
from sagemaker_debug_ext.looking.ranks import RankDeviations, RankReader
from sagemaker_debug_ext.looking.story import SavedCollection
from sagemaker_debug_ext.rules.evaluation.engine import evaluate
from sagemaker_debug_ext.rules.explain import Explanation, explain
from sagemaker_debug_ext.rules.reading.tensor_roles import naming_scheme_of

if TYPE_CHECKING:
    from sagemaker_debug_ext.rules.base import Rule
    from sagemaker_debug_ext.rules.evaluation.status import RuleStatus
    from sagemaker_debug_ext.rules.issue import Issue
    from sagemaker_debug_ext.trials import Trial
    from sagemaker_debug_ext.trials.index.entries import IndexLayout

MAX_CURVES: Final = 24


@attrs.frozen(eq=False)
class Verdict:
    """The result of evaluating rules over a trial.

    Args:
        issues: The issues, in the order of their steps.
        statuses: The status of each rule.
        explanations: Rule name → the tensors that it reads.
    """

    issues: tuple[Issue, ...]
    statuses: tuple[RuleStatus, ...]
    explanations: Mapping[str, Explanation]


@attrs.frozen(eq=False, kw_only=True)
class Material:
    """The data of one trial.

    Args:
        trial: The trial.
        verdict: What rules found; None if none were run.
        measures: The measures of its layers.
        curves: Losses, metrics and further single numbers over steps.
        curve_names: All tensors that could be drawn as curves, those of `curves` first.
        ranks: How far each worker is from the others; None for a trial of one worker.
        collections: The collections that were saved.

    Attributes:
        labels: Labels of the tensors, as people read them.
    """

    trial: Trial
    verdict: Verdict | None
    measures: LayerMeasures
    curves: tuple[Curve, ...]
    curve_names: tuple[str, ...]
    ranks: RankDeviations | None
    collections: tuple[SavedCollection, ...]
    labels: Labels = attrs.field(init=False)

    @labels.default
    def _labels(self) -> Labels:
        groups: dict[str, set[str]] = {"weights": set(), "gradients": set(), "outputs": set()}
        for grid in self.measures.grids.values():
            groups[grid.measure.group].update(grid.tensors)
        return Labels.of_groups(naming_scheme_of(self.trial), *groups.values())


def run_rules(trial: Trial, rules: Mapping[str, Rule], start: int = 0, end: int | None = None) -> Verdict:
    """Run rules over the steps that a trial has so far.

    Args:
        trial: The trial.
        rules: The rules by name.
        start: First global step to evaluate.
        end: First global step not to evaluate.
    """
    explanations = {name: explain(rule) for name, rule in rules.items()}
    evaluation = evaluate(rules, trial, start_step=start, end_step=end, follow=False)
    issues = tuple(evaluation)
    return Verdict(issues, evaluation.statuses, explanations)


def gather(trial: Trial, verdict: Verdict | None, seconds: float = 60.0) -> Material:
    """Read the data of a trial that its page shows.

    Args:
        trial: The trial.
        verdict: What rules found; None if none were run.
        seconds: Time after which no further steps of layers are read.
    """
    return MaterialReader(trial).read(verdict, seconds)


class MaterialReader:
    """Reads the data of a trial that its page shows; each call continues where the last one ended.

    Args:
        trial: The trial.
        max_columns: Limit of the columns of layers and of workers; see `MeasureReader` and `RankReader`.
    """

    def __init__(self, trial: Trial, max_columns: int | None = None) -> None:
        self.trial = trial
        self._measures = MeasureReader(trial, max_columns=max_columns)
        self._curves = CurveReader(trial, MAX_CURVES)
        self._ranks = RankReader(trial, max_columns)
        self._collections = _CollectionReader(trial)

    def read(self, verdict: Verdict | None, seconds: float) -> Material:
        """Read the new steps, and return the data of all steps; see `gather` for the arguments."""
        self._measures.read(_steps_with_issues(verdict.issues if verdict else ()), seconds)
        return Material(
            trial=self.trial,
            verdict=verdict,
            measures=self._measures.measures(),
            curves=self._curves.read(),
            curve_names=self._curves.names,
            ranks=self._ranks.read(seconds),
            collections=tuple(self._collections.read()),
        )


class _CollectionReader:
    """Reads which collections a trial holds, and remembers which of its tensors are theirs."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._known: object = None
        self._members: dict[str, _Members] = {}

    def read(self) -> Iterator[SavedCollection]:
        """Yield the collections with a saved tensor, by name."""
        collections = self._trial.collections()
        reader = self._trial.index_reader
        with reader.lock:
            texts = [(name, *found.include_regex, len(found.tensor_names)) for name, found in collections.items()]
            known = (reader.index.layouts(), texts)
            if known != self._known:
                self._known, self._members = known, _find_members(self._trial)
            for name, (num_tensors, bytes_of) in self._members.items():
                num_bytes = sum(size * len(layout.rows) for layout, size in bytes_of.items())
                steps = reader.index.steps_of_layouts(layout for layout, size in bytes_of.items() if size)
                ends = [int(step) for of_mode in steps.values() for step in (of_mode[0], of_mode[-1])]
                yield SavedCollection(
                    name=name,
                    num_tensors=num_tensors,
                    num_bytes=num_bytes,
                    num_steps={mode.name: len(steps[mode]) for mode in sorted(steps, key=lambda mode: mode.value)},
                    first_step=min(ends, default=None),
                    last_step=max(ends, default=None),
                )


class _Members(NamedTuple):
    """The tensors of a collection.

    Attributes:
        num_tensors: Number of tensors.
        bytes_of: Layout of index files → size of their records in one file.
    """

    num_tensors: int
    bytes_of: dict[IndexLayout, int]


def _find_members(trial: Trial) -> dict[str, _Members]:
    """Return the members of each collection that has any; the lock of the index must be held."""
    index = trial.index_reader.index
    names = index.tensor_names()
    layouts = index.layouts()
    found = {}
    for name, collection in sorted(trial.collections().items()):
        members = {tensor for tensor in names if collection.matches(tensor)}
        if members:
            found[name] = _Members(
                len(members), {layout: index.bytes_of_tensors(layout, members) for layout in layouts}
            )
    return found


def _steps_with_issues(issues: Iterable[Issue]) -> list[int]:
    """Return the first step of each rule's issues."""
    first: dict[str, int] = {}
    for issue in issues:
        first.setdefault(issue.rule, issue.step)
    return sorted(set(first.values()))
