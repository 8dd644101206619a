"""What notebooks show of tensors, rules and evaluations."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules import create_rule, evaluate
from sagemaker_debug_ext.testing.trials import write_trial
from sagemaker_debug_ext.trials import create_trial
from sagemaker_debug_ext.vocabulary import ModeKeys


@pytest.fixture
def trial(tmp_path):
    steps = {(ModeKeys.TRAIN, step): {"<b>loss": np.float32(0)} for step in (0, 1)}
    write_trial(tmp_path / "<i>", {**steps, (ModeKeys.EVAL, 0): {"<b>loss": np.float32(0)}})
    return create_trial(tmp_path / "<i>")


def test_tensor_when_shown_then_has_a_row_for_each_mode(trial):
    """The steps of each mode, and names as text, not as markup."""
    shown = trial.tensor("<b>loss")._repr_html_()
    assert "<caption>&lt;b&gt;loss of &lt;i&gt;</caption>" in shown
    assert "<td>TRAIN</td><td>2 (0 to 1)</td><td>worker_0</td>" in shown
    assert "<td>EVAL</td><td>1 (0)</td><td>worker_0</td>" in shown
    assert "<td>GLOBAL</td><td>3 (0 to 2)</td><td>worker_0</td>" in shown
    assert "PREDICT" not in shown


def test_rule_when_shown_then_has_its_trial_and_parameters(trial):
    """With the defaults of what was not given."""
    shown = create_rule("Overfit", trial, {"patience": 3})._repr_html_()
    assert "<caption>rule Overfit</caption>" in shown
    assert "&lt;i&gt;</td>" in shown
    assert "<th>patience</th><td>3</td>" in shown
    assert "<th>ratio_threshold</th><td>0.1</td>" in shown


def test_evaluation_when_shown_then_has_the_status_of_each_rule(trial):
    """Before and after it has run."""
    evaluation = evaluate([create_rule("AllZero", trial, {"tensor_regex": "loss"})], trial)
    assert "<td>AllZero</td><td>InProgress</td><td>0</td>" in evaluation._repr_html_()
    issues = list(evaluation)
    assert len(issues) == 3
    assert "<td>AllZero</td><td>IssuesFound</td><td>3</td>" in evaluation._repr_html_()
