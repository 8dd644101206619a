"""Memory of tensors: read where it lies, copied into memory of the hook's own, and handed back."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import sagemaker_debug_ext.pytorch as smd

REDUCED = smd.ReductionConfig(reductions=["min", "std"], norms=["l2"])


@pytest.mark.parametrize("config", [None, REDUCED], ids=["values", "reductions"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_memory_when_tensors_were_read_then_can_still_be_resized(make_hook, config, dtype):
    """Libraries that shard models, and scripts that let an embedding grow, resize memory that was read before."""
    hook = make_hook(
        save_all=True, reduction_config=config, statistics=["abs_max", "histogram"], export_tensorboard=True
    )
    model = nn.Sequential(nn.Linear(100, 100), nn.Tanh(), nn.Linear(100, 2)).to(dtype)
    hook.register_module(model)
    seen = []
    for module in model:
        module.register_forward_hook(lambda _, inputs, output: seen.extend([*inputs, output]))
    for _ in range(2):
        model(torch.ones(3, 100, dtype=dtype)).sum().backward()
    seen += [tensor for parameter in model.parameters() for tensor in (parameter, parameter.grad)]
    hook.close()
    assert len(seen) == 2 * 6 + 8
    assert all(tensor.untyped_storage().resizable() for tensor in seen)


def test_arrays_when_tensors_are_of_any_layout_then_hold_their_numbers(make_hook, open_trial):
    """Gaps, strides of nought, no dimension, and what is conjugated or negated only later."""
    numbers = torch.arange(12.0).reshape(3, 4)
    outputs = [
        numbers.t(),
        numbers[:, ::2],
        torch.tensor(2.5).expand(3),
        torch.tensor(7),
        torch.tensor([1 + 2j]).conj(),
        torch.tensor([1 + 2j]).conj().imag,
        numbers > 3,
    ]
    model = nn.Sequential(nn.Linear(1, 1), nn.Identity())
    model[1].forward = lambda _: tuple(outputs)
    hook = make_hook(include_regex=["^1_output"])
    hook.register_module(model)
    model(torch.ones(1, 1))
    trial = open_trial(hook)
    for number, output in enumerate(outputs):
        value = trial.tensor(f"1_output_{number}").value(0)
        np.testing.assert_array_equal(value.reshape(output.shape), output.resolve_conj().resolve_neg().numpy())


def test_model_when_a_function_of_it_is_transformed_then_hook_goes_on(make_hook, open_trial):
    """Tensors inside `torch.func.grad` have no memory to read; they are left out, and later steps are saved."""
    model = nn.Sequential(nn.Linear(3, 2))
    hook = make_hook(include_collections=["weights"], include_regex=["^0_output"])
    hook.register_module(model)
    parameters = dict(model.named_parameters())
    inputs = torch.ones(2, 3)
    gradients = torch.func.grad(lambda some: torch.func.functional_call(model, some, inputs).sum())(parameters)
    assert gradients["0.bias"].tolist() == [2, 2]
    model(inputs)
    trial = open_trial(hook)
    assert trial.tensor("Sequential_0.weight").steps() == trial.tensor("0_output_0").steps() == [1]
