"""Memory of tensors: read where it lies, copied into memory of the hook's own, and handed back."""

from __future__ import annotations

import ctypes
import threading
import types

import numpy as np
import pytest
import torch
from torch import nn

import sagemaker_debug_ext.pytorch as smd
from sagemaker_debug_ext._imports import cuda_runtime
from sagemaker_debug_ext.config.reductions import Reduction
from sagemaker_debug_ext.hooks.pytorch import buffer_pool
from sagemaker_debug_ext.hooks.pytorch.statistics import gpu

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


@pytest.mark.parametrize("num_threads", [1, 2])
@pytest.mark.parametrize("num_rows", [1, 1 << 8, 1 << 10, (1 << 10) + 1])
def test_copies_when_tensors_are_small_or_large_then_hold_the_numbers_of_their_step(
    make_hook, open_trial, num_rows, num_threads
):
    """Whichever way is the quickest for a size and a layout, what the script does to a tensor later does not count."""
    earlier = torch.get_num_threads()
    torch.set_num_threads(num_threads)
    try:
        wide = torch.randn(num_rows, 1 << 10)
        tensors = {"whole": wide, "turned": wide.t(), "gaps": wide[:, ::3], "short": wide.to(torch.float16)}
        model = nn.Sequential(nn.Linear(1, 1), nn.Identity())
        model[1].forward = lambda _: tuple(tensors.values())
        hook = make_hook(include_regex=["^1_output"])
        hook.register_module(model)
        wanted = {name: tensor.numpy().copy() for name, tensor in tensors.items()}
        for step in range(3):
            model(torch.ones(1, 1))
            for tensor in (wide, tensors["short"]):
                tensor.add_(1)
            trial = open_trial(hook) if step == 2 else None
        for step in range(3):
            for number, (name, value) in enumerate(wanted.items()):
                np.testing.assert_array_equal(trial.tensor(f"1_output_{number}").value(step), value, name)
            wanted = {name: value + value.dtype.type(1) for name, value in wanted.items()}
    finally:
        torch.set_num_threads(earlier)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_memory_when_a_parameter_has_been_freed_then_all_else_is_saved(make_hook, open_trial, dtype):
    """Libraries that shard models free parameters between their uses; there is nothing to read then."""
    model = nn.Sequential(nn.Linear(4, 2), nn.Linear(2, 1)).to(dtype)
    hook = make_hook(include_collections=["weights"])
    hook.register_module(model)
    weight = model[0].weight
    model[0].forward = lambda inputs: inputs[:, :2]
    model(torch.ones(1, 4, dtype=dtype))
    weight.untyped_storage().resize_(0)
    model(torch.ones(1, 4, dtype=dtype))
    trial = open_trial(hook)
    assert trial.tensor("Sequential_0.weight").steps() == [0]
    assert trial.tensor("Sequential_1.weight").steps() == [0, 1]


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


def test_copy_when_array_runs_backwards_then_is_saved(make_hook, open_trial, monkeypatch):
    """PyTorch's copies run on several threads, and take no such arrays."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    array = np.arange(1 << 18, dtype=np.float32)[::-1]
    hook = make_hook()
    hook.get_collection("default").save_config = smd.SaveConfig(save_interval=1)
    hook.save_tensor("backwards", array)
    hook.save_tensor("kept", np.frombuffer(bytes(4 << 18), np.float32))
    model = nn.Linear(1, 1)
    hook.register_module(model)
    model(torch.ones(1, 1))
    trial = open_trial(hook)
    np.testing.assert_array_equal(trial.tensor("backwards").value(0), array)
    assert trial.tensor("kept").value(0).size == 1 << 18


def test_pool_when_hook_is_closed_then_keeps_no_memory(make_hook):
    """The hook of the process lives on after `close`; what it copied into does not."""
    hook = make_hook(include_collections=["weights"])
    model = nn.Linear(3, 2)
    hook.register_module(model)
    for _ in range(3):
        model(torch.ones(1, 3))
    hook.export_collections()
    assert hook._copies._free_bytes > 0
    hook.close()
    assert hook._copies._free_bytes == 0


@pytest.mark.parametrize(("num_more", "num_kept"), [(3, 1), (500, 0)])
def test_pool_when_many_steps_without_copies_follow_then_hands_memory_back(num_more, num_kept):
    """Also that of a copy that is still being written when the last step that copies anything is over."""
    pool = buffer_pool.BufferPool(1 << 20)
    unwritten, written = pool.copy_all([torch.ones(3), torch.ones(4)])
    written.release()
    pool.rest(num_more)
    unwritten.release()
    assert pool._free_bytes == num_kept * (written.nbytes + unwritten.nbytes)
    again = pool.copy(torch.ones(3))
    again.release()
    assert pool._free_bytes >= again.nbytes


def test_save_scalar_when_value_is_a_tensor_then_training_does_not_wait_for_it(make_hook, open_trial, monkeypatch):
    """What may still be on its way from a device is looked at on the writing thread."""
    readers = []
    to_array = buffer_pool.PooledTensor.to_array

    def note(copy):
        readers.append(threading.current_thread())
        return to_array(copy)

    monkeypatch.setattr(buffer_pool.PooledTensor, "to_array", note)
    hook = make_hook()
    hook.register_module(model := nn.Linear(1, 1))
    model(torch.ones(1, 1))
    hook.save_scalar("loss", torch.tensor([0.5]))
    assert open_trial(hook).tensor("scalar/loss").value(0) == 0.5
    assert readers
    assert threading.main_thread() not in readers


def test_wait_when_another_thread_may_record_a_graph_then_is_by_the_mode_of_this_thread(monkeypatch):
    """CUDA refuses to wait otherwise, and spoils the graph; the mode of before comes back, whatever happens."""
    mode, seen = ctypes.c_int(0), []

    def exchange(given):
        mode.value, given._obj.value = given._obj.value, mode.value

    monkeypatch.setattr(cuda_runtime, "_find_exchange", lambda: exchange)
    copy = buffer_pool.BufferPool(1 << 20).copy(torch.ones(3))
    copy._arrival = types.SimpleNamespace(synchronize=lambda: seen.append(mode.value))
    assert copy.to_array().tolist() == [1.0] * 3
    assert (seen, mode.value) == ([1], 0)
    with pytest.raises(RuntimeError, match="lost"), cuda_runtime.beside_recordings():
        raise RuntimeError("the device is lost")
    assert mode.value == 0


class OnSecondDevice(torch.Tensor):
    """A tensor of the CPU that says it is on another device than the current one."""

    is_cuda = True
    device = torch.device("cuda", 1)


class TestSecondDevice:
    @pytest.fixture
    def places(self, monkeypatch):
        """Where events were recorded; no device is needed."""
        recorded = []
        event = types.SimpleNamespace(record=lambda stream=None: recorded.append(stream), synchronize=lambda: None)
        empty = torch.empty

        def empty_unpinned(*args, pin_memory=False, **kwargs):
            return empty(*args, **kwargs)

        monkeypatch.setattr(torch.cuda, "Event", lambda: event)
        monkeypatch.setattr(torch.cuda, "current_stream", lambda device=None: f"stream of {device}")
        monkeypatch.setattr(torch, "empty", empty_unpinned)
        return recorded

    def test_copy_when_device_is_not_the_current_one_then_arrival_is_marked_there(self, places):
        """Waiting for another device's work would read memory that nothing has arrived in."""
        pool = buffer_pool.BufferPool(1 << 20)
        first = pool.copy(torch.ones(3).as_subclass(OnSecondDevice))
        pool.copy_all([torch.ones(3).as_subclass(OnSecondDevice)])
        assert places == ["stream of cuda:1"] * 2
        first.release()
        assert pool.copy(torch.ones(3)).tensor is not first.tensor

    def test_batch_when_device_is_not_the_current_one_then_arrival_is_marked_there(self, places):
        """The results of a step are waited for where they are worked out."""
        rows = torch.ones(2, 10).as_subclass(OnSecondDevice)
        wait = gpu._bring(rows, torch.ones(1).as_subclass(OnSecondDevice))
        assert places == ["stream of cuda:1"]
        assert wait()[0].tolist() == [[1.0] * 10] * 2


def test_batch_when_dtype_depends_on_the_device_then_kernels_are_not_asked():
    """A type that Triton cannot read on some devices would switch saving off there."""
    batch = gpu.DeviceReductions(torch.device("cpu"), types.ModuleType("kernels"), gpu.PartTables())
    can = {
        dtype: batch.can_summarise(torch.zeros(3).to(dtype), [Reduction("min")])
        for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float8_e5m2, torch.float64, torch.int32)
    }
    assert [dtype for dtype, is_possible in can.items() if is_possible] == [
        torch.float32,
        torch.bfloat16,
        torch.float16,
    ]


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
