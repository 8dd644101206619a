"""Since when a value is unusual."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.looking.onset import find_onset

STEPS = list(range(0, 500, 10))


def quiet(seed=0):
    return np.exp2(np.random.RandomState(seed).normal(0, 0.2, len(STEPS)))


@pytest.mark.parametrize("factor", [100.0, 0.01, np.nan, np.inf, 0.0], ids=["up", "down", "nan", "inf", "zero"])
@pytest.mark.parametrize("seed", range(5))
def test_onset_when_a_value_jumps_then_the_step_of_the_jump(factor, seed):
    """Whatever it jumps to, the first step after it is named, however much later a rule finds it."""
    values = quiet(seed)
    values[31:] *= factor
    assert find_onset(STEPS, values, 420) == STEPS[31]


def test_onset_when_a_value_drifts_then_a_step_between_start_and_finding():
    """A value that leaves its range slowly is named within the drift."""
    values = quiet() * np.exp2(np.maximum(np.arange(len(STEPS)) - 25, 0) * 0.5)
    assert STEPS[26] <= find_onset(STEPS, values, 490) <= STEPS[29]


def test_onset_when_a_value_had_returned_then_the_later_step():
    """An excursion that ended is not the start of what is there now."""
    values = quiet()
    values[12:14] *= 1000
    values[40:] *= 1000
    assert find_onset(STEPS, values, 450) == STEPS[40]


@pytest.mark.parametrize("factor", [1e6, np.nan], ids=["up", "nan"])
def test_onset_when_a_value_had_declined_before_it_exploded_then_the_explosion(factor):
    """Gradients become smaller while a model learns; that is not the onset of what happens to them later."""
    values = quiet() * np.exp2(-0.3 * np.arange(len(STEPS)))
    values[40:] *= factor
    assert find_onset(STEPS, values, 400) == STEPS[40]


@pytest.mark.parametrize(
    ("first_bad", "found_at"), [(None, 400), (3, 400), (5, 50), (0, 0)], ids=["usual", "early", "few", "first"]
)
def test_onset_when_nothing_quiet_is_before_then_none(first_bad, found_at):
    """Without eight quiet steps before, no onset is told."""
    values = quiet()
    if first_bad is not None:
        values[first_bad:] *= 1e6
    assert find_onset(STEPS, values, found_at) is None
