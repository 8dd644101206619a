"""Samples of a batch are told apart by hashes of their elements."""

from __future__ import annotations

import numpy as np

from sagemaker_debug_ext.rules.reading.samples import sample_hashes


def test_small_samples_cannot_be_told_apart():
    """Samples of fewer than four elements, and batches of one axis, have no hashes."""
    assert sample_hashes(np.ones((4, 3))) is None
    assert sample_hashes(np.ones(9)) is None
    assert len(set(sample_hashes(np.arange(16.0).reshape(4, 4)))) == 4
