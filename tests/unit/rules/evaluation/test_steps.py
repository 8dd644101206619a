from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.analysis.utils import no_refresh
from sagemaker_debug_ext.rules.evaluation.steps import iter_steps
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys


def visited(*arguments, **options):
    """Return the steps that are visited, without the Nones that stand for waiting."""
    return [step for step in iter_steps(*arguments, **options) if step is not None]


class Job:
    """A job that gets one step, or what a list says, further each time the follower sleeps."""

    def __init__(self, path, plan):
        self.writer = SmallTrial(path)
        self.plan = list(plan)
        self.slept = []

    def sleep(self, seconds):
        self.slept.append(seconds)
        for step in self.plan.pop(0):
            self.write(step)

    def write(self, step):
        if step == "end":
            self.writer.end()
        else:
            self.writer.write(ModeKeys.TRAIN, step, {"x": np.ones(1)}, global_step=step)


@pytest.fixture
def ended(make_trial):
    return make_trial({(ModeKeys.TRAIN, step): {"x": np.ones(1)} for step in range(5)})


@pytest.mark.parametrize(
    ("bounds", "steps"), [((), [0, 1, 2, 3, 4]), ((2,), [2, 3, 4]), ((0, 3), [0, 1, 2]), ((3, 3), []), ((7,), [])]
)
def test_steps_of_an_ended_trial_are_visited_once_in_order(ended, bounds, steps):
    """Start inclusive, end exclusive; nothing is waited for."""

    def refuse(_):
        raise AssertionError("an ended trial is not waited for")

    assert list(iter_steps(ended, *bounds, sleep=refuse)) == steps


def test_a_running_trial_is_not_followed_beyond_the_last_step_asked_for(tmp_path):
    """Once the last of them is complete, no later step has to prove it."""
    job = Job(tmp_path, [[0, 1], [2]])
    assert visited(create_trial(str(tmp_path)), 0, 3, sleep=job.sleep) == [0, 1, 2]
    assert job.plan == []


def test_a_running_trial_is_followed_until_its_end(tmp_path):
    """Gaps are no steps, and the last ones are not lost; a wait without a new step is told as None, and the end too.

    Steps that are written while others are visited are looked for after a wait.
    """
    job = Job(tmp_path, [[0], [10, 20], [], [35], [40, "end"]])
    trial = create_trial(str(tmp_path))
    steps = list(iter_steps(trial, poll_seconds=0.5, sleep=job.sleep))
    assert steps == [None, 0, 10, 20, None, 35, 40, None]
    assert job.slept == [0.5] * 5
    assert job.plan == []


def test_the_end_is_told_when_it_is_seen_together_with_the_last_steps(tmp_path):
    """As when somebody else has looked at the trial meanwhile."""
    job = Job(tmp_path, [[0], [1, "end"]])
    trial = create_trial(str(tmp_path))
    steps = []
    for step in iter_steps(trial, sleep=job.sleep):
        steps.append(step)
        trial.steps()
    assert steps == [None, 0, 1, None]


def test_a_running_trial_is_left_once_a_later_step_shows_that_the_end_is_reached(tmp_path):
    """No need to wait for the job then."""
    job = Job(tmp_path, [[0], [9], [12]])
    assert visited(create_trial(str(tmp_path)), 0, 10, sleep=job.sleep) == [0, 9]


def test_a_step_that_comes_late_is_left_out(tmp_path):
    """Order goes before completeness."""
    job = Job(tmp_path, [[0, 2], [1], [3, "end"]])
    assert visited(create_trial(str(tmp_path)), sleep=job.sleep) == [0, 2, 3]


@pytest.mark.parametrize("still", [False, True])
def test_without_following_only_what_is_there_is_visited(tmp_path, still):
    """Also if the trial does not refresh by itself."""
    job = Job(tmp_path, [])
    job.write(0)
    trial = create_trial(str(tmp_path))
    with no_refresh(trial if still else []):
        assert list(iter_steps(trial, follow=still, sleep=job.sleep)) == [0]


def test_stopping_is_possible_before_each_step_and_each_wait(tmp_path):
    """Steps that are there are not visited any more."""
    job = Job(tmp_path, [[3]])
    for step in range(3):
        job.write(step)
    seen = []
    for step in iter_steps(create_trial(str(tmp_path)), should_stop=lambda: len(seen) == 2, sleep=job.sleep):
        seen.append(step)
    assert seen == [0, 1]
    assert list(iter_steps(create_trial(str(tmp_path)), 10, should_stop=lambda: True, sleep=job.sleep)) == []
    assert job.slept == []


def test_a_long_wait_is_explained_once(tmp_path, caplog):
    """Who forgot to close a hook is told what is waited for; news starts no further message."""
    job = Job(tmp_path, [[0], *[[]] * 40, [1], *[[]] * 40, ["end"]])
    trial = create_trial(str(tmp_path))
    assert visited(trial, poll_seconds=1.0, sleep=job.sleep) == [0, 1]
    (record,) = caplog.records
    assert "waiting for steps" in record.message
    assert tmp_path.name in record.message
