"""Shards in other processes of this machine."""

from __future__ import annotations

import os

import numpy as np
import pytest

from sagemaker_debug_ext.rules import create_rule, evaluate, scaling
from sagemaker_debug_ext.rules.scaling import ProcessPool, RuleChoice, evaluate_on
from sagemaker_debug_ext.testing.trials import write_trial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys


def test_a_process_pool_gives_the_issues_of_one_process(tmp_path):
    """For rules with a memory and without."""
    steps = {(ModeKeys.TRAIN, step): {"gradient/w": np.zeros(3), "loss": 1.0} for step in range(30)}
    write_trial(tmp_path / "trial", steps)
    rules = {"a": RuleChoice(rule="VanishingGradient"), "b": RuleChoice(rule="LossNotDecreasing")}
    found = evaluate_on(ProcessPool(2), rules, str(tmp_path / "trial"), num_shards=4)
    trial = create_trial(str(tmp_path / "trial"))
    alone = evaluate({name: create_rule(reference.rule, trial) for name, reference in rules.items()}, trial)
    assert list(found.issues) == alone.run()
    assert [status.status for status in found.statuses] == ["IssuesFound", "IssuesFound"]


@pytest.mark.parametrize(("num_items", "given", "allowed"), [(1, None, "8"), (5, None, "4"), (1, "3", "3")])
def test_processes_share_the_cores_unless_told_otherwise(monkeypatch, num_items, given, allowed):
    """Those of them that have something to do."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if given is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", given)
    monkeypatch.setattr(scaling, "num_cores", lambda: 8)
    assert ProcessPool(2).map(os.getenv, ["OMP_NUM_THREADS"] * num_items) == [allowed] * num_items


def test_a_pool_of_no_processes_is_refused():
    """It could do nothing."""
    with pytest.raises(ValueError, match="greater than 0"):
        ProcessPool(0).map(abs, [-1])
