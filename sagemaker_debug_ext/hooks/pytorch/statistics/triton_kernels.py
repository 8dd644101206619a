"""Triton kernels that summarize each part of tensors in one pass, for reductions.

Import it only if tensors are on a device that Triton supports.

The kernel is to read as fast as the memory gives, so each value costs as few instructions as possible: minimum and
maximum run at half the rate of sums, and counting at less. So values that are 0 or not finite are counted only in parts
whose other results show that there are any.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor

PART: Final = 1 << 14
"""Elements of a part: enough to keep the results small in comparison, few enough for a tensor to use the device."""

_BLOCK: Final = 1024
"""Elements that a program reads at a time."""

_UNROLL: Final = 8
"""Reads that are under way at a time."""

_NUM_WARPS: Final = 4
"""Each thread reads 8 elements at a time, and keeps the six results of each in registers."""

_ALIGNMENT: Final = 16
"""Bytes that a thread reads at a time."""

_DTYPES: Final = {torch.float32: tl.float32, torch.float16: tl.float16, torch.bfloat16: tl.bfloat16}

_SAMPLE: Final = 32
"""Elements of a part whose mean may be its pivot: squared distances from it keep their precision when added."""


@triton.jit  # type: ignore[untyped-decorator]
def _summarise_part(  # type: ignore[no-untyped-def]
    source, number, row, part_size: tl.constexpr, block: tl.constexpr, unroll: tl.constexpr, sample_size: tl.constexpr
):
    # A pivot other than 0 helps only where values are closer to each other than to 0; elsewhere it would blur the sum.
    first = tl.arange(0, sample_size)
    sample = tl.load(source + first, mask=first < number, other=0.0).to(tl.float32)
    num_first = tl.minimum(number, sample_size).to(tl.float32)
    mean = tl.sum(sample, 0) / num_first
    deviation = tl.sum(tl.where(first < number, tl.abs(sample - mean), 0.0), 0) / num_first
    pivot = tl.where((tl.abs(mean) > 2 * deviation) & (tl.abs(mean) < float("inf")), mean, 0.0)

    lanes = tl.arange(0, block)
    zeros = tl.zeros((block,), tl.float32)
    least, greatest, least_abs = zeros + float("inf"), zeros - float("inf"), zeros + float("inf")
    total_abs, shifted, squares = zeros, zeros, zeros
    if number == part_size:
        for start in tl.range(0, part_size, block, loop_unroll_factor=unroll):
            values = tl.load(source + start + lanes).to(tl.float32)
            least, greatest = tl.minimum(least, values), tl.maximum(greatest, values)
            least_abs = tl.minimum(least_abs, tl.abs(values))
            total_abs += tl.abs(values)
            distances = values - pivot
            shifted += distances
            squares += distances * distances
    else:
        for start in range(0, number, block):
            inside = start + lanes < number
            values = tl.load(source + start + lanes, mask=inside, other=0.0).to(tl.float32)
            least = tl.minimum(least, tl.where(inside, values, float("inf")))
            greatest = tl.maximum(greatest, tl.where(inside, values, float("-inf")))
            least_abs = tl.minimum(least_abs, tl.where(inside, tl.abs(values), float("inf")))
            total_abs += tl.abs(values)
            distances = tl.where(inside, values - pivot, 0.0)
            shifted += distances
            squares += distances * distances

    smallest, magnitude = tl.min(least_abs, 0), tl.sum(total_abs, 0)
    num_nan, num_nonfinite, num_zero = 0.0, 0.0, 0.0
    if (smallest == 0.0) | ~(magnitude < float("inf")):
        nans, nonfinites, nothings = zeros, zeros, zeros
        for start in range(0, number, block):
            values = tl.load(source + start + lanes, mask=start + lanes < number, other=1.0).to(tl.float32)
            nans += (values != values).to(tl.float32)  # noqa: PLR0124 - only NaN differs from itself
            nonfinites += (~(tl.abs(values) < float("inf"))).to(tl.float32)
            nothings += (values == 0.0).to(tl.float32)
        num_nan, num_nonfinite, num_zero = tl.sum(nans, 0), tl.sum(nonfinites, 0), tl.sum(nothings, 0)

    tl.store(row, tl.min(least, 0))
    tl.store(row + 1, tl.max(greatest, 0))
    tl.store(row + 2, smallest)
    tl.store(row + 3, tl.sum(shifted, 0))
    tl.store(row + 4, magnitude)
    tl.store(row + 5, tl.sum(squares, 0))
    tl.store(row + 6, num_nan)
    tl.store(row + 7, num_nonfinite)
    tl.store(row + 8, num_zero)
    tl.store(row + 9, pivot)


# Triton compiles a variant for each alignment of the results and for counts that 16 divides, which would be no faster.
@triton.jit(do_not_specialize=["count", "results"])  # type: ignore[untyped-decorator]
def _summarise(  # type: ignore[no-untyped-def]
    source,
    count,
    results,
    part_size: tl.constexpr,
    block: tl.constexpr,
    unroll: tl.constexpr,
    sample_size: tl.constexpr,
    columns: tl.constexpr,
):
    part = tl.program_id(0).to(tl.int64)
    number = tl.minimum(count - part * part_size, part_size).to(tl.int32)
    _summarise_part(source + part * part_size, number, results + part * columns, part_size, block, unroll, sample_size)


@triton.jit  # type: ignore[untyped-decorator]
def _summarise_listed(  # type: ignore[no-untyped-def]
    parts,
    results,
    dtype: tl.constexpr,
    part_size: tl.constexpr,
    block: tl.constexpr,
    unroll: tl.constexpr,
    sample_size: tl.constexpr,
    columns: tl.constexpr,
):
    part = parts + tl.program_id(0).to(tl.int64) * 3
    source = tl.multiple_of(tl.load(part).to(tl.pointer_type(dtype)), 16)
    row = results + tl.load(part + 2) * columns
    _summarise_part(source, tl.load(part + 1).to(tl.int32), row, part_size, block, unroll, sample_size)


def num_parts(count: int) -> int:
    """Return the number of parts of a tensor of `count` elements."""
    return -(-count // PART)


def is_listable(tensor: Tensor) -> bool:
    """Return whether `list_parts` takes a tensor without gaps: whether it begins where a wide read may begin."""
    return tensor.data_ptr() % _ALIGNMENT == 0


def list_parts(tensors: Sequence[Tensor], first_rows: Sequence[int]) -> Tensor:
    """List the parts of several tensors of one dtype and device, for `summarise_listed`.

    Args:
        tensors: Floats in memory without gaps, for which `is_listable` holds.
        first_rows: The row of each tensor's first part among the results.

    Returns:
        Address, number of elements, and row of each part: int64 of shape ``(parts, 3)``, on the device.
    """
    counts = [tensor.numel() for tensor in tensors]
    numbers = [num_parts(count) for count in counts]
    begins = np.arange(sum(numbers)) - np.repeat(np.cumsum([0, *numbers[:-1]]), numbers)
    parts = np.empty((len(begins), 3), np.int64)
    itemsize = tensors[0].element_size()
    parts[:, 0] = np.repeat([tensor.data_ptr() for tensor in tensors], numbers) + begins * (PART * itemsize)
    parts[:, 1] = np.minimum(np.repeat(counts, numbers) - begins * PART, PART)
    parts[:, 2] = np.repeat(first_rows, numbers) + begins
    listed = torch.from_numpy(parts)
    if tensors[0].is_cuda:
        return listed.pin_memory().to(tensors[0].device, non_blocking=True)
    return listed


def summarise_listed(parts: Tensor, dtype: torch.dtype, results: Tensor) -> None:
    """Launch one kernel that summarizes several tensors, without waiting for it to finish.

    Args:
        parts: See `list_parts`.
        dtype: The dtype of the tensors: 32-bit or 16-bit floats.
        results: As for `summarise`.
    """
    kernel: Any = _summarise_listed
    with torch.cuda.device_of(parts):  # type: ignore[no-untyped-call]
        kernel[(len(parts),)](
            parts, results, _DTYPES[dtype], PART, _BLOCK, _UNROLL, _SAMPLE, results.shape[1], num_warps=_NUM_WARPS
        )


def summarise(source: Tensor, results: Tensor) -> None:
    """Launch a kernel that summarizes a tensor, without waiting for it to finish.

    Args:
        source: Floats in memory without gaps, in any order.
        results: The output, float32 of shape ``(num_parts, 10)``. Its columns are minimum, maximum, minimum magnitude,
            sum of distances from a pivot, sum of magnitudes, sum of squared distances from it, number of NaN, number of
            non-finite values, number of zeros, and the pivot.
    """
    kernel: Any = _summarise
    grid = (results.shape[0],)
    with torch.cuda.device_of(source):  # type: ignore[no-untyped-call]
        kernel[grid](
            source, source.numel(), results, PART, _BLOCK, _UNROLL, _SAMPLE, results.shape[1], num_warps=_NUM_WARPS
        )
