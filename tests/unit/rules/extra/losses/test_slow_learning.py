"""SlowLearning fires when the loss of boosted trees creeps down."""

from __future__ import annotations

import pytest

from support.rule_trials import GLOBAL, fired_at, steps_with


@pytest.mark.parametrize(("rate", "fires"), [(0.9999, True), (0.99, False)])
def test_a_loss_that_creeps_fires(run_rule, rate, fires):
    """A loss that falls by a tiny part at each step fires after twenty steps."""
    values = [rate**step for step in range(40)]
    assert fired_at(run_rule("SlowLearning", steps_with("train-loss", values, GLOBAL))) == ([19] if fires else [])


def test_noise_does_not_creep(run_rule):
    """One rise among the first losses keeps the rule from firing."""
    values = [1 - 1e-4 * step for step in range(20)]
    values[10] = 1.0
    assert run_rule("SlowLearning", steps_with("loss", values)) == []
