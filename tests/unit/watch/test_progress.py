"""How far the rules of a job are, and how old the state is that they have evaluated."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.vocabulary import ModeKeys
from sagemaker_debug_ext.watch.evaluation import RuleEvaluations, WatchedJob
from sagemaker_debug_ext.watch.progress import Progress, ProgressMeter


@pytest.mark.parametrize(
    ("looks", "now", "expected"),
    [
        ([], 5, (None, None, None)),
        ([(0, -1, -1)], 5, (None, None, 5)),  # no step has been saved until the look
        ([(0, 9, -1), (1, 9, 4)], 3, (9, 4, 3)),  # steps from before the start are counted from the start
        ([(0, 4, 4), (5, 4, 4)], 6, (4, 4, 1)),  # up to date at the last look
        ([(0, 4, 4), (5, 9, 4), (6, 9, 7)], 7, (9, 7, 7)),  # step 8 may have been saved right after the first look
        ([(0, 4, 4), (5, 9, 4), (7, 12, 9), (8, 12, 10)], 9, (12, 10, 4)),  # saved right after the second look
        ([(0, 4, 4), (5, 9, 4), (7, 9, 9)], 8, (9, 9, 1)),
    ],
)
def test_progress_when_steps_are_judged_then_the_lag_is_the_age_of_the_last_look_without_open_steps(
    looks, now, expected
):
    """Each look has a time, the last visible step and the last judged one."""
    time = 0
    meter = ProgressMeter(lambda: time)
    for time, last_step, judged_step in looks:  # noqa: B007 - the clock reads it
        meter.look(last_step, judged_step)
    time = now
    last_step, judged_step, lag = expected
    assert meter.read() == Progress(last_step=last_step, judged_step=judged_step, lag_seconds=lag)


def test_progress_when_the_evaluation_has_ended_then_nothing_lags():
    """Rules that found an issue leave later steps unjudged."""
    meter = ProgressMeter(lambda: 0)
    meter.look(4, 2)
    meter.end(4, 3)
    assert meter.read() == Progress(last_step=4, judged_step=3)


class Probe:
    """Notes the progress of the evaluation when a rule finds an issue."""

    at_issue = None

    rules = None

    def issue_found(self, issue):
        self.at_issue = self.rules and self.rules.progress

    def status_changed(self, record):
        """Do nothing."""


@pytest.mark.parametrize(
    ("value", "judged", "at_issue"),
    [(1.0, 30, None), (np.nan, 10, Progress(last_step=30, judged_step=0, lag_seconds=0.0))],
)
def test_evaluation_when_it_goes_on_then_its_progress_follows(tmp_path, value, judged, at_issue):
    """The rule ends at its first issue, or at the end of the trial."""
    trial = SmallTrial(tmp_path)
    for step in (0, 10, 20, 30):
        trial.write(ModeKeys.TRAIN, step, {"gradient/a": np.array([1.0 if step < 10 else value])}, global_step=step)
    trial.end()
    rule = {"RuleConfigurationName": "E", "RuleParameters": {"rule_to_invoke": "ExplodingTensor"}}
    job = WatchedJob(name="job", rules=[rule], trial=str(tmp_path), results={"E": None})
    probe = Probe()
    probe.rules = rules = RuleEvaluations(job, probe, lambda record: {}, 0.01, lambda: 7.0)
    assert rules.progress == Progress()
    rules.run()
    assert probe.at_issue == at_issue
    assert rules.progress == Progress(last_step=30, judged_step=judged)
    assert rules.records["E"].status.last_step == judged


def test_evaluation_when_one_worker_never_writes_then_rules_wait_for_complete_steps(tmp_path):
    """No step is judged while its other half may come; the end of the job shows that it does not."""
    trial = SmallTrial(tmp_path, ["worker_0", "worker_1"])
    for step in (0, 1, 2):
        values = {"gradient/a": np.array([np.nan])}
        trial.write(ModeKeys.TRAIN, step, values, global_step=step, worker="worker_0")
    rule = {"RuleConfigurationName": "E", "RuleParameters": {"rule_to_invoke": "ExplodingTensor"}}
    job = WatchedJob(name="job", rules=[rule], trial=str(tmp_path), results={"E": None})
    waits = []
    rules = RuleEvaluations(job, Probe(), lambda record: {}, 7.0)

    def wait(seconds):
        waits.append((seconds, rules.records["E"].status.status))
        trial.end()

    rules._pauses.take = wait
    rules.run()
    assert waits == [(7.0, "InProgress")]
    assert (rules.records["E"].status.status, rules.records["E"].status.first_issue_step) == ("IssuesFound", 0)
