"""Rules that wait for the end of a job find the same in a followed job as in a replay."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.testing.trials import SmallTrial
from sagemaker_debug_ext.trials import create_trial
from support.rule_trials import classification_steps, fired_at


@pytest.mark.parametrize("rule", ["NoSkill", "LossPlateau"])
def test_a_job_that_was_followed_is_evaluated_at_its_end(tmp_path, rule):
    """A followed job is evaluated once at its end, as one that has ended before."""
    job = SmallTrial(tmp_path)
    for (mode, step), tensors in classification_steps(0.0).items():
        job.write(mode, step, tensors)
    trial = create_trial(str(tmp_path))
    parameters = {"tensor_regex": "Loss_output_0"} if rule == "LossPlateau" else {}
    issues = evaluate([create_rule(rule, trial, parameters)], trial, sleep=lambda _: job.end())
    assert fired_at(issues) == [59]


@pytest.mark.parametrize("rule", ["NoSkill", "LossPlateau", "PredictionCollapse"])
def test_steps_that_come_together_with_the_end_are_evaluated_before_it(tmp_path, rule):
    """Steps that are written together with the end are evaluated before the end is."""
    job = SmallTrial(tmp_path)
    for (mode, step), tensors in classification_steps(0.0).items():
        labels = {"CrossEntropyLoss_input_1": np.zeros(30, int)} if rule == "PredictionCollapse" else {}
        job.write(mode, step, {**tensors, **labels, "Loss_output_0": 1.0})

    def end(_):
        for (mode, step), tensors in classification_steps(9.0, num=30).items():
            job.write(mode, 60 + step, {**tensors, "Loss_output_0": 0.1})
        job.end()
        trial.steps()  # as somebody else may who looks at the same trial

    def judge_now(**options):
        given = {"tensor_regex": "Loss_output_0"} if rule == "LossPlateau" else {}
        made = create_rule(rule, trial, {**given, "patience_running": 1000})
        return fired_at(evaluate([made], trial, **options))

    trial = create_trial(str(tmp_path))
    assert judge_now(sleep=end) == []
    trial = create_trial(str(tmp_path))
    assert judge_now() == []
