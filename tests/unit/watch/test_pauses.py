"""Pauses of an hour between two looks do not hold up the end of training."""

from __future__ import annotations

import threading

import pytest

from sagemaker_debug_ext.watch.pauses import Pauses
from sagemaker_debug_ext.watch.profiler_rules import ProfilerRuleEvaluations
from support.profiler import unpack

LONG = 3_600.0


@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize(("wake", "has_ended"), [(Pauses.hurry, False), (Pauses.end, True)])
def test_pause_when_woken_before_or_after_its_begin_then_ends(wake, has_ended, is_first):
    """No call is missed, and a later pause is short."""
    pauses, answers = Pauses(), []
    thread = threading.Thread(target=lambda: answers.extend(pauses.take(LONG) for _ in range(2)), daemon=True)
    if is_first:
        wake(pauses)
    thread.start()
    wake(pauses)
    thread.join(60)
    assert answers == [has_ended, has_ended]


def test_profiler_rules_when_their_data_have_ended_then_do_not_wait_for_their_next_look(tmp_path):
    """The end mark in the data is looked for at once."""
    path = unpack(tmp_path) / "gpu_two_nodes" / "profiler-output"
    rule = {"RuleConfigurationName": "Busy", "RuleParameters": {"rule_to_invoke": "CPUBottleneck", "threshold": "19"}}
    changed = threading.Event()
    rules = ProfilerRuleEvaluations("job", [rule], path, {"Busy": None}, lambda _: changed.set(), LONG)
    rules.start()
    rules.hurry()
    assert changed.wait(60)
    rules.join()
    assert rules.records[0].status in ("IssuesFound", "NoIssuesFound")
