"""The size of an update is relative to the weight before it."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.rules.inference.updates import update_ratio


def test_the_ratio_is_of_norms_over_all_elements():
    """The ratio is of norms over all elements, relative to the earlier weight."""
    assert update_ratio(np.array([[3.0, 8.0]]), np.array([[3.0, 4.0]]), 1e-9) == pytest.approx(0.8)
    assert update_ratio(np.ones(4), np.zeros(4), 0.5) == 4
