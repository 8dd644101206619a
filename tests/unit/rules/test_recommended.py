"""Recommended rules are made over any trial and run_rule it without an error."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules import evaluate
from sagemaker_debug_ext.rules.recommended import RECOMMENDED, recommended_rules
from support.rule_trials import EVAL, GLUON_COLLECTIONS, KERAS_COLLECTIONS, TRAIN

RNG = np.random.default_rng(0)


def test_recommended_rules_are_made_over_any_trial_and_judge_it(make_trial):
    """All recommended rules are made over a trial of any tensors, and find nothing there."""
    steps = {(TRAIN, step): {"x": RNG.normal(size=(4, 3)), "labels": np.array(["a"])} for step in range(3)}
    trial = make_trial(steps)
    evaluation = evaluate(recommended_rules(trial), trial)
    assert evaluation.run() == []
    assert {status.status for status in evaluation.statuses} == {"NoIssuesFound"}
    assert set(recommended_rules(trial)) == set(RECOMMENDED)


X = np.random.default_rng(0).normal(size=(8, 4))


@pytest.mark.parametrize("collections", [KERAS_COLLECTIONS, GLUON_COLLECTIONS], ids=["Keras", "MXNet"])
def test_recommended_rules_judge_whatever_was_saved(make_trial, collections):
    """Empty, textual, complex and NaN values under any name do not end a recommended rule with an error."""
    odd = [np.zeros((0, 3)), np.array(["a"]), np.full((4, 3), np.nan), np.ones((4, 3), complex), np.array(2.0), X]
    names = ["loss", "batch", "predictions", "labels", "inputs", "a/inputs", "a/outputs", "a/weights/a/kernel:0"]
    names += ["gradients/a/kernelGrad", "dropout/inputs", "dropout/outputs", "bn/outputs", "bn/weights/bn/beta:0"]
    names += ["l2loss0_output_0", "l2loss0_input_0", "l2loss0_input_1", "dense0_weight", "dense0_output_0"]
    steps = {
        (mode, step): {name: odd[(step + index) % len(odd)] for index, name in enumerate(names)}
        for step in range(8)
        for mode in (TRAIN, EVAL)
    }
    trial = make_trial(steps, collections=collections)
    evaluation = evaluate(recommended_rules(trial), trial)
    evaluation.run()
    assert [(status.name, status.details) for status in evaluation.statuses if status.status == "Error"] == []
