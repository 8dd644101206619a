"""However an array of NumPy is laid out in memory, the PyTorch hook saves and reduces its numbers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import sagemaker_debug_ext.pytorch as smd
from sagemaker_debug_ext.testing.arrays import layouts


@pytest.mark.parametrize("rows", [3, 9000], ids=["small", "large"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64, np.complex64])
def test_tensor_when_laid_out_in_any_way_then_saved_and_reduced(make_hook, open_trial, dtype, rows):
    """What PyTorch has no tensors for, such as the other byte order or steps backwards, is saved like all else."""
    arrays = layouts((np.arange(rows * 2).reshape(rows, 2) % 7).astype(dtype))
    config = smd.ReductionConfig(reductions=["mean", "std"], norms=["l2"], abs_reductions=["max"], save_raw_tensor=True)
    hook = make_hook(include_collections=["mine"], reduction_config=config)
    model = torch.nn.Linear(1, 1)
    hook.register_module(model)
    for name, array in arrays.items():
        hook.save_tensor(name, array, "mine")
    model(torch.ones(1, 1))
    trial = open_trial(hook)
    for name, array in arrays.items():
        tensor = trial.tensor(name)
        wide = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
        np.testing.assert_array_equal(tensor.value(0), array, name)
        assert tensor.value(0).dtype == dtype
        found = {reduction: value.item() for (reduction, _), value in tensor.reduction_values(0).items()}
        wanted = {
            "mean": wide.mean(),
            "std": wide.std(ddof=1),
            "l2": np.sqrt((np.abs(wide) ** 2).sum()),
            "max": np.abs(wide).max(),
        }
        for reduction, value in wanted.items():
            np.testing.assert_allclose(found[reduction], value, rtol=1e-4, atol=1e-12, err_msg=f"{name} {reduction}")
