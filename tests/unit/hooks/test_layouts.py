"""However an array is laid out in memory, its numbers are saved and reduced."""

from __future__ import annotations

import numpy as np
import pytest

from sagemaker_debug_ext.config.reductions import Reduction, ReductionConfig
from sagemaker_debug_ext.hooks.statistics.reductions import reduce_array
from sagemaker_debug_ext.store.format.keys import reduction_tensor_name
from sagemaker_debug_ext.testing.arrays import layouts
from sagemaker_debug_ext.vocabulary import NORMS, REDUCTIONS

EVERYTHING = ReductionConfig(reductions=REDUCTIONS, norms=NORMS, abs_norms=["l2"], save_raw_tensor=True)


@pytest.mark.parametrize("rows", [3, 9000], ids=["small", "large"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64, np.uint16, np.complex64])
def test_tensor_when_laid_out_in_any_way_then_saved_and_reduced(make_hook, trial, dtype, rows):
    """What is stored, values and reductions, is what an ordinary array of the same numbers gives."""
    arrays = layouts((np.arange(rows * 2).reshape(rows, 2) % 7).astype(dtype))
    hook = make_hook(include_collections=["mine"], reduction_config=EVERYTHING, statistics=["abs_max"], strict=True)
    for name, array in arrays.items():
        hook.save_tensor(name, array, "mine")
    hook.run_step()
    hook.close()
    (saved,) = trial.steps.values()
    for name, array in arrays.items():
        plain = np.array(array, dtype)
        np.testing.assert_array_equal(saved[name], plain, name)
        assert saved[name].dtype == dtype
        assert saved[reduction_tensor_name("abs_max", False, name)] == np.abs(plain).max()
        for reduction in EVERYTHING:
            found = saved[reduction_tensor_name(reduction.name, reduction.abs, name)]
            np.testing.assert_allclose(found, reduce_array(plain, reduction), rtol=1e-5, err_msg=f"{name} {reduction}")


def test_tensor_when_it_has_been_given_then_neither_changed_nor_kept(make_hook, trial):
    """The script goes on with its array, whatever its layout, and what it writes there is not saved."""
    arrays = layouts(np.ones((3, 2)))
    hook = make_hook(include_collections=["mine"], strict=True)
    for name, array in arrays.items():
        hook.save_tensor(name, array, "mine")
    for name, array in arrays.items():  # some of which share memory
        np.testing.assert_array_equal(array, 1, name)
    for array in arrays.values():
        if array.flags.writeable:
            array[...] = 5
    hook.run_step()
    hook.close()
    (saved,) = trial.steps.values()
    assert {name: np.unique(saved[name]).tolist() for name in arrays} == {name: [1.0] for name in arrays}


def test_reduction_when_given_the_other_byte_order_then_equals():
    """Frameworks' own values may come in it as well, from files that are mapped into memory."""
    array = np.array([1.5, -2.5], ">f4")
    assert reduce_array(array, Reduction("sum", True)) == 4
