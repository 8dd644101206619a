"""What a running job shows: lines where nobody watches, bars on a terminal."""

import sys

import pytest

from sagemaker_debug_ext import modes
from sagemaker_debug_ext.cli import _progress
from sagemaker_debug_ext.local.events import (
    ActionTaken,
    LinePrinted,
    RuleStatusChanged,
    StatusChanged,
    StepSaved,
    describe_event,
)

JOB = "digits-1"
STATUS = StatusChanged(job_name=JOB, status="Failed", secondary_status="Failed", reason="exit code 3")
FIRED = RuleStatusChanged(job_name=JOB, rule="Overfit", status="IssuesFound", details="at step 7", step=7)
QUIET = RuleStatusChanged(job_name=JOB, rule="Overfit", status="NoIssuesFound")
ACTION = ActionTaken(job_name=JOB, rule="Overfit", action="stoptraining", outcome="asked to stop")
LINE = LinePrinted(job_name=JOB, stream="stdout", text="epoch 1")


def saved(step):
    return StepSaved(job_name=JOB, step=step, mode=modes.TRAIN, mode_step=step, worker="worker_0", tensors=3, size=10)


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (STATUS, "digits-1: Failed (Failed): exit code 3"),
        (FIRED, "digits-1: rule Overfit IssuesFound: at step 7"),
        (ACTION, "digits-1: rule Overfit, action stoptraining: asked to stop"),
        (QUIET, None),
        (LINE, None),
    ],
    ids=["status", "fired", "action", "nothing found", "printed"],
)
def test_only_news_get_a_line(event, line):
    """Statuses, findings and actions are told; what is fine is not."""
    assert describe_event(event) == line


def test_lines_are_printed_where_there_is_no_terminal(capsys):
    """Steps are told now and then, not each."""
    with _progress.show_progress([JOB], 200) as on_event:
        for event in (STATUS, *map(saved, range(120)), LINE):
            on_event(event)
    assert capsys.readouterr().err.splitlines() == [
        "digits-1: Failed (Failed): exit code 3",
        "digits-1: step 0 of 200 saved",
        "digits-1: step 50 of 200 saved",
        "digits-1: step 100 of 200 saved",
    ]


def test_bars_are_drawn_on_a_terminal(capsys, monkeypatch):
    """Each job has a bar that shows its step and how much was saved; news appear above."""
    pytest.importorskip("rich")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    with _progress.show_progress([JOB], 200) as on_event:
        for event in (saved(0), saved(99), FIRED):
            on_event(event)
    shown = capsys.readouterr().err
    assert "rule Overfit IssuesFound: at step 7" in shown
    assert "step 100/200, 6 values saved" in shown
