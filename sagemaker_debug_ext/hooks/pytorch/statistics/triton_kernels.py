"""Triton kernel that summarizes each part of a tensor in one pass, for reductions.

Import it only if tensors are on a device that Triton supports.
"""

from __future__ import annotations

from typing import Any, Final

import torch
import triton
import triton.language as tl
from torch import Tensor

PART: Final = 1 << 14
"""Elements of a part: few enough to stay in registers, and enough to keep the results small in comparison."""


@triton.jit  # type: ignore[untyped-decorator]
def _summarise(source, count, results, PART: tl.constexpr, COLUMNS: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    part = tl.program_id(0).to(tl.int64)
    offsets = part * PART + tl.arange(0, PART)
    inside = offsets < count
    values = tl.load(source + offsets, mask=inside, other=0.0).to(tl.float32)
    magnitudes = tl.abs(values)
    number = tl.minimum(count - part * PART, PART).to(tl.float32)
    total = tl.sum(values, 0)
    distances = tl.where(inside, values - total / number, 0.0)
    is_nan = values != values  # noqa: PLR0124 - only NaN differs from itself
    row = results + part * COLUMNS
    tl.store(row, tl.min(tl.where(inside, values, float("inf")), 0))
    tl.store(row + 1, tl.max(tl.where(inside, values, float("-inf")), 0))
    tl.store(row + 2, tl.min(tl.where(inside, magnitudes, float("inf")), 0))
    tl.store(row + 3, total)
    tl.store(row + 4, tl.sum(magnitudes, 0))
    tl.store(row + 5, tl.sum(distances * distances, 0))
    tl.store(row + 6, tl.sum(is_nan.to(tl.float32), 0))
    tl.store(row + 7, tl.sum((is_nan | (magnitudes == float("inf"))).to(tl.float32), 0))
    tl.store(row + 8, tl.sum((inside & (values == 0.0)).to(tl.float32), 0))
    tl.store(row + 9, tl.sum(values * values, 0))


def num_parts(count: int) -> int:
    """Return the number of parts of a tensor of `count` elements."""
    return -(-count // PART)


def summarise(source: Tensor, results: Tensor) -> None:
    """Launch a kernel that summarizes a tensor, without waiting for it to finish.

    Args:
        source: Floats in memory without gaps, in any order.
        results: The output, float32 of shape ``(num_parts, 10)``. Its columns are minimum, maximum, minimum magnitude,
            sum, sum of magnitudes, sum of squared distances from the part's mean, number of NaN, number of non-finite
            values, number of zeros, and sum of squares.
    """
    kernel: Any = _summarise
    with torch.cuda.device_of(source):  # type: ignore[no-untyped-call]
        kernel[(results.shape[0],)](source, source.numel(), results, PART, results.shape[1])
