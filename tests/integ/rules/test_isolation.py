"""Rules that misbehave, in processes of their own: the engine and the other rules go on."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

from sagemaker_debug_ext.errors import SMDebugCustomerError, SMDebugRuntimeError, SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.rules import Isolation, create_custom_rule, create_rule, evaluate
from sagemaker_debug_ext.testing.trials import SmallTrial, write_trial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys

TRAIN = ModeKeys.TRAIN

SOURCE = """
import os, signal, sys, time
from sagemaker_debug_ext.rules import Rule

class Misbehaving(Rule):
    def __init__(self, base_trial, how, at="1"):
        super().__init__(base_trial)
        self.how, self.at = how, int(at)
        if how == "raise at once":
            raise KeyError("no such thing")
        if how == "hang at once":
            time.sleep(3600)

    def invoke_at_step(self, step):
        print("a rule may print")
        if step < self.at:
            return step == 0
        if self.how == "hang":
            while True:
                time.sleep(3600)
        elif self.how == "leak":
            hoard = []
            while True:
                hoard.append(bytearray(2**26))
        elif self.how == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        elif self.how == "exit":
            os._exit(3)
        elif self.how == "leave":
            sys.exit("enough")
        elif self.how == "raise":
            raise ZeroDivisionError("by zero")
        elif self.how == "chatter":
            sys.stdout.write("{}" * 9 + chr(10))
        return False

    def evaluation_ended(self):
        if self.output_path:
            with open(self.output_path, "w") as file:
                file.write("done")
"""


@pytest.fixture
def trial(tmp_path):
    write_trial(tmp_path / "trial", {(TRAIN, step): {"x": np.full(1, float(step))} for step in range(3)})
    return create_trial(str(tmp_path / "trial"))


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "rule.py"
    path.write_text(SOURCE)
    return path


@pytest.mark.parametrize(
    ("how", "details"),
    [
        ("hang", "SMDebugRuntimeError: rule Misbehaving took longer than 2 seconds, and was ended"),
        ("leak", "MemoryError"),
        ("crash", "SMDebugRuntimeError: the process of rule Misbehaving ended by signal SIGSEGV"),
        ("exit", "SMDebugRuntimeError: the process of rule Misbehaving ended with exit status 3"),
        ("leave", "SystemExit: enough"),
        ("raise", "ZeroDivisionError: by zero"),
    ],
)
def test_a_rule_that_misbehaves_ends_with_an_error_and_the_others_go_on(trial, source, how, details):
    """What it found before stays found, but the status tells of the error."""
    # only the one that hangs is to meet the time limit, however busy the machine is
    isolation = Isolation(timeout_seconds=2 if how == "hang" else 60, memory_bytes=2**30)
    rules = {
        "bad": create_custom_rule(source, "Misbehaving", trial, {"how": how}, isolation=isolation),
        "good": create_rule("AllZero", trial, {"tensor_regex": "x"}),
    }
    process = rules["bad"]._process
    evaluation = evaluate(rules, trial)
    assert [(issue.rule, issue.step) for issue in evaluation] == [("bad", 0), ("good", 0)]
    bad, good = evaluation.statuses
    assert (bad.status, bad.details) == ("Error", details)
    assert (good.status, good.num_steps) == ("IssuesFound", 3)
    rules["bad"].close()
    assert process.poll() is not None


def test_what_a_rule_prints_is_not_taken_for_its_answer(trial, source):
    """Nothing it writes confuses the two processes."""
    rule = create_custom_rule(source, "Misbehaving", trial, {"how": "chatter"}, isolation=Isolation())
    evaluation = evaluate([rule], trial)
    assert [issue.step for issue in evaluation] == [0]
    assert evaluation.statuses[0].num_steps == 3


def test_a_rule_finishes_its_work_and_its_process_ends(trial, source, tmp_path):
    """With the folder that it was given here."""
    rule = create_custom_rule(source, "Misbehaving", trial, {"how": "well", "at": 9}, isolation=Isolation())
    rule.output_path = str(tmp_path / "out")
    process = rule._process
    evaluate([rule], trial).run()
    assert (tmp_path / "out").read_text() == "done"
    assert process.poll() is not None


@pytest.mark.parametrize(
    ("parameters", "error", "match"),
    [
        ({"how": "raise at once"}, SMDebugCustomerError, "no such thing"),
        ({"how": "hang at once"}, SMDebugRuntimeError, "longer than 1 second"),
        ({}, SMDebugValueError, "needs the parameters how"),
        ({"how": "x", "hwo": 1}, SMDebugValueError, "did you mean 'how'"),
        ({"how": object()}, SMDebugValueError, "'how' of rule Misbehaving must be text"),
    ],
)
def test_a_rule_that_cannot_be_made_says_so_at_once(trial, source, parameters, error, match):
    """With the error that it would raise in this process."""
    # only the one that hangs is to meet the time limit, however busy the machine is
    isolation = Isolation(startup_seconds=1 if parameters.get("how") == "hang at once" else 60)
    with pytest.raises(error, match=match):
        create_custom_rule(source, "Misbehaving", trial, parameters, isolation=isolation)


def test_a_class_that_is_no_rule_is_refused(trial, source):
    """In the other process too."""
    with pytest.raises(SMDebugTypeError, match="must be a subclass of Rule"):
        create_custom_rule(source, "os", trial, isolation=Isolation())


def test_a_rule_of_the_catalog_may_have_a_process_too(trial, tmp_path):
    """And gives the same issues."""
    given = {"tensor_regex": ["x"], "threshold": 100}
    here = evaluate([create_rule("AllZero", trial, given)], trial).run()
    rule = create_rule("AllZero", trial, given, isolation=Isolation())
    assert evaluate([rule], trial).run() == here
    other = create_rule("SimilarAcrossRuns", trial, None, [trial], isolation=Isolation())
    assert evaluate([other], trial).run() == []


def test_issues_of_an_isolated_rule_may_depend_on_what_the_model_learns(trial):
    """The engine decides on them, so it has to know."""
    rule = create_rule("LossSpike", trial, {"unless_learnt": 60}, isolation=Isolation())
    assert rule.unless_learnt == 60
    assert create_rule("LossSpike", trial, isolation=Isolation()).unless_learnt is None


def test_actions_of_an_isolated_rule_run_here(trial, source):
    """They may be functions of the caller."""
    calls = []
    given = {"how": "well", "at": 9, "action_json": '{"name": "note"}'}
    rule = create_custom_rule(
        source, "Misbehaving", trial, given, isolation=Isolation(), action_handlers={"note": lambda *_: calls.append(1)}
    )
    evaluate([rule], trial).run()
    assert calls == [1]


def test_a_running_trial_is_followed_by_both_processes(tmp_path, source):
    """The other one sees the steps that this one sees."""
    job = SmallTrial(tmp_path / "live")
    trial = create_trial(str(tmp_path / "live"))
    plan = iter(range(4))

    def sleep(_):
        step = next(plan)
        job.end() if step == 3 else job.write(TRAIN, step, {"x": 0.0})

    rule = create_rule("AllZero", trial, {"tensor_regex": "x"}, isolation=Isolation())
    assert [issue.step for issue in evaluate([rule], trial, sleep=sleep)] == [0, 1, 2]


@pytest.mark.parametrize("name", ["timeout_seconds", "startup_seconds", "memory_bytes"])
def test_limits_must_be_above_zero(name):
    """Named in the error."""
    with pytest.raises(SMDebugValueError, match=f"{name} must be above 0"):
        Isolation(**{name: 0})


def test_a_forgotten_rule_leaves_no_process(trial, source):
    """Its end comes with that of the object."""
    rule = create_custom_rule(source, "Misbehaving", trial, {"how": "well"}, isolation=Isolation())
    pid = rule._process.pid
    del rule
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
    pytest.fail("the process is still there")


def test_an_isolated_rule_that_waits_for_the_end_of_a_job_learns_of_it(tmp_path):
    """Though no step tells it of the end."""
    job = SmallTrial(tmp_path)
    for step in range(8):
        job.write(TRAIN, step, {"Loss_output_0": np.ones(1)})
    trial = create_trial(str(tmp_path))
    parameters = {"window": 2, "patience": 4}
    rule = create_rule("LossPlateau", trial, parameters, isolation=Isolation())
    assert [issue.step for issue in evaluate([rule], trial, sleep=lambda _: job.end())] == [7]
