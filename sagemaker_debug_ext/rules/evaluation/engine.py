"""`evaluate`: many rules over one pass of a trial, of a running job or of one that has ended."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sagemaker_debug_ext._printable import html_table
from sagemaker_debug_ext.analysis.utils import no_refresh
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.rules._validation import check_trial
from sagemaker_debug_ext.rules.base import Rule, check_rule
from sagemaker_debug_ext.rules.builtin_rule import BuiltinRule
from sagemaker_debug_ext.rules.evaluation.blocks import BlockReader
from sagemaker_debug_ext.rules.evaluation.guard import RuleFailure, call_rule
from sagemaker_debug_ext.rules.evaluation.held_issues import HeldIssues
from sagemaker_debug_ext.rules.evaluation.rule_run import RuleRun
from sagemaker_debug_ext.rules.evaluation.status import EvaluationStatus, RuleStatus
from sagemaker_debug_ext.rules.evaluation.steps import POLL_SECONDS, iter_steps
from sagemaker_debug_ext.rules.issue import Issue
from sagemaker_debug_ext.rules.reading.screening import Screen
from sagemaker_debug_ext.rules.reading.step_view import StepReader

if TYPE_CHECKING:
    from sagemaker_debug_ext.trials import Trial

LOG = logging.getLogger(__name__)


class _StopRequest:
    """The request to end an evaluation early, made by `Evaluation.stop` or by the `should_stop` of the caller."""

    def __init__(self, runs: Sequence[RuleRun], should_stop: Callable[[], bool] | None) -> None:
        self._runs = runs
        self._should_stop = should_stop
        self._made = threading.Event()
        self.wait = self._made.wait

    @property
    def is_made(self) -> bool:
        """Whether the evaluation has to end."""
        return self._made.is_set()

    def make(self) -> None:
        """Make the request, and announce it to the rules."""
        self._made.set()
        for run in self._runs:
            run.announce_stop()

    def check(self) -> bool:
        """Return whether the evaluation has to end; ask the caller first."""
        if self._should_stop is not None and self._should_stop():
            self.make()
        return self.is_made


class Evaluation(Iterator[Issue]):
    """Rules over one pass of a trial: iterate over it to run them. Made by `evaluate`.

    Issues are yielded in the order of their steps, and at one step in the order of the rules. Issues that depend on the
    end of the job follow those of its last step, and those that depend on what the model learns (`Rule.unless_learnt`)
    come once it has learnt too little. Other threads may read `statuses` and call `stop`; all other members belong to
    the thread that iterates.
    """

    def __init__(
        self,
        runs: Sequence[RuleRun],
        steps: Iterator[int | None],
        blocks: BlockReader,
        held: HeldIssues,
        stop: _StopRequest,
    ) -> None:
        self._runs = runs
        self._held = held
        self._steps = steps
        self._blocks = blocks
        self._stop = stop
        self._trials = list(dict.fromkeys(trial for run in runs for trial in run.rule.trials))
        self._looks_ahead = True
        self._issues = self._evaluate()

    @property
    def statuses(self) -> tuple[RuleStatus, ...]:
        """The status of each rule, in the order of the rules."""
        return tuple(run.status for run in self._runs)

    def stop(self) -> None:
        """Request the end of the evaluation; the current step is finished."""
        self._stop.make()

    def run(self) -> list[Issue]:
        """Run to the end and return all remaining issues."""
        return list(self)

    def close(self) -> None:
        """End the evaluation now; rules that are still running count as stopped."""
        self._issues.close()
        self._blocks.close()
        self._end_all("Stopped")

    def __repr__(self) -> str:
        lines = [f"{status.name}: {status.status}, {status.num_steps} steps evaluated" for status in self.statuses]
        return "\n  ".join(["<Evaluation; iterate over it to run it", *lines]) + ">"

    def _repr_html_(self) -> str:
        rows = [(status.name, status.status, str(status.num_steps), status.details or "") for status in self.statuses]
        return html_table(rows, ("rule", "status", "steps evaluated", "details"))

    def __next__(self) -> Issue:
        return next(self._issues)

    def _evaluate(self) -> Generator[Issue, None, None]:
        with contextlib.ExitStack() as stack:
            stack.callback(self._blocks.close)
            stack.push(self._fail_all)
            for step in self._steps:
                yield from self._wait() if step is None else self._evaluate_step(step)
                if not any(run.is_active for run in self._runs):
                    break
            yield from self._held.end()
        self._end_all("Stopped" if self._stop.is_made else "NoIssuesFound")

    def _fail_all(self, _kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        """End all rules with the error that ends the evaluation, such as one of reading the trial."""
        if isinstance(error, Exception):
            for run in self._runs:
                run.fail(error)

    def _evaluate_step(self, step: int) -> list[Issue]:
        """Return the issues of all rules at a step; no trial is refreshed meanwhile."""
        undecided, passed = Screen.UNDECIDED, Screen.PASS  # looked up once, because this loop is the fast path
        with no_refresh(self._trials):
            found = self._held.settle(step)
            active = [run for run in self._runs if run.is_active]
            for run, screen in zip(active, self._prescreen(step, active), strict=True):
                if screen == undecided:
                    found += run.evaluate(step)
                else:
                    run.skip(step, is_evaluated=screen == passed)
        return found

    def _prescreen(self, step: int, active: Sequence[RuleRun]) -> Sequence[int]:
        """Return what screening proves for each rule at a step."""
        rules = [run.rule for run in active]
        try:
            block = call_rule(self._blocks.at, step, rules) if self._looks_ahead else None
            if block is not None:
                return call_rule(block.screenings, rules, step)
        except RuleFailure:  # the rule that is wrong raises its error again when it evaluates the step
            LOG.debug("screening failed: all further steps are evaluated one by one", exc_info=True)
            self._looks_ahead = False
        return [Screen.UNDECIDED] * len(active)

    def _wait(self) -> list[Issue]:
        """Return the issues of all rules that follow from the absence of new steps."""
        return [issue for run in self._runs if run.is_active for issue in run.wait()]

    def _end_all(self, status: EvaluationStatus) -> None:
        for run in self._runs:
            run.end(status)


def evaluate(
    rules: Mapping[str, Rule] | Iterable[Rule],
    trial: Trial,
    *,
    start_step: int = 0,
    end_step: int | None = None,
    only_steps: Container[int] | None = None,
    stop_rule_on_first_issue: bool = False,
    follow: bool = True,
    should_stop: Callable[[], bool] | None = None,
    poll_seconds: float = POLL_SECONDS,
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], object] | None = None,
    output_path: str | None = None,
) -> Evaluation:
    """Run rules over one pass of a trial: all rules evaluate each complete step, in order.

    A running trial is followed until its job ends; an ended one is replayed. Both give the same issues. Steps at which
    something that a rule needs was not saved are skipped for that rule. A rule that raises ends with the status
    ``Error``, and the others go on. The actions of a rule run once, when it first fires.

    Args:
        rules: The rules, all over `trial`; the keys of a mapping are their names in issues and statuses.
        trial: The trial.
        start_step: First global step to evaluate, inclusive. Some rules look back further.
        end_step: First global step not to evaluate; None goes on to the end of the job.
        only_steps: Global steps to evaluate, such as a set of them; None evaluates all. Not for stateful rules.
        stop_rule_on_first_issue: End a rule at the first step with an issue, as SageMaker does.
        follow: Wait for more steps while the job runs; otherwise only saved steps are evaluated.
        should_stop: Called before each step and each wait; true stops the evaluation.
        poll_seconds: Time between two looks for new steps of a running trial.
        clock: Returns the time in seconds since the epoch, for the statuses.
        sleep: Waits between two polls; by default a wait that `Evaluation.stop` interrupts.
        output_path: Folder with a subfolder for each rule, for ``rule-result.json`` once it has ended and for the
            files of the rule itself. Nothing is written when not given.

    Returns:
        An iterator over the issues, which runs the rules as it is advanced and has their statuses.

    Raises:
        SMDebugTypeError: One of the rules is no rule.
        SMDebugValueError: A rule watches another trial, or two rules have the same name.

    Example:
        >>> evaluation = evaluate([create_rule("VanishingGradient", trial)], trial)
        >>> for issue in evaluation:
        ...     print(issue.step, issue.message)
        >>> [status.status for status in evaluation.statuses]
        ['IssuesFound']
    """
    runs = [
        RuleRun(name, rule, stop_on_first_issue=stop_rule_on_first_issue, clock=clock, output_path=output_path)
        for name, rule in _named(rules, trial).items()
    ]
    stop = _StopRequest(runs, should_stop)
    steps = iter_steps(
        trial,
        start_step,
        end_step,
        only_steps=only_steps,
        follow=follow,
        should_stop=stop.check,
        poll_seconds=poll_seconds,
        sleep=sleep or stop.wait,
    )
    views = _share_views([run.rule for run in runs], trial)
    return Evaluation(runs, steps, BlockReader(views, end_step, only_steps), HeldIssues(runs, views), stop)


def _named(rules: Mapping[str, Rule] | Iterable[Rule], trial: Trial) -> dict[str, Rule]:
    check_trial(trial, "trial")
    if isinstance(rules, (str, Rule)) or not isinstance(rules, Iterable):
        raise SMDebugTypeError(f"rules must be a list of rules, or a mapping from names to rules (got {rules!r})")
    given = list(rules.values()) if isinstance(rules, Mapping) else list(rules)
    for rule in given:
        check_rule(rule, "each of rules")
        if rule.base_trial is not trial:
            raise SMDebugValueError(
                f"{rule.rule_name} must watch the very trial at {trial.path} (got {rule.base_trial.path})"
            )
    if isinstance(rules, Mapping):
        return dict(rules)
    names = [rule.rule_name for rule in given]
    if len(set(names)) < len(names):
        raise SMDebugValueError(f"names of rules must differ; give a mapping from name to rule (got {names!r})")
    return dict(zip(names, given, strict=True))


def _share_views(rules: Iterable[Rule], trial: Trial) -> StepReader:
    """Share one reader among the rules, so that each tensor is read once."""
    views = StepReader(trial)
    for rule in rules:
        if isinstance(rule, BuiltinRule):
            rule.views = views
    return views
