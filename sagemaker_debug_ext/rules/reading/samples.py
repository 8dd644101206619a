"""Hashes that identify single samples of a batch, for rules over the data."""

from __future__ import annotations

import hashlib
from typing import Final

from sagemaker_debug_ext.rules.reading.numeric import Array

MAX_KEPT: Final = 1_000_000
"""Largest number of sample hashes that a rule keeps."""

MIN_ELEMENTS: Final = 4
"""Samples with fewer elements may be equal by chance."""


def sample_hashes(batch: Array) -> tuple[bytes, ...] | None:
    """Return a hash of each sample along axis 0; None for samples that are so small that several may be equal."""
    if batch.ndim < 2 or len(batch) == 0 or batch.size // len(batch) < MIN_ELEMENTS:
        return None
    return tuple(hashlib.blake2b(row.tobytes(), digest_size=8).digest() for row in batch)
