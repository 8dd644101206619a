"""Shards in other processes of this machine."""

from __future__ import annotations

import numpy as np

from sagemaker_debug_ext.rules import create_rule, evaluate
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
    alone = evaluate({name: create_rule(each.rule, trial) for name, each in rules.items()}, trial)
    assert list(found.issues) == alone.run()
    assert [status.status for status in found.statuses] == ["IssuesFound", "IssuesFound"]
