"""Ranges of global steps."""

from __future__ import annotations

import pytest

from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError
from sagemaker_debug_ext.trials.step_range import StepRange


@pytest.mark.parametrize(
    ("value", "inside"),
    [
        (None, [0, 1, 2, 3, 4]),
        ((None, None), [0, 1, 2, 3, 4]),
        ((1, 3), [1, 2]),
        ([2, None], [2, 3, 4]),
        ((None, 2), [0, 1]),
        ((0, 1), [0]),
    ],
)
def test_range_when_asked_then_includes_its_begin_and_not_its_end(value, inside):
    """A range is half open; None is no bound."""
    step_range = StepRange.parse(value)
    assert [step for step in range(5) if step in step_range] == inside


@pytest.mark.parametrize("value", [5, (1,), (1, 2, 3), "12", (1.0, 2), ("1", 2), (True, 2)])
def test_range_when_no_pair_of_whole_numbers_then_refused(value):
    """Another type is named."""
    with pytest.raises(SMDebugTypeError, match="range_steps"):
        StepRange.parse(value)


@pytest.mark.parametrize("value", [(-1, None), (None, -5), (3, 3), (3, 2), (None, 0)])
def test_range_when_empty_or_negative_then_refused(value):
    """A range that could hold nothing is a mistake."""
    with pytest.raises(SMDebugValueError, match="range_steps"):
        StepRange.parse(value)
