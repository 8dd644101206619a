"""`ClassWeights` compares the weights of classes with how common they are."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules.inference.class_weights import ClassWeights, weights_of
from sagemaker_debug_ext.store.format.program import LossRecord, ProgramRecord


def labels_of(*counts):
    return np.repeat(np.arange(len(counts)), counts)


@pytest.mark.parametrize(
    ("weights", "counts", "expected"),
    [
        ([1.0, 2.0, 4.0], [100, 200, 400], True),
        ([1.0, 2.0, 4.0], [400, 200, 100], False),
        ([1.0, 4.0, 2.0], [100, 200, 400], False),
        ([1.0, 1.0, 9.0], [0, 300, 310], False),
        ([0.0, 1.0], [0, 500], False),
        ([1.0, 4.0], [20, 200], False),
    ],
)
def test_weights_that_grow_with_the_counts_favour_common_classes(weights, counts, expected):
    """Classes that never come up, or that are about as common, tell nothing, and neither do few labels."""
    known = ClassWeights(dict(enumerate(weights)))
    known.observe(labels_of(*counts))
    assert known.favours_common == expected


@pytest.mark.parametrize("form", [lambda labels: labels, lambda labels: np.eye(2)[labels]], ids=["classes", "vectors"])
@pytest.mark.parametrize(("of_classes", "expected"), [([1.0, 3.0], False), ([3.0, 1.0], True)])
def test_weights_of_samples_show_those_of_their_classes(form, of_classes, expected):
    """Keras turns weights of classes into weights of samples."""
    known = ClassWeights({})
    labels = labels_of(400, 40)
    known.observe(form(labels), np.array(of_classes)[labels])
    assert known.favours_common == expected


def test_weights_of_single_samples_are_no_weights_of_classes():
    """Samples of a class that weigh differently have weights for another reason."""
    known = ClassWeights({})
    labels = labels_of(400, 40)
    known.observe(labels, np.linspace(3, 1, len(labels)))
    assert not known.favours_common


@pytest.mark.parametrize(
    ("arguments", "weights"),
    [
        ({"weight": [1.0, 2.0]}, {0: 1.0, 1: 2.0}),
        ({"pos_weight": [0.1]}, {0: 1.0, 1: 0.1}),
        ({"pos_weight": 0.1}, {0: 1.0, 1: 0.1}),
        ({"pos_weight": [0.1, 0.2]}, {}),
        ({"weight": None}, {}),
    ],
)
def test_weights_are_those_that_the_loss_was_made_with(arguments, weights):
    """Weights of several outputs are not those of classes."""
    loss = LossRecord(name="Loss", type="Loss", arguments=arguments)
    assert weights_of(ProgramRecord(framework="PyTorch", losses=(loss,)), "Loss") == weights
