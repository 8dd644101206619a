"""NLPSequenceRatio fires when too many elements of a batch are one token, such as padding."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.rules.sagemaker.data.nlp_sequence_ratio import token_percent
from support.rule_trials import steps_with


def test_exactly_the_threshold_is_tolerated(run_rule):
    """A share of a token fires only above its threshold."""
    steps = steps_with("x", [np.array([[0, 0, 5, 6]]), np.array([[0, 0, 0, 6]])])
    issues = run_rule("NLPSequenceRatio", steps, tensor_regex="x")
    assert [(issue.step, issue.value, issue.threshold) for issue in issues] == [(1, 75, 50)]


def test_each_token_has_its_threshold(run_rule):
    """Each token has its own threshold, given as text or typed."""
    tokens = np.array([1, 2, 2, 3])
    given = {"tensor_regex": "x", "token_values": "1,2", "token_thresholds_percent": [20, 60]}
    (issue,) = run_rule("NLPSequenceRatio", steps_with("x", [tokens]), **given)
    assert (issue.value, issue.threshold) == (25, 20)


def test_lists_of_different_length_are_refused(run_rule):
    """Tokens and thresholds are refused if there are not as many of one as of the other."""
    with pytest.raises(SMDebugValueError, match="same length"):
        run_rule("NLPSequenceRatio", steps_with("x", [1]), token_values="1,2")


def test_shares_are_of_all_elements():
    """The share is of all elements, whatever the shape."""
    assert token_percent(np.array([[7, 7], [7, 0]]), 7) == 75
