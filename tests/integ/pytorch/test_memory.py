"""Memory of tensors: read where it lies, copied into memory of the hook's own, and handed back."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch
from torch import nn

import sagemaker_debug_ext.pytorch as smd
from sagemaker_debug_ext.hooks.pytorch import copies

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


def test_save_scalar_when_value_is_a_tensor_then_training_does_not_wait_for_it(make_hook, open_trial, monkeypatch):
    """What may still be on its way from a device is looked at on the writing thread."""
    readers = []
    to_array = copies.TensorCopy.to_array

    def note(copy):
        readers.append(threading.current_thread())
        return to_array(copy)

    monkeypatch.setattr(copies.TensorCopy, "to_array", note)
    hook = make_hook()
    hook.register_module(model := nn.Linear(1, 1))
    model(torch.ones(1, 1))
    hook.save_scalar("loss", torch.tensor([0.5]))
    assert open_trial(hook).tensor("scalar/loss").value(0) == 0.5
    assert readers
    assert threading.main_thread() not in readers


def test_custom_tensor_when_only_reductions_are_saved_then_is_shown_all_the_same(make_hook, open_trial, tmp_path):
    """TensorBoard has the histogram of what the trial holds a number of."""
    hook = make_hook(include_collections=["mine"], tensorboard_dir=str(tmp_path / "tb"))
    collection = hook.get_collection("mine")
    collection.reduction_config = smd.ReductionConfig(reductions=["max"])
    hook.register_module(model := nn.Linear(1, 1))
    hook.save_tensor("array", np.ones(4, np.float32), "mine")
    hook.save_tensor("tensor", torch.ones(4), "mine")
    model(torch.ones(1, 1))
    trial = open_trial(hook)
    for name in ("array", "tensor"):
        assert trial.tensor(name).reduction_values(0) == {("max", False): 1.0}
    assert list((tmp_path / "tb").rglob("*.tfevents"))


class TestSmallFloats:
    """Losses in bfloat16, which numpy has from ml_dtypes only, are losses all the same."""

    @pytest.fixture
    def run(self, make_hook):
        pytest.importorskip("ml_dtypes")

        def run_step(number, **arguments):
            hook = make_hook(**arguments)
            model, loss = nn.Linear(1, 1), nn.MSELoss()
            hook.register_module(model)
            hook.register_loss(loss)
            model(torch.ones(1, 1))
            loss(torch.full((2,), number, dtype=torch.bfloat16), torch.zeros(2, dtype=torch.bfloat16))
            hook.close()
            return hook

        return run_step

    def test_recording_when_loss_is_not_finite_then_is_written(self, run, open_trial):
        """The flight recorder sees it."""
        assert open_trial(run(float("nan"), flight_recorder=2)).steps() == [0]
        smd.del_hook()

    def test_metrics_when_loss_is_saved_then_have_it(self, run, tmp_path, monkeypatch):
        """The job's metrics and TensorBoard show it."""
        monkeypatch.setenv("SAGEMAKER_METRICS_DIRECTORY", str(tmp_path / "metrics"))
        monkeypatch.setenv("TRAINING_JOB_NAME", "job")
        run(2.0, tensorboard_dir=str(tmp_path / "tb"))
        (metrics,) = (tmp_path / "metrics").iterdir()
        assert '"Value": 4.0' in metrics.read_text()
        assert list((tmp_path / "tb").rglob("*.tfevents"))
