"""`WeightPaths` tells how straight weights have gone over the latest half of training or more."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.rules.inference.loss_course import LossCourse
from sagemaker_debug_ext.rules.inference.updates import MOST_FOLLOWED, SAMPLED, WeightPaths

NAME = "w_weight"


def followed(points):
    paths = WeightPaths(LossCourse())
    for point in points:
        paths.observe({NAME: np.atleast_1d(point)})
    return paths


def naive_straightness(points):
    """Return the straightness by its definition: from the second to last power of two up to the end."""
    last = 2 ** (len(points).bit_length() - 1)
    part = points[max(last // 2, 1) - 1 :]
    length = sum(np.linalg.norm(after - before) for before, after in itertools.pairwise(part))
    return np.linalg.norm(part[-1] - part[0]) / length if length else None


@given(st.lists(st.lists(st.integers(-9, 9), min_size=2, max_size=2), min_size=1, max_size=40))
def test_straightness_is_that_of_the_latest_part(history):
    """Whatever the way, and however long it is."""
    points = [np.array(point, dtype=float) for point in history]
    expected = naive_straightness(points)
    assert followed(points).straightness() == ({} if expected is None else {NAME: pytest.approx(expected)})


@pytest.mark.parametrize(("way", "straight"), [(lambda step: step, 1.0), (lambda step: step % 2, 0.0)])
def test_a_line_is_straight_and_going_to_and_fro_is_not(way, straight):
    """A weight that stays on a line has come as far as its way is long."""
    assert followed([float(way(step)) for step in range(32)]).straightness() == {NAME: pytest.approx(straight)}


def test_a_weight_at_rest_has_no_way():
    """Nor has one that was seen once."""
    assert followed([1.0] * 9).straightness() == followed([1.0]).straightness() == followed([]).straightness() == {}


@pytest.mark.parametrize("number", [np.inf, -np.inf, 1e300])
def test_a_weight_that_is_not_finite_has_come_nowhere(number):
    """Nor does it warn, whatever follows."""
    with np.errstate(all="ignore"):  # as rules evaluate steps
        paths = followed([number, 0.0, -number])
    assert all(ratio <= 1 for ratio in paths.straightness().values())


def test_large_models_are_followed_in_part():
    """Some weights of all parts of the model, and the first elements of each."""
    paths = WeightPaths(LossCourse())
    for step in range(4):
        weights = {f"layer{number:03}_weight": np.full(2 * SAMPLED, float(step)) for number in range(100)}
        for weight in weights.values():
            weight[SAMPLED:] = np.random.default_rng(step).normal(size=SAMPLED)
        paths.observe(weights)
    found = paths.straightness()
    assert 1 < len(found) <= MOST_FOLLOWED
    assert set(found.values()) == {1.0}
