"""StalledTrainingRule fires when no step is saved for too long, by the clock and the times of files."""

from __future__ import annotations

import os

import pytest

from sagemaker_debug_ext.errors import InsufficientInformationForRuleInvocation
from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.store.backends.local import LocalBackend
from sagemaker_debug_ext.store.format.keys import index_key
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from support.rule_trials import TRAIN, fired_at


def write_steps(folder, gaps, ended=True):
    """Write steps whose index files are that many seconds apart, and return the time of the last."""
    job = SmallTrial(folder)
    now = 1_000_000.0
    for gap in gaps:
        now += gap
        step = job.write(TRAIN, len(list(folder.glob("index/*/*"))), {"x": 1.0})
        os.utime(folder / index_key(step, "worker_0"), (now, now))
    if ended:
        job.end()
    return now


def test_a_replay_fires_at_the_step_before_a_long_gap(tmp_path):
    """A replay fires at the step before a gap of at least the threshold."""
    write_steps(tmp_path, [0, 10, 60, 59, 61])
    trial = create_trial(str(tmp_path))
    evaluation = evaluate([create_rule("StalledTrainingRule", trial, {"threshold": 60})], trial)
    assert [(issue.step, issue.value) for issue in evaluation] == [(1, 60), (3, 61)]


def test_time_after_the_last_step_counts_unless_the_job_has_ended(tmp_path):
    """The time since the last step counts, unless the job has marked its end."""
    for ended, steps in ((True, []), (False, [0])):
        folder = tmp_path / str(ended)
        last = write_steps(folder, [0], ended)
        trial = create_trial(str(folder))
        rule = create_rule("StalledTrainingRule", trial, {"threshold": 60}, clock=lambda last=last: last + 60)
        assert fired_at(evaluate([rule], trial, follow=False)) == steps


def test_a_replay_from_remote_storage_makes_no_request(tmp_path, monkeypatch):
    """A replay from remote storage makes no request, because the listing already had the times."""
    write_steps(tmp_path, [0, 10, 70, 10, 60])
    monkeypatch.setattr(LocalBackend, "is_remote", True)
    listed = []
    list_objects = LocalBackend.list
    monkeypatch.setattr(LocalBackend, "list", lambda *given: listed.append(given[1:]) or list_objects(*given))
    trial = create_trial(str(tmp_path))
    listed.clear()
    rule = create_rule("StalledTrainingRule", trial, {"threshold": 60})
    assert fired_at(evaluate([rule], trial)) == [1, 3]
    assert listed == []


def test_a_running_trial_without_new_steps_fires_once_for_each_gap(tmp_path):
    """A running trial fires once for each gap, at the last saved step, or at 0 before the first one."""
    job = SmallTrial(tmp_path)
    time = [2_000_000.0]
    plan = [30, 30, 30, "step", 59, 2, 60, "end"]

    def sleep(_):
        what = plan.pop(0)
        if what == "step":
            step = job.write(TRAIN, 0, {"x": 1.0}, global_step=7)
            os.utime(tmp_path / index_key(step, "worker_0"), (time[0], time[0]))
        elif what == "end":
            job.end()
        else:
            time[0] += what

    trial = create_trial(str(tmp_path))
    rule = create_rule("StalledTrainingRule", trial, {"threshold": 60}, clock=lambda: time[0])
    issues = evaluate([rule], trial, sleep=sleep).run()
    assert [(issue.step, issue.value) for issue in issues] == [(0, 60), (7, 61)]


@pytest.mark.parametrize(("waited", "steps"), [(59, []), (60, [0])], ids=["just before", "at"])
def test_a_job_that_marked_no_end_when_the_threshold_has_passed_then_fires(tmp_path, waited, steps):
    """A job that died fires from the threshold on, not a second earlier."""
    last = write_steps(tmp_path, [0], ended=False)
    trial = create_trial(str(tmp_path))
    rule = create_rule("StalledTrainingRule", trial, {"threshold": 60}, clock=lambda: last + waited)
    assert fired_at(evaluate([rule], trial, follow=False)) == steps


def test_an_ended_trial_when_it_has_no_steps_then_does_not_fire(make_trial):
    """A job that ended without a saved step has no gap."""
    trial = make_trial({})
    evaluation = evaluate([create_rule("StalledTrainingRule", trial, {"threshold": 60})], trial)
    assert evaluation.run() == []
    assert [(status.status, status.num_steps) for status in evaluation.statuses] == [("NoIssuesFound", 0)]


def test_the_job_is_stopped_if_asked(tmp_path):
    """With `stop_training_on_fire`, the job is stopped once."""
    write_steps(tmp_path, [0, 99, 99])
    trial = create_trial(str(tmp_path))
    calls = []
    given = {"threshold": "60", "stop_training_on_fire": "True", "training_job_name_prefix": "Job-A"}
    rule = create_rule(
        "StalledTrainingRule", trial, given, action_handlers={"stoptraining": lambda *each: calls.append(each)}
    )
    assert len(evaluate([rule], trial).run()) == 2
    assert [call[0]["training_job_prefix"] for call in calls] == ["Job-A"]


def test_stopping_needs_the_name_of_the_job(make_trial):
    """A rule that shall stop a job is refused without the job's name."""
    with pytest.raises(InsufficientInformationForRuleInvocation, match="training_job_name_prefix"):
        create_rule("StalledTrainingRule", make_trial({}), {"stop_training_on_fire": True})
