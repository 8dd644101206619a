"""Reductions of what fits into the cache are worked out later, from a copy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sagemaker_debug_ext.config.reductions import Reduction
from sagemaker_debug_ext.hooks.capture.counters import StepPosition
from sagemaker_debug_ext.hooks.capture.step_buffer import StepBuffer
from sagemaker_debug_ext.hooks.pytorch.buffer_pool import BufferPool
from sagemaker_debug_ext.hooks.pytorch.statistics.reducer import COPY_THRESHOLD, DeferredSummaries, Reducer
from sagemaker_debug_ext.hooks.pytorch.tensors import PlainTensor, array_over, reduce_tensor
from sagemaker_debug_ext.vocabulary import ModeKeys

REDUCTIONS = (*[Reduction(name) for name in ("min", "max", "mean", "std", "l1", "l2")], Reduction("mean", True))


@pytest.fixture
def step():
    return StepBuffer(StepPosition(0, ModeKeys.TRAIN, 0))


@pytest.fixture
def pool():
    return BufferPool(1 << 30)


def numbers_of(step):
    (numbers,) = step.to_data(lambda value: value).numbers
    return dict(zip(numbers.names, numbers.values.tolist(), strict=True)), numbers.values.dtype


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
def test_reductions_of_a_copy_are_those_of_the_tensor(step, pool, dtype, scale):
    """As they were when it was taken, and of its dtype, right also where squares leave the range."""
    tensor = (torch.randn(300, 100, generator=torch.Generator().manual_seed(0)) * scale).to(dtype)
    expected = {reduction: number.item() for reduction, number in reduce_tensor(tensor.double(), REDUCTIONS)}
    assert Reducer(pool).take(step, "w", PlainTensor(tensor), REDUCTIONS, 1.0)
    tensor.fill_(7)
    found, saved_as = numbers_of(step)
    assert saved_as == (np.float64 if dtype is torch.float64 else np.float32)
    np.testing.assert_allclose(list(found.values()), list(expected.values()), rtol=1e-5, atol=1e-7 * scale)


def test_memory_of_copies_serves_later_steps(step, pool):
    """Once the numbers are known."""
    tensor = torch.randn(20_000)
    reducer = Reducer(pool)
    assert reducer.take(step, "w", array_over(tensor), REDUCTIONS, 1.0)
    (later,) = step.deferred
    assert isinstance(later, DeferredSummaries)
    assert (later.nbytes, later.has("w"), step.num_bytes) == (tensor.nbytes, True, tensor.nbytes)
    (copy,) = [copied.copy for copied in later._copied.values()]
    numbers_of(step)
    assert later.nbytes == 0
    assert pool.copy_array(array_over(tensor)) is copy


@pytest.mark.parametrize(("size", "may_copy"), [(COPY_THRESHOLD + 1, True), (20_000, False)])
def test_what_is_large_or_would_be_kept_is_reduced_at_once(step, pool, size, may_copy):
    """Copying it would take as long, or fill the memory that steps are kept in."""
    assert Reducer(pool, may_copy).take(step, "w", array_over(torch.randn(size)), REDUCTIONS, 1.0)
    assert not step.deferred
    assert list(step.numbers) == ["w"]
