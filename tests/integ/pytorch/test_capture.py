"""`TensorHook` saves the PyTorch tensors that it is given, and leaves out those that it cannot read."""

from __future__ import annotations

import logging

import numpy as np
import pytest
import torch
from torch import nn

from sagemaker_debug_ext.hooks.pytorch.capture import TensorHook
from sagemaker_debug_ext.store.backends import MemoryBackend
from sagemaker_debug_ext.trials.trial import Trial


class GivenHook(TensorHook):
    """Saves what a test gives, one step a call."""

    def run_step(self, tensors=None, numbered=None, weights=None):
        plan = self._begin_step()
        for name, value in (tensors or {}).items():
            self._capture(name, value)
        for prefix, values in (numbered or {}).items():
            self._offer_numbered(prefix, values)
        if weights:
            self._save_weights([(name, value, plan.decide(name)) for name, value in weights.items()])


class Unreadable(dict):
    """A container of a script whose values cannot be had."""

    def values(self):
        raise RuntimeError("far away")


@pytest.fixture
def backend():
    return MemoryBackend()


@pytest.fixture
def hook(backend):
    made = GivenHook(backend, save_all=True, save_config={"save_interval": 1})
    yield made
    made.strict = False
    made.close()


@pytest.fixture
def saved(hook, backend):
    """Return a function that closes the hook and returns the tensors of the first step."""

    def read():
        hook.close()
        trial = Trial("trial", backend)
        return {name: trial.tensor(name).value(0) for name in trial.tensor_names()}

    return read


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.int64, torch.bool], ids=str)
@pytest.mark.parametrize(
    "view", [lambda x: x, lambda x: x.t(), lambda x: x[::2]], ids=["whole", "transposed", "strided"]
)
def test_capture_when_tensor_is_on_the_cpu_then_bits_are_saved(hook, saved, dtype, view):
    """Dtype, shape and every element are those of the tensor, whatever its strides."""
    value = view((torch.arange(12).reshape(4, 3) * 7 % 5).to(dtype))
    hook.run_step({"value": value})
    found = saved()["value"]
    np.testing.assert_array_equal(found, value.numpy(), strict=True)


def test_capture_when_tensor_is_changed_afterwards_then_the_old_value_is_saved(hook, saved):
    """An optimizer writes into parameters and gradients while the step is being written."""
    value = torch.ones(3, requires_grad=True)
    hook.run_step({"value": value})
    with torch.no_grad():
        value.fill_(9)
    assert saved()["value"].tolist() == [1, 1, 1]
    assert value.grad is None


def test_numbered_values_when_nested_then_are_counted_over_all_calls(hook, saved):
    """Numbers go on over the calls of a step, in the order of the values."""
    first = {"a": torch.zeros(1), "b": (torch.ones(1), [torch.full((1,), 2.0)], "text", None)}
    hook.run_step(numbered={"layer_output": first})
    assert {name: float(value[0]) for name, value in saved().items()} == {
        "layer_output_0": 0,
        "layer_output_1": 1,
        "layer_output_2": 2,
    }


def test_save_weights_when_some_need_pytorch_then_all_are_saved(hook, saved):
    """Plain parameters are copied by NumPy, others in one call of PyTorch."""
    transposed = nn.Parameter(torch.arange(6.0).reshape(2, 3).t())
    half = nn.Parameter(torch.ones(2, dtype=torch.bfloat16))
    weights = {"plain": nn.Parameter(torch.ones(2)), "transposed": transposed, "half": half}
    hook.run_step(weights=weights)
    found = saved()
    assert set(found) == set(weights)
    np.testing.assert_array_equal(found["transposed"], transposed.detach().numpy())
    assert found["half"].astype(np.float32).tolist() == [1, 1]


def test_value_when_it_cannot_be_read_then_one_warning_names_it(hook, saved, caplog):
    """The others are saved, and a later step does not repeat the warning."""
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            hook.run_step({"good": torch.ones(1)}, {"bad": Unreadable()})
    assert caplog.text.count("bad is not saved: far away") == 1
    assert set(saved()) == {"good"}


def test_value_when_it_cannot_be_read_and_the_hook_is_strict_then_raises(hook):
    """A strict hook hides nothing."""
    hook.strict = True
    with pytest.raises(RuntimeError, match="far away"):
        hook.run_step(numbered={"bad": Unreadable()})
