"""Rules over a trial that is too large for one process: shards of its steps, judged anywhere, merged here.

`Cluster` is all that an engine has to offer; `ProcessPool` is one for this machine, `RayCluster` one for many. Each
shard opens the trial by its path, so it must be reachable from everywhere. Rules whose verdict at a step follows from
the trial alone (`Rule.judges_steps_alone`) are spread over ranges of steps; those with a memory run over all steps, one
to a shard. Either way the issues are those of `evaluate`.
"""

from __future__ import annotations

import concurrent.futures
import multiprocessing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import attrs

from sagemaker_debug_ext._optional import import_optional
from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.rules.creation import create_custom_rule, create_rule, find_rule_class
from sagemaker_debug_ext.rules.engine import evaluate
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.status import RuleStatus
from sagemaker_debug_ext.trials import Trial, create_trial

T = TypeVar("T")
R = TypeVar("R")


class Cluster(Protocol):
    """Something that calls a function for many arguments, wherever it likes."""

    def map(self, function: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Return the results in the order of the items; function, items and results can be pickled."""


@attrs.frozen
class ProcessPool:
    """Processes on this machine.

    Args:
        num_processes: How many; as many as there are cores when not given.
    """

    num_processes: int | None = None

    def map(self, function: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Call the function in the processes, which end afterwards."""
        context = multiprocessing.get_context("spawn")  # a fork would copy threads that hold locks
        with concurrent.futures.ProcessPoolExecutor(self.num_processes, mp_context=context) as pool:
            return list(pool.map(function, items))


@attrs.frozen
class RayCluster:
    """The workers of a Ray cluster: the one that ``ray.init`` has connected to, else one on this machine.

    Raises:
        MissingDependencyError: The package ``ray`` is not installed.
    """

    def map(self, function: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Call the function as tasks of the cluster."""
        ray: Any = import_optional("ray", "judging on a Ray cluster", "ray")
        if not ray.is_initialized():
            ray.init(include_dashboard=False, log_to_driver=False)
        task = ray.remote(function)
        results: list[R] = ray.get([task.remote(item) for item in items])
        return results


@attrs.frozen(kw_only=True)
class RuleChoice:
    """A rule and its parameters, as `create_rule` and `create_custom_rule` take them.

    Args:
        rule: Name in the catalog, or the class in `source`.
        parameters: Its parameters.
        source: The Python file that has the rule, reachable from everywhere; None for a rule of the catalog.
    """

    rule: str
    parameters: Mapping[str, Any] = attrs.field(factory=dict)
    source: str | None = None


@attrs.frozen(kw_only=True)
class Shard:
    """Some rules over a range of steps.

    Args:
        trial_path: The trial.
        rules: The rules, by name.
        start_step: First global step, inclusive.
        end_step: First global step that is not judged; None judges all that are left.
    """

    trial_path: str
    rules: Mapping[str, RuleChoice]
    start_step: int = 0
    end_step: int | None = None


@attrs.frozen
class Judgement:
    """What rules found: issues, in the order of steps and rules, and statuses, in the order of the rules."""

    issues: tuple[Issue, ...]
    statuses: tuple[RuleStatus, ...]


def evaluate_on(
    cluster: Cluster, rules: Mapping[str, RuleChoice], trial_path: str, *, num_shards: int = 8
) -> Judgement:
    """Run rules over the steps that a trial has, spread over a cluster. A running trial is not followed.

    Args:
        cluster: Where to run them.
        rules: The rules, by name.
        trial_path: The trial; every worker of the cluster must be able to open it.
        num_shards: Into how many ranges of steps to divide it.

    Returns:
        What `evaluate` would find.

    Raises:
        SMDebugValueError: `num_shards` is below 1, or a rule cannot be made.

    Example:
        >>> found = evaluate_on(ProcessPool(), {"dead": RuleChoice(rule="DeadRelu")}, "ts_output/run1")
        >>> [issue.step for issue in found.issues]
    """
    if num_shards < 1:
        raise SMDebugValueError(f"num_shards must be at least 1 (got {num_shards!r})")
    trial = create_trial(trial_path)
    for choice in rules.values():
        _make(choice, trial)  # a rule that cannot be made is told of here, before anything is sent anywhere
    shards = list(make_shards(rules, trial, num_shards))
    return merge(rules, cluster.map(judge_shard, shards))


def make_shards(rules: Mapping[str, RuleChoice], trial: Trial, num_shards: int) -> Iterable[Shard]:
    """Yield the shards: ranges of steps for rules that judge each step alone, all steps for each other rule."""
    alone = {name: choice for name, choice in rules.items() if _class_of(choice).judges_steps_alone}
    for name, choice in rules.items():
        if name not in alone:  # first, because they take longest
            yield Shard(trial_path=trial.path, rules={name: choice})
    steps = trial.steps()
    size = -(-len(steps) // num_shards)
    for start in range(0, len(steps), size) if alone and steps else ():
        end = steps[start + size] if start + size < len(steps) else None
        yield Shard(trial_path=trial.path, rules=alone, start_step=steps[start], end_step=end)


def judge_shard(shard: Shard) -> Judgement:
    """Judge a shard, in the process that calls this."""
    trial = create_trial(shard.trial_path)
    evaluation = evaluate(
        {name: _make(choice, trial) for name, choice in shard.rules.items()},
        trial,
        start_step=shard.start_step,
        end_step=shard.end_step,
        follow=False,
    )
    return Judgement(tuple(evaluation), evaluation.statuses)


def merge(names: Iterable[str], parts: Iterable[Judgement]) -> Judgement:
    """Put the judgements of shards together; their order does not matter."""
    order = {name: position for position, name in enumerate(names)}
    judgements = list(parts)
    issues = [issue for part in judgements for issue in part.issues]
    issues.sort(key=lambda issue: (issue.step, order[issue.rule]))
    statuses: dict[str, RuleStatus] = {}
    for status in (status for part in judgements for status in part.statuses):
        statuses[status.name] = _joined(statuses[status.name], status) if status.name in statuses else status
    return Judgement(tuple(issues), tuple(statuses[name] for name in order if name in statuses))


_WORST_FIRST = ("Error", "IssuesFound", "Stopped", "Stopping", "InProgress", "NoIssuesFound")


def _joined(first: RuleStatus, second: RuleStatus) -> RuleStatus:
    """Return the status of a rule over two shards: the worse of the two, of the earlier shard if they are alike."""

    def rank(status: RuleStatus) -> tuple[int, int]:
        step = status.first_issue_step
        return _WORST_FIRST.index(status.status), -1 if step is None else step

    worse = min(first, second, key=rank)
    found = [status.first_issue_step for status in (first, second) if status.first_issue_step is not None]
    return attrs.evolve(
        worse,
        first_issue_step=min(found, default=None),
        num_issues=first.num_issues + second.num_issues,
        num_steps=first.num_steps + second.num_steps,
        num_skipped=first.num_skipped + second.num_skipped,
        modified_at=max(first.modified_at, second.modified_at),
    )


def _make(choice: RuleChoice, trial: Trial) -> Any:
    if choice.source is None:
        return create_rule(choice.rule, trial, choice.parameters)
    return create_custom_rule(choice.source, choice.rule, trial, choice.parameters)


def _class_of(choice: RuleChoice) -> Any:
    return find_rule_class(choice.rule, choice.source)
