"""Losses of few targets that vary say more of these than of the model."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules.inference.samples.few_targets import FewTargets
from sagemaker_debug_ext.rules.reading.step_view import StepView
from support.rule_trials import loss_tensors, memory_trial, steps_of


@pytest.mark.parametrize(
    ("sizes", "labels", "expected"),
    [
        ([1] * 6, [0, 1, 2], True),
        ([7] * 6, [0, 1, 2], True),
        ([8] * 6, [0, 1, 2], False),
        ([4] * 6, [0], False),
        ([32, 32, 3], [0, 1, 2], False),
        ([2, 2, 32], [0, 1, 2], True),
    ],
    ids=["single samples", "seven", "eight", "always the same", "a remainder", "most"],
)
def test_most_losses_of_few_targets_that_vary(sizes, labels, expected):
    """The last batch of an epoch may be small, and four samples may be all there are."""
    steps = steps_of(
        loss_tensors(np.zeros((size, 3)), np.full(size, labels[number % len(labels)]))
        for number, size in enumerate(sizes)
    )
    trial, few = memory_trial(steps), FewTargets()
    for step in trial.steps():
        few.observe(StepView(trial, step))
    assert few.are_behind("CrossEntropyLoss_output_0") == expected
