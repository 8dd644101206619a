"""CheckInputImages fires when a channel of the images does not have a mean near 0."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.errors import SMDebugValueError
from support.rule_trials import fired_at, steps_with


def test_the_verdict_waits_for_enough_images_and_uses_all_of_them(run_rule):
    """The first step with enough images in total is evaluated, by the mean over all of them."""
    steps = steps_with("x", [np.full((2, 1, 2, 2), 9.0), np.full((2, 1, 2, 2), -9.0), np.full((2, 1, 2, 2), 3.0)])
    issues = run_rule("CheckInputImages", steps, regex="x", threshold_samples=4)
    assert [(issue.step, issue.value) for issue in issues] == [(2, 1.0)]


@pytest.mark.parametrize(("mean", "fires"), [(0.25, False), (0.26, True), (-0.26, True)])
def test_any_channel_may_fire_and_the_threshold_is_tolerated(run_rule, mean, fires):
    """The absolute mean of any channel fires when it is above the threshold, not when it equals it."""
    images = np.zeros((2, 3, 2, 2))
    images[:, 1] = mean
    issues = run_rule(
        "CheckInputImages", steps_with("x", [images]), regex="x", threshold_samples=1, threshold_mean=0.25
    )
    assert bool(issues) == fires


def test_the_channel_may_be_the_last_axis(run_rule):
    """The channel axis is counted from either end, and an axis that images lack gives no verdict."""
    images = np.zeros((2, 4, 4, 3))
    images[..., 2] = 1
    for channel in (3, -1):
        (issue,) = run_rule(
            "CheckInputImages", steps_with("x", [images]), regex="x", threshold_samples=1, channel=channel
        )
        assert issue.value == 1
    assert run_rule("CheckInputImages", steps_with("x", [images]), regex="x", threshold_samples=1, channel=7) == []


def test_channel_when_it_is_the_batch_axis_then_is_refused(run_rule):
    """Axis 0 is the batch, so it is refused as the channel axis."""
    with pytest.raises(SMDebugValueError, match="'channel'"):
        run_rule("CheckInputImages", steps_with("x", [np.ones(2)]), channel=0)


@pytest.mark.parametrize(("samples", "fires_at"), [(4, [1]), (5, [])], ids=["enough", "one too few"])
def test_verdict_when_as_many_images_as_required_then_is_given(run_rule, samples, fires_at):
    """Four images are evaluated when four are required, and not when five are."""
    steps = steps_with("x", [np.full((2, 1, 2, 2), 9.0)] * 2)
    assert fired_at(run_rule("CheckInputImages", steps, regex="x", threshold_samples=samples)) == fires_at
