from __future__ import annotations

import json
import math
import pickle

import pytest

from sagemaker_debug_ext.rules import Issue
from sagemaker_debug_ext.vocabulary import ModeKeys

ISSUE = Issue(
    rule="VanishingGradient",
    step=3,
    mode=ModeKeys.TRAIN,
    mode_step=2,
    tensors=["a", "b"],
    worker="worker_0",
    value=1e-9,
    threshold=1e-7,
    message="Too small.",
    advice="Train better.",
)


def test_issue_is_a_value():
    """Equal, hashable, picklable, and never changed."""
    assert pickle.loads(pickle.dumps(ISSUE)) == ISSUE
    assert len({ISSUE, pickle.loads(pickle.dumps(ISSUE))}) == 1
    with pytest.raises(AttributeError):
        ISSUE.step = 4


def test_json_holds_every_field():
    """Modes by name, tensors as a list."""
    assert json.loads(ISSUE.to_json()) == {
        "rule": "VanishingGradient",
        "step": 3,
        "mode": "TRAIN",
        "mode_step": 2,
        "tensors": ["a", "b"],
        "worker": "worker_0",
        "value": 1e-9,
        "threshold": 1e-7,
        "message": "Too small.",
        "advice": "Train better.",
    }


@pytest.mark.parametrize(
    ("value", "text"), [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity"), (None, None)]
)
def test_json_of_numbers_that_it_lacks_is_text(value, text):
    """So that every JSON reader takes it."""
    issue = Issue(rule="R", step=0, value=value)
    assert issue.to_json_dict()["value"] == text
    json.dumps(issue.to_json_dict(), allow_nan=False)
