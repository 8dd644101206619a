"""Rules over a trial that is too large for one process: shards are evaluated anywhere and merged here.

`Executor` is the interface of an engine; `ProcessPool` is one for this machine, `RayCluster` one for many. Each
shard opens the trial by its path, so it must be reachable from everywhere. Rules whose verdict at a step follows from
the trial alone (`Rule.is_stateless`) are spread over ranges of steps; those with a memory see all steps in order,
spread over shares of the tensors if they remember each tensor by itself (`Rule.has_per_tensor_state`), else one to a
shard. Either way the issues are those of `evaluate`.
"""

from __future__ import annotations

import concurrent.futures
import functools
import itertools
import multiprocessing
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar, cast

import attrs

from sagemaker_debug_ext._imports.optional import import_optional
from sagemaker_debug_ext._json import JSONObject
from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.rules.base import Rule
from sagemaker_debug_ext.rules.builtin_rule import Measurement, TensorRule
from sagemaker_debug_ext.rules.evaluation.blocks import num_cores
from sagemaker_debug_ext.rules.evaluation.engine import evaluate
from sagemaker_debug_ext.rules.evaluation.status import RuleStatus, condition_met_details, shortfall_details
from sagemaker_debug_ext.rules.factory.creation import make_rule
from sagemaker_debug_ext.rules.factory.reference import RuleReference
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.trials import Trial, create_trial

T = TypeVar("T")
R = TypeVar("R")


class Executor(Protocol):
    """Calls a function for many arguments, in processes of its choice."""

    def map(self, function: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Return the results in the order of the items; function, items and results can be pickled."""


@attrs.frozen
class ProcessPool:
    """Processes on this machine.

    Args:
        num_processes: Number of processes; the number of cores when not given.
    """

    num_processes: int | None = None

    def map(self, function: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Call the function in the processes, which end afterwards."""
        context = multiprocessing.get_context("spawn")  # a fork would copy threads that hold locks
        most = num_cores() if self.num_processes is None else self.num_processes
        share = num_cores() // max(min(most, len(items)), 1)
        with concurrent.futures.ProcessPoolExecutor(
            most, mp_context=context, initializer=_limit_threads, initargs=(share,)
        ) as pool:
            return list(pool.map(function, items))


def _limit_threads(number: int) -> None:
    """Limit the threads of rules in this process, unless the environment has a limit."""
    os.environ.setdefault("OMP_NUM_THREADS", str(max(number, 1)))


@attrs.frozen
class RayCluster:
    """The workers of a Ray cluster: the one that ``ray.init`` has connected to, else one on this machine.

    Raises:
        MissingDependencyError: The package ``ray`` is not installed.
    """

    def map(self, function: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Call the function as tasks of the cluster."""
        ray: Any = import_optional("ray", "evaluating on a Ray cluster", "ray")
        if not ray.is_initialized():
            ray.init(include_dashboard=False, log_to_driver=False)
        task = _ray_task(ray, function)
        results: list[R] = ray.get([task.remote(item) for item in items])
        return results


@functools.lru_cache(maxsize=8)
def _ray_task(ray: Any, function: Callable[..., Any]) -> Any:
    """Return a function as a task; cached, so that it is sent to the workers once."""
    return ray.remote(function)


RuleChoice: TypeAlias = RuleReference
"""One of the rules to evaluate."""


@attrs.frozen(kw_only=True)
class Shard:
    """Some rules over a range of steps.

    Args:
        trial_path: The trial.
        rules: The rules, by name.
        start_step: First global step, inclusive.
        end_step: First global step that is not evaluated; None evaluates all that are left.
        only_steps: The steps of that range that are evaluated; None for all of them.
        output_path: Folder for what the rules write; nothing is written when None.
        share: Number of the share of tensors to evaluate, and number of shares; None for all tensors.
    """

    trial_path: str
    rules: Mapping[str, RuleReference]
    start_step: int = 0
    end_step: int | None = None
    only_steps: frozenset[int] | None = None
    output_path: str | None = None
    share: tuple[int, int] | None = None


Measurements: TypeAlias = Mapping[str, Mapping[int, Mapping[str, Measurement]]]
"""Rule → global step → tensor → its measurement."""


@attrs.frozen
class ShardResult:
    """Issues and statuses of the rules of a shard, or of several shards together.

    Args:
        issues: The issues, in the order of steps and rules.
        statuses: The statuses, in the order of the rules.
        measurements: Measurements of a share of the tensors; their issues are made when all shares are merged.
    """

    issues: tuple[Issue, ...]
    statuses: tuple[RuleStatus, ...]
    measurements: Measurements = attrs.field(factory=dict)

    def to_json_dict(self) -> JSONObject:
        """Return the evaluation as an object for Python's JSON, which may hold NaN."""
        return {
            "issues": [issue.to_json_dict() for issue in self.issues],
            "statuses": [status.to_json_dict() for status in self.statuses],
            "measurements": {
                rule: {
                    str(step): {name: attrs.asdict(measurement) for name, measurement in measurements.items()}
                    for step, measurements in steps.items()
                }
                for rule, steps in self.measurements.items()
            },
        }

    @classmethod
    def from_json_dict(cls, described: Mapping[str, Any]) -> ShardResult:
        """Return the evaluation that `to_json_dict` described."""
        return cls(
            tuple(Issue.from_json_dict(issue) for issue in described["issues"]),
            tuple(RuleStatus(**status) for status in described["statuses"]),
            {
                rule: {
                    int(step): {name: Measurement(**measurement) for name, measurement in measurements.items()}
                    for step, measurements in steps.items()
                }
                for rule, steps in described["measurements"].items()
            },
        )


def evaluate_on(
    cluster: Executor, rules: Mapping[str, RuleReference], trial_path: str, *, num_shards: int = 8
) -> ShardResult:
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
    trial = create_trial(trial_path, wait_seconds=0)
    # made here first, so that an invalid rule raises before anything is sent
    made = {name: make_rule(reference, trial) for name, reference in rules.items()}
    shards = list(make_shards(rules, trial, num_shards))
    found = merge(rules, cluster.map(evaluate_shard, shards), trial)
    run_actions(made, found)
    return found


def run_actions(rules: Mapping[str, Rule], found: ShardResult) -> None:
    """Run the actions of rules that fired, as an evaluation in one place would."""
    for name, rule in rules.items():
        steps = set()
        for issue in found.issues:
            if issue.rule == name and issue.step not in steps:
                steps.add(issue.step)
                rule.actions.invoke(issue.message)


class Division(NamedTuple):
    """Rules by what of a trial each shard evaluates.

    Attributes:
        by_steps: Rules that evaluate each step alone.
        by_tensors: Rules that evaluate each tensor alone, so that each tensor is read once for all of them.
        whole: Rules that see everything.
    """

    by_steps: dict[str, RuleReference]
    by_tensors: dict[str, RuleReference]
    whole: dict[str, RuleReference]


def divide(rules: Mapping[str, RuleReference], trial: Trial, num_shares: int) -> Division:
    """Return how rules may be divided. With a single share of the tensors, none is divided by tensors."""
    division = Division({}, {}, {})
    for name, reference in rules.items():
        rule = make_rule(reference.without_actions(), trial)
        if rule.unless_learnt is not None:  # what a model learns shows at all steps together
            division.whole[name] = reference
        elif rule.is_stateless:
            division.by_steps[name] = reference
        elif rule.has_per_tensor_state and num_shares > 1:
            division.by_tensors[name] = reference
        else:
            division.whole[name] = reference
    return division


def make_shards(rules: Mapping[str, RuleReference], trial: Trial, num_shards: int) -> Iterable[Shard]:
    """Yield the shards.

    Ranges of steps or shares of the tensors for the rules that `divide` allows it for; everything for each other rule.
    """
    by_steps, by_tensors, whole = divide(rules, trial, num_shares=num_shards)
    for name, reference in whole.items():  # first, because they take longest
        yield Shard(trial_path=trial.path, rules={name: reference})
    steps = trial.steps() if by_steps else []
    num_ranges = min(num_shards, len(steps))
    starts = [steps[len(steps) * number // num_ranges] for number in range(num_ranges)]  # as even as may be
    for start, end in itertools.zip_longest(starts, starts[1:]):
        yield Shard(trial_path=trial.path, rules=by_steps, start_step=start, end_step=end)
    for number in range(num_shards) if by_tensors else ():  # last, because they are for few rules
        yield Shard(trial_path=trial.path, rules=by_tensors, share=(number, num_shards))


def evaluate_shard(shard: Shard) -> ShardResult:
    """Evaluate a shard, in the process that calls this."""
    trial = create_trial(shard.trial_path, wait_seconds=0)
    # actions run after the merge; otherwise each shard would run them
    rules = {name: make_rule(reference.without_actions(), trial) for name, reference in shard.rules.items()}
    tensor_rules = cast("dict[str, TensorRule]", rules)  # only those have a state for each tensor
    if shard.share is not None:
        for rule in tensor_rules.values():
            rule.evaluate_share(*shard.share)
    evaluation = evaluate(
        rules,
        trial,
        start_step=shard.start_step,
        end_step=shard.end_step,
        only_steps=shard.only_steps,
        follow=False,
        output_path=shard.output_path,
    )
    issues = tuple(evaluation)
    if shard.share is None:
        return ShardResult(issues, evaluation.statuses)
    return ShardResult((), evaluation.statuses, {name: rule.measurements for name, rule in tensor_rules.items()})


def merge(rules: Mapping[str, RuleReference], parts: Iterable[ShardResult], trial: Trial) -> ShardResult:
    """Merge the results of shards, in any order.

    Args:
        rules: The rules, by name.
        parts: The results of the shards.
        trial: The trial.
    """
    order = {name: position for position, name in enumerate(rules)}
    evaluation = list(parts)
    issues = [issue for part in evaluation for issue in part.issues]
    statuses: dict[str, RuleStatus] = {}
    for status in (status for part in evaluation for status in part.statuses):
        statuses[status.name] = _joined(statuses[status.name], status) if status.name in statuses else status
    shared: dict[str, dict[int, dict[str, Measurement]]] = {}
    for name, steps in ((name, steps) for part in evaluation for name, steps in part.measurements.items()):
        of_rule = shared.setdefault(name, {})  # though there may be none at all
        for step, measurements in steps.items():
            of_rule.setdefault(step, {}).update(measurements)
    for name, found in shared.items():
        made = _issues_of_measurements(name, rules[name], found, trial)
        statuses[name] = _status_of_measurements(statuses[name], trial, len(found), made)
        issues += made
    issues.sort(key=lambda issue: (issue.step, order[issue.rule]))
    return ShardResult(tuple(issues), tuple(statuses[name] for name in order if name in statuses))


def _issues_of_measurements(
    name: str, reference: RuleReference, found: Mapping[int, Mapping[str, Measurement]], trial: Trial
) -> list[Issue]:
    rule = cast("TensorRule", make_rule(reference.without_actions(), trial))
    issues = [issue for step in sorted(found) for issue in rule.issues_of(rule.views.at(step), found[step])]
    return [attrs.evolve(issue, rule=name) for issue in issues]


def _status_of_measurements(status: RuleStatus, trial: Trial, num_steps: int, issues: Sequence[Issue]) -> RuleStatus:
    """Return the status of a rule whose issues were found in shares of the tensors."""
    steps = trial.steps()
    counts = {
        "num_steps": num_steps,
        "num_skipped": len(steps) - num_steps,
        "num_issues": len(issues),
        "last_step": max(steps, default=None),
    }
    if status.status == "Error":
        return attrs.evolve(status, **counts)  # type: ignore[arg-type]
    if not issues:
        details = shortfall_details(num_steps, len(steps) - num_steps)
        return attrs.evolve(status, status="NoIssuesFound", details=details, first_issue_step=None, **counts)  # type: ignore[arg-type]
    first = issues[0].step
    return attrs.evolve(
        status,
        status="IssuesFound",
        details=condition_met_details(status.rule, first),
        first_issue_step=first,
        **counts,  # type: ignore[arg-type]
    )


_WORST_FIRST = ("Error", "IssuesFound", "Stopped", "Stopping", "InProgress", "NoIssuesFound")


def _joined(first: RuleStatus, second: RuleStatus) -> RuleStatus:
    """Return the status of a rule over two shards: the worse of the two, of the earlier shard if they are alike."""

    def rank(status: RuleStatus) -> tuple[int, int]:
        step = status.first_issue_step
        return _WORST_FIRST.index(status.status), -1 if step is None else step

    worse = min(first, second, key=rank)
    found = [status.first_issue_step for status in (first, second) if status.first_issue_step is not None]
    last = [status.last_step for status in (first, second) if status.last_step is not None]
    num_steps, num_skipped = first.num_steps + second.num_steps, first.num_skipped + second.num_skipped
    return attrs.evolve(
        worse,
        details=shortfall_details(num_steps, num_skipped) if worse.status == "NoIssuesFound" else worse.details,
        first_issue_step=min(found, default=None),
        num_issues=first.num_issues + second.num_issues,
        num_steps=num_steps,
        num_skipped=num_skipped,
        last_step=max(last, default=None),
        modified_at=max(first.modified_at, second.modified_at),
    )
