"""Values are recognised as classes or probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules.inference.class_labels import class_ids


@pytest.mark.parametrize(
    ("value", "ids"),
    [
        (np.array([[2.0, 0.0]]), [2, 0]), (np.array([0.4, 0.5, 1.0]), [0, 1, 1]), (np.array([True, False]), [1, 0]),
        (np.array([0.0, 1.0]), [0, 1]), (np.array(3), [3]),
    ],
)  # fmt: skip
def test_whole_numbers_are_classes_and_fractions_are_probabilities(value, ids):
    """Whole numbers are class ids, numbers from 0 to 1 are probabilities, and both are flattened."""
    assert class_ids(value).tolist() == ids


@pytest.mark.parametrize("value", [np.array([0.5, 2]), np.array([-0.5, 0]), np.array([np.nan]), np.array([np.inf])])
def test_other_numbers_are_no_classes(value):
    """Negative, large fractional and non-finite numbers are neither classes nor probabilities."""
    assert class_ids(value) is None
