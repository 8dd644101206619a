from __future__ import annotations

import itertools
import json
import threading

import numpy as np
import pytest

from sagemaker_debug_ext.errors import (
    NoMoreData,
    RuleEvaluationConditionMet,
    SMDebugTypeError,
    SMDebugValueError,
    StepNotYetAvailable,
    TensorUnavailable,
)
from sagemaker_debug_ext.rules import Rule, RuleStatus, create_rule, evaluate
from sagemaker_debug_ext.rules.action import Actions
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN = ModeKeys.TRAIN
STEPS = {(TRAIN, step): {"x": np.full(1, step), "gradient/w": np.ones(1)} for step in range(4)}


class FiresAt(Rule):
    """Fires at some steps, raises at others, and notes the steps it is shown."""

    def __init__(self, base_trial, steps=(), raising=None):
        super().__init__(base_trial)
        self.steps = steps
        self.raising = raising or {}
        self.seen = []

    def invoke_at_step(self, step):
        self.seen.append(step)
        if step in self.raising:
            raise self.raising[step]
        return step in self.steps


class Other(FiresAt):
    """Another one."""


@pytest.fixture
def trial(make_trial):
    return make_trial(STEPS)


@pytest.fixture
def clock():
    return itertools.count(100.0).__next__


def status_of(evaluation):
    (status,) = evaluation.statuses
    return status


def test_all_rules_see_each_step_and_issues_come_in_order(trial):
    """By step, then by the order of the rules."""
    rules = [FiresAt(trial, (1, 3)), Other(trial, (0, 1))]
    evaluation = evaluate(rules, trial)
    issues = [(issue.step, issue.rule) for issue in evaluation]
    assert issues == [(0, "Other"), (1, "FiresAt"), (1, "Other"), (3, "FiresAt")]
    assert [rule.seen for rule in rules] == [[0, 1, 2, 3]] * 2


def test_bounds_limit_the_steps(trial):
    """Start inclusive, end exclusive."""
    rule = FiresAt(trial, (0, 1, 2, 3))
    assert [issue.step for issue in evaluate([rule], trial, start_step=1, end_step=3)] == [1, 2]


def test_status_of_a_quiet_rule_is_no_issues_found(trial, clock):
    """In progress before and meanwhile."""
    evaluation = evaluate([FiresAt(trial)], trial, clock=clock)
    before = status_of(evaluation)
    assert (before.status, before.details, before.num_steps) == ("InProgress", "", 0)
    assert evaluation.run() == []
    after = status_of(evaluation)
    assert (after.status, after.details, after.num_steps, after.num_issues) == ("NoIssuesFound", "", 4, 0)
    assert after.first_issue_step is None
    assert after.modified_at > before.modified_at


def test_status_of_a_fired_rule_is_worded_as_sagemaker_words_it(trial):
    """From the first issue on, and to the end."""
    evaluation = evaluate({"My rule": FiresAt(trial, (1, 2))}, trial)
    issue = next(evaluation)
    details = "RuleEvaluationConditionMet: Evaluation of the rule FiresAt at step 1 resulted in the condition being met"
    for _ in range(2):
        status = status_of(evaluation)
        assert (status.name, status.rule, status.status) == ("My rule", "FiresAt", "IssuesFound")
        assert (status.details, status.first_issue_step) == (details, 1)
        evaluation.run()
    assert issue.rule == "My rule"
    assert status_of(evaluation).num_issues == 2


class HoldsBack(FiresAt):
    """Returns each issue one step later."""

    def result_at(self, step):
        return [self.issue(step - 1)] if self.invoke_at_step(step - 1) else []


def test_status_of_a_rule_that_holds_an_issue_back_names_the_step_of_the_issue(trial):
    """As the line of the issue does, and not the step at which the rule returned it."""
    evaluation = evaluate([HoldsBack(trial, (1, 2))], trial)
    assert [issue.step for issue in evaluation.run()] == [1, 2]
    status = status_of(evaluation)
    assert (status.first_issue_step, status.num_issues) == (1, 2)
    assert "at step 1 resulted" in status.details


def test_a_rule_may_end_at_its_first_issue_while_others_go_on(trial):
    """As SageMaker ends rules; with all of them ended no further step is looked at."""
    rules = [FiresAt(trial, (1, 2)), Other(trial, (3,))]
    evaluation = evaluate(rules, trial, stop_rule_on_first_issue=True)
    assert [(issue.step, issue.rule) for issue in evaluation] == [(1, "FiresAt"), (3, "Other")]
    assert [rule.seen for rule in rules] == [[0, 1], [0, 1, 2, 3]]
    assert {status.status for status in evaluation.statuses} == {"IssuesFound"}


@pytest.mark.parametrize(
    ("error", "details"),
    [
        (ZeroDivisionError("by zero"), "ZeroDivisionError: by zero"),
        (SystemExit(3), "SystemExit: 3"),
        (SMDebugValueError("bad"), "SMDebugValueError: bad"),
        (KeyError(), "KeyError"),
    ],
)
def test_a_rule_that_raises_ends_with_an_error_and_the_others_go_on(trial, error, details):
    """The status has the last line of the traceback."""
    broken, sound = FiresAt(trial, (0,), {1: error}), Other(trial, (2,))
    evaluation = evaluate([broken, sound], trial)
    assert [issue.step for issue in evaluation] == [0, 2]
    failed, fired = evaluation.statuses
    assert (failed.status, failed.details, fired.status) == ("Error", details, "IssuesFound")
    assert broken.seen == [0, 1]


@pytest.mark.parametrize(
    "error", [TensorUnavailable("z"), StepNotYetAvailable(9, ModeKeys.GLOBAL), NoMoreData(9, ModeKeys.GLOBAL, 3)]
)
def test_steps_without_what_a_rule_needs_are_skipped(trial, error):
    """And counted."""
    evaluation = evaluate([FiresAt(trial, (1, 2), {1: error})], trial)
    assert [issue.step for issue in evaluation] == [2]
    assert (status_of(evaluation).num_steps, status_of(evaluation).num_skipped) == (3, 1)


def test_status_when_steps_are_judged_then_names_the_last_one(trial):
    """Also a step that lacks what the rule needs; a rule that has ended judges no further one."""
    rules = {"fires": FiresAt(trial, (1,)), "skips": FiresAt(trial, (), {3: TensorUnavailable("z")})}
    evaluation = evaluate(rules, trial, stop_rule_on_first_issue=True)
    assert [status.last_step for status in evaluation.statuses] == [None, None]
    next(evaluation)
    assert [status.last_step for status in evaluation.statuses] == [1, 1]
    evaluation.run()
    assert [status.last_step for status in evaluation.statuses] == [1, 3]


@pytest.mark.parametrize(("end_of_rule", "seen"), [(False, [0, 1, 2, 3]), (True, [0, 1])])
def test_a_rule_may_raise_that_its_condition_is_met(trial, end_of_rule, seen):
    """Which counts as an issue, and may be its last."""
    rule = FiresAt(trial, (), {1: RuleEvaluationConditionMet("FiresAt", 1, end_of_rule)})
    evaluation = evaluate([rule], trial)
    assert [issue.step for issue in evaluation] == [1]
    assert rule.seen == seen
    assert status_of(evaluation).status == "IssuesFound"


def test_actions_run_once_when_the_rule_first_fires(trial):
    """A failing action changes nothing."""
    calls = []

    def act(_, rule_name, message):
        calls.append((rule_name, message))
        raise RuntimeError("not reachable")

    rule = FiresAt(trial, (1, 2))
    rule.actions = Actions('{"name": "act"}', rule.rule_name, handlers={"act": act})
    assert len(evaluate([rule], trial).run()) == 2
    assert calls == [("FiresAt", "Evaluation of the rule FiresAt at step 1 resulted in the condition being met")]


def test_a_rule_may_finish_its_work_after_the_last_step(trial):
    """Once; a failure there is an error of the rule."""

    class Finishing(FiresAt):
        def evaluation_ended(self):
            self.seen.append("end")
            if self.steps:
                raise OSError("disk full")

    rules = {"good": Finishing(trial), "bad": Finishing(trial, (9,))}
    evaluation = evaluate(rules, trial)
    evaluation.run()
    assert rules["good"].seen == [0, 1, 2, 3, "end"]
    assert [(status.status, status.details) for status in evaluation.statuses] == [
        ("NoIssuesFound", ""), ("Error", "OSError: disk full")
    ]  # fmt: skip


def test_should_stop_ends_the_evaluation(trial):
    """Rules that found nothing are stopped, the others keep what they found."""
    rules = [FiresAt(trial, (0,)), Other(trial)]
    evaluation = evaluate(rules, trial, should_stop=lambda: len(rules[1].seen) == 2)
    assert len(evaluation.run()) == 1
    assert [status.status for status in evaluation.statuses] == ["IssuesFound", "Stopped"]
    assert rules[1].seen == [0, 1]


def test_stop_is_announced_at_once_and_wakes_a_waiting_evaluation(tmp_path):
    """From another thread, over a trial that has no end."""
    job = SmallTrial(tmp_path)
    job.write(TRAIN, 0, {"x": np.ones(1)})
    trial = create_trial(str(tmp_path))
    evaluation = evaluate([FiresAt(trial, (0,)), Other(trial)], trial, poll_seconds=3600)
    next(evaluation)
    thread = threading.Thread(target=evaluation.run)
    thread.start()
    evaluation.stop()
    thread.join()
    assert [status.status for status in evaluation.statuses] == ["IssuesFound", "Stopped"]


def test_stopping_is_a_status_of_its_own(trial):
    """Between the request and the end."""
    evaluation = evaluate([FiresAt(trial, (0,)), Other(trial)], trial)
    next(evaluation)
    evaluation.stop()
    assert [status.status for status in evaluation.statuses] == ["IssuesFound", "Stopping"]
    assert evaluation.run() == []
    assert [status.status for status in evaluation.statuses] == ["IssuesFound", "Stopped"]


def test_closing_ends_the_evaluation_where_it_is(trial):
    """Rules that found nothing are stopped; nothing follows."""
    evaluation = evaluate([FiresAt(trial, (0, 2)), Other(trial)], trial)
    next(evaluation)
    evaluation.close()
    assert [status.status for status in evaluation.statuses] == ["IssuesFound", "Stopped"]
    assert evaluation.run() == []


def test_a_trial_that_cannot_be_read_ends_all_rules_with_an_error(trial, monkeypatch):
    """And the error comes through."""

    def fail():
        raise OSError("disk gone")

    monkeypatch.setattr(trial, "steps", fail)
    evaluation = evaluate([FiresAt(trial)], trial)
    with pytest.raises(OSError, match="disk gone"):
        evaluation.run()
    assert (status_of(evaluation).status, status_of(evaluation).details) == ("Error", "OSError: disk gone")


def test_a_running_trial_is_followed_to_its_end(tmp_path):
    """Without following, what is there is evaluated and that is all."""
    job = SmallTrial(tmp_path)
    job.write(TRAIN, 0, {"x": np.ones(1)})
    trial = create_trial(str(tmp_path))
    assert [issue.step for issue in evaluate([FiresAt(trial, (0, 1))], trial, follow=False)] == [0]
    waits = []

    def sleep(seconds):
        waits.append(seconds)
        job.write(TRAIN, 1, {"x": np.ones(1)})
        job.end()

    evaluation = evaluate([FiresAt(trial, (0, 1))], trial, poll_seconds=7, sleep=sleep)
    assert [issue.step for issue in evaluation] == [0, 1]
    assert waits == [7]
    assert status_of(evaluation).status == "IssuesFound"


def test_built_in_rules_read_each_tensor_once(trial, monkeypatch):
    """However many of them need it."""
    reads = []
    tensor_type, reader_type = type(trial.tensor("x")), type(trial.index_reader)
    read, read_columns = tensor_type.value, reader_type.read_columns

    def counting(self, step, *arguments, **keywords):
        reads.append((self.name, step))
        return read(self, step, *arguments, **keywords)

    def counting_columns(self, names, steps, mode, worker):
        for series in read_columns(self, names, steps, mode, worker):
            reads.extend((series.name, step) for step in series.steps)
            yield series

    monkeypatch.setattr(tensor_type, "value", counting)
    monkeypatch.setattr(reader_type, "read_columns", counting_columns)
    names = ("ExplodingTensor", "VanishingGradient", "ExplodingTensor")
    rules = {f"{position}": create_rule(name, trial) for position, name in enumerate(names)}
    assert evaluate(rules, trial).run() == []
    assert sorted(reads) == sorted(set(reads))
    assert len(reads) == 8


def test_no_rules_are_soon_done(trial):
    """Nothing to evaluate."""
    assert evaluate([], trial).run() == []


@pytest.mark.parametrize("given", [{"x": "VanishingGradient"}, ["VanishingGradient"]], ids=["by name", "in a list"])
def test_names_of_rules_are_refused(trial, given):
    """A rule is given as an object that was made for a trial."""
    with pytest.raises(SMDebugTypeError, match="each of rules must be a rule made for a trial"):
        evaluate(given, trial)


@pytest.mark.parametrize(
    "make", [lambda _: "VanishingGradient", FiresAt, lambda _: None], ids=["a name", "one rule", "none"]
)
def test_rules_that_are_not_in_a_list_are_refused(trial, make):
    """Rules are given as a list or a mapping."""
    with pytest.raises(SMDebugTypeError, match="rules must be a list of rules"):
        evaluate(make(trial), trial)


def test_the_path_of_a_trial_is_refused(trial):
    """The trial is given opened."""
    with pytest.raises(SMDebugTypeError, match="trial must be a trial"):
        evaluate([FiresAt(trial)], trial.path)


def test_a_rule_over_another_trial_is_refused(trial, make_trial):
    """All rules are made for the trial that is evaluated."""
    with pytest.raises(SMDebugValueError, match="must watch the very trial"):
        evaluate([FiresAt(make_trial(STEPS))], trial)


def test_rules_of_one_name_are_refused(trial):
    """Names of rules differ, because statuses are found by name."""
    with pytest.raises(SMDebugValueError, match="must differ"):
        evaluate([FiresAt(trial), FiresAt(trial)], trial)


def test_statuses_are_values_that_json_can_hold(trial):
    """A snapshot does not change."""
    evaluation = evaluate([FiresAt(trial, (0,))], trial, clock=lambda: 5.0)
    snapshot = status_of(evaluation)
    evaluation.run()
    assert snapshot == RuleStatus(name="FiresAt", rule="FiresAt", modified_at=5.0)
    assert json.loads(json.dumps(status_of(evaluation).to_json_dict()))["status"] == "IssuesFound"


def test_repr_of_rule_and_evaluation_when_shown_then_name_trial_and_state(make_trial):
    """A notebook shows what an object is, and how far it has come."""
    trial = make_trial({(ModeKeys.TRAIN, 0): {"loss": 1.0}})
    rule = create_rule("Overfit", trial)
    assert repr(rule) == f"<rule Overfit over {trial.path!r}>"
    evaluation = evaluate([rule], trial)
    assert "Overfit: InProgress, 0 steps evaluated>" in repr(evaluation)
    evaluation.run()
    assert "Overfit: NoIssuesFound, 0 steps evaluated>" in repr(evaluation)
