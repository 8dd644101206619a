"""UnbrokenSymmetry fires when the units of a layer stay equal."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules.extra.initialization.unbroken_symmetry import has_equal_units
from support.rule_trials import fired_at, steps_of, steps_with

RNG = np.random.default_rng(0)


def test_equal_units_fire_when_they_stay_equal(run_rule):
    """Units that are equal at the first four steps fire, and a layer that starts at 0 may leave it."""
    equal, apart = np.ones((3, 4)), np.arange(12.0).reshape(3, 4)
    assert fired_at(run_rule("UnbrokenSymmetry", steps_with("fc_weight", [equal] * 5))) == [3, 4]
    assert run_rule("UnbrokenSymmetry", steps_with("fc_weight", [equal * 0, equal, equal, apart, equal])) == []


def test_single_units_and_scales_have_no_symmetry():
    """Scales of normalisations and layers of one unit have no symmetry."""
    assert has_equal_units(np.ones(4)) is None
    assert has_equal_units(np.ones((1, 4))) is None


@pytest.mark.parametrize(("alike", "expected"), [(3, True), (2, False)])
def test_sets_of_like_units_count_too(alike, expected):
    """Sets of three or more equal units count, as of recurrent gates, and units of 0 are ignored."""
    kinds = np.random.default_rng(0).normal(size=(4, 5))
    weight = np.repeat(kinds, alike, axis=0) * (1 + 1e-9 * np.arange(4 * alike)[:, None])
    assert has_equal_units(weight) == expected
    assert has_equal_units(np.concatenate([kinds, np.zeros((50, 5))])) is False


def test_units_that_become_alike_later_were_not_initialised_so(run_rule):
    """Units that become equal later do not fire, because initialisation is not the cause."""
    equal, apart = np.ones((3, 4)), RNG.normal(size=(3, 4))
    values = [{"fc_weight": value} for value in [apart, *[equal] * 6]]
    assert run_rule("UnbrokenSymmetry", steps_of(values)) == []
