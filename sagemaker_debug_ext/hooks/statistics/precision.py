"""Limits beyond which sums in single precision have lost digits; the CPU reductions share them."""

from __future__ import annotations

from typing import Final

LEAST_SQUARES: Final = 1e-24
MOST_SQUARES: Final = 1e36
"""A float32 sum of squares outside of these limits has lost digits, or everything."""

CANCELLING: Final = 0.1
"""The spread is the sum of squares less that of the mean; if less than this part remains, digits have been lost."""
