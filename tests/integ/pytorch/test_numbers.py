"""Reductions made in one pass are those PyTorch makes one by one."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sagemaker_debug_ext.config.reductions import Reduction
from sagemaker_debug_ext.hooks.pytorch.statistics.cpu import PrecisionLossError, TensorSummary
from sagemaker_debug_ext.hooks.pytorch.tensors import reduce_tensor
from sagemaker_debug_ext.hooks.statistics import numba_loader
from sagemaker_debug_ext.vocabulary import NORMS, REDUCTIONS

ALL = tuple(Reduction(name, absolute) for name in (*REDUCTIONS, *NORMS) for absolute in (False, True))
WITHOUT_PRODUCT = tuple(reduction for reduction in ALL if reduction.name != "prod")


@pytest.fixture(params=["compiled", "numpy"])
def loops(request, monkeypatch):
    """Loops that Numba compiles, and what is done without it."""
    if request.param == "numpy":
        monkeypatch.setattr(numba_loader, "_load", lambda: None)
    else:
        pytest.importorskip("numba")


def by_pytorch(tensor, reductions):
    return [number.item() for _, number in reduce_tensor(tensor.double(), reductions)]


def summarised(tensor, reductions, is_alone=False):
    summary = TensorSummary(tensor, reductions, is_alone)
    return [summary.value(reduction) for reduction in reductions]


def same(found, wanted, scale):
    for left, right in zip(found, wanted, strict=True):
        assert left == pytest.approx(right, rel=1e-5, abs=1e-6 * scale, nan_ok=True)


@pytest.mark.parametrize("count", [1, 2, 17, 4097, 65_536, 200_001])
@pytest.mark.parametrize("mean", [0.0, 1.0, 1000.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("is_alone", [False, True], ids=["training", "writing"])
@pytest.mark.usefixtures("loops")
def test_summary_when_tensor_has_several_pieces_then_equals_pytorch(count, mean, dtype, is_alone):
    """Pieces are put together without losing digits, even where the mean is far larger than the spread."""
    torch.manual_seed(count)
    tensor = (torch.randn(count, dtype=torch.float64) + mean).to(dtype)
    same(summarised(tensor, WITHOUT_PRODUCT, is_alone), by_pytorch(tensor, WITHOUT_PRODUCT), count * max(mean, 1))


@given(
    st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=20),
    st.sets(st.sampled_from(ALL), min_size=1).map(lambda chosen: tuple(sorted(chosen))),
)
def test_summary_when_any_reductions_are_wanted_then_equals_pytorch(values, reductions):
    """Whatever is asked for together, each comes out right."""
    tensor = torch.tensor(values)
    found = summarised(tensor, reductions)
    for reduction, left, right in zip(reductions, found, by_pytorch(tensor, reductions), strict=True):
        if reduction.name == "prod" and math.prod(max(abs(value), 1.0) for value in values) > 3e38:
            continue  # float32 does not hold the product of some of them, and then the order decides
        if abs(right) > 3e38:
            continue
        scale = max(abs(value) for value in values) ** (2 if reduction.name == "variance" else 1)
        assert left == pytest.approx(right, rel=1e-4, abs=2e-6 * scale * len(values) + 1e-30, nan_ok=True), reduction


@pytest.mark.parametrize("value", [math.inf, -math.inf, 1e38, 1e30, 1e-30, 1e-44])
@pytest.mark.parametrize("count", [2, numba_loader.WORTHWHILE, 300_000])
@pytest.mark.parametrize("is_alone", [False, True], ids=["training", "writing"])
@pytest.mark.usefixtures("loops")
def test_summary_when_squares_leave_the_range_then_equals_double_precision(value, count, is_alone):
    """What float32 does not hold on the way is worked out in float64."""
    tensor = torch.full((count,), value)
    tensor[::3] *= -0.5
    found = summarised(tensor, WITHOUT_PRODUCT, is_alone)
    for reduction, left, right in zip(WITHOUT_PRODUCT, found, by_pytorch(tensor, WITHOUT_PRODUCT), strict=True):
        assert left == pytest.approx(right, rel=1e-9, abs=0, nan_ok=True), reduction


@pytest.mark.parametrize("value", [1e200, 1e-150])
def test_summary_when_squares_leave_the_range_of_float64_then_refuses(value):
    """There is nothing wider; such tensors are left to PyTorch's own operations."""
    tensor = torch.tensor([value, 0.0], dtype=torch.float64)
    with pytest.raises(PrecisionLossError):
        TensorSummary(tensor, (Reduction("l2"),))
    assert summarised(tensor, (Reduction("max"),)) == [value]


@pytest.mark.parametrize("count", [2, 3, numba_loader.WORTHWHILE])
@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.usefixtures("loops")
def test_summary_when_there_is_nan_then_everything_is(count, at):
    """NaN is never swallowed."""
    tensor = torch.ones(count)
    tensor[at] = math.nan
    assert all(math.isnan(value) for value in summarised(tensor, WITHOUT_PRODUCT))


@pytest.mark.parametrize(
    ("inputs", "value"),
    list(itertools.product((3, 10_000, 40_000, 300_000), (math.inf, 1e30, 1e-30, 0.0))),
)
@pytest.mark.usefixtures("loops")
def test_hook_when_values_are_extreme_then_reductions_are_right(make_hook, open_trial, inputs, value):
    """Infinity, and numbers whose squares leave the range of their type, come out as in double precision."""
    import sagemaker_debug_ext.pytorch as smd

    config = smd.ReductionConfig(reductions=["min", "max", "mean", "std"], norms=["l1", "l2"])
    hook = make_hook(include_collections=["weights"], reduction_config=config)
    model = torch.nn.Linear(inputs, 1, bias=False)
    torch.nn.init.constant_(model.weight, value)
    hook.register_module(model)
    model(torch.ones(1, inputs))
    weight = open_trial(hook).tensor("Linear_weight")
    for (name, _), number in weight.reduction_values(0).items():
        wanted = dict(reduce_tensor(model.weight.double(), [Reduction(name)]))[Reduction(name)].item()
        # the spread of equal numbers is zero; PyTorch's is what rounding leaves of them
        rounding = 1e-15 * value if name == "std" and math.isfinite(value) else 0
        assert float(number) == pytest.approx(wanted, rel=1e-6, abs=rounding, nan_ok=True)
