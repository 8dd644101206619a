"""Training comes first: the hook changes no result, costs nothing where nothing is saved, and leaves no trace."""

from __future__ import annotations

import errno
import io
import logging
import os
import threading

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import sagemaker_debug_ext.pytorch as smd
from sagemaker_debug_ext.store.backends import LocalBackend
from sagemaker_debug_ext.store.format.keys import CLAIM_KEY
from sagemaker_debug_ext.trials import create_trial

EVERYTHING = {
    "values": None,
    "reductions": smd.ReductionConfig(reductions=["mean", "std", "prod"], norms=["l2"], save_shape=True),
}


def result(training):
    """All that training leaves: parameters, gradients and the optimizer's memory, as bytes."""
    buffer = io.BytesIO()
    gradients = [parameter.grad for parameter in training.model.parameters()]
    torch.save([training.model.state_dict(), training.optimizer.state_dict(), gradients], buffer)
    return buffer.getvalue()


def registered_hooks(model):
    """Everything attached to a model, module by module and parameter by parameter."""
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    modules = {name: [len(getattr(module, kind)) for kind in kinds] for name, module in model.named_modules()}
    parameters = {name: len(tensor._backward_hooks or ()) for name, tensor in model.named_parameters()}
    return modules, parameters


def attributes(model):
    return {name: sorted(vars(module)) for name, module in model.named_modules()}


class Operations(TorchDispatchMode):
    """Notes every operation that PyTorch is asked for, copies and looks at single numbers included.

    All but `detach`, which looks at the same memory and waits for nothing.
    """

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.name() != "aten::detach":
            self.names.append(func.name())
        return func(*args, **(kwargs or {}))


def operations_of_steps(training, num_steps):
    """Train, and return the names of the operations of each step."""
    steps = []
    for _ in range(num_steps):
        with Operations() as operations:
            training.train(1)
        steps.append(operations.names)
    return steps


class TestResult:
    @pytest.mark.parametrize("config", EVERYTHING.values(), ids=EVERYTHING)
    def test_result_when_everything_is_saved_then_is_the_same_to_the_bit(self, make_hook, trainer, config):
        """Weights, gradients, optimizer and random numbers are those of a run without hook."""
        without = trainer().train(6).evaluate(2).train(3)
        after_without = torch.rand(3)
        hook = make_hook(save_all=True, reduction_config=config)
        attached = trainer(hook).train(6).evaluate(2).train(3)
        assert torch.equal(torch.rand(3), after_without)
        hook.close()
        assert result(attached) == result(without)
        assert hook.failure is None

    def test_result_when_hook_is_called_a_lot_then_is_the_same_to_the_bit(self, make_hook, trainer):
        """Scalars and tensors of the script's own change nothing either."""
        without = trainer().train(6)
        hook = make_hook(save_all=True)
        attached = trainer(hook)

        def log():
            hook.save_scalar("lr", 0.1)
            hook.save_tensor("fc", attached.model.fc.weight)

        attached.train(6, after_step=log)
        assert result(attached) == result(without)

    @pytest.mark.parametrize("config", EVERYTHING.values(), ids=EVERYTHING)
    def test_result_when_steps_wait_in_a_file_then_is_the_same_and_so_is_the_trial(
        self, make_hook, open_trial, trainer, tmp_path, config
    ):
        """What waits in a file is what would have been written at once, reductions and statistics included."""
        settings = {"save_all": True, "reduction_config": config, "statistics": ["nonfinite", "histogram"]}
        at_once = make_hook("a", **settings)
        without = trainer(at_once).train(6)
        gate = threading.Event()

        class Gated(LocalBackend):
            def write(self, key, parts):
                if key != CLAIM_KEY:  # written on the training thread
                    assert gate.wait(60)
                super().write(key, parts)

        hook = make_hook(Gated(tmp_path / "b"), when_full="spill", memory_limit_bytes=1, **settings)
        attached = trainer(hook).train(6)
        assert hook._dispatcher.output._spill._places, "all steps but the first should wait in the file"
        gate.set()
        assert result(attached) == result(without)
        left, right = open_trial(at_once), open_trial(hook)
        assert left.tensor_names() == right.tensor_names()
        for name in left.tensor_names():
            assert left.tensor(name).steps() == right.tensor(name).steps()
            for step in left.tensor(name).steps():
                numbers, others = (trial.tensor(name).reduction_values(step) for trial in (left, right))
                np.testing.assert_equal(numbers, others)
                if config is None:
                    np.testing.assert_array_equal(left.tensor(name).value(step), right.tensor(name).value(step))


class TestDetach:
    def test_close_when_attached_then_model_is_as_before(self, make_hook, trainer):
        """After close no hook is left, nothing was added to a module, and outputs are the same."""
        training = trainer()
        before = registered_hooks(training.model), attributes(training.model)
        images, _ = training.batch()
        output = training.model(images).detach()
        hook = make_hook(save_all=True)
        hook.register_module(training.model)
        hook.register_loss(training.loss)
        training.model(images).sum().backward()
        assert registered_hooks(training.model) != before[0]
        hook.close()
        assert (registered_hooks(training.model), attributes(training.model)) == before
        assert torch.equal(training.model(images), output)
        assert registered_hooks(training.loss)[0] == {"": [0, 0, 0, 0]}

    def test_close_when_gradients_were_captured_then_parameters_are_as_before(self, make_hook):
        """Not even the place for hooks is left, unless the script needs it."""
        model = nn.Linear(2, 1)
        model.weight.register_hook(lambda gradient: None)
        hook = make_hook(save_all=True)
        hook.register_module(model)
        for _ in range(2):
            model(torch.ones(1, 2)).sum().backward()
        hook.close()
        assert model.bias._backward_hooks is None
        assert len(model.weight._backward_hooks) == 1

    def test_close_when_model_runs_on_then_nothing_is_added(self, make_hook, trainer):
        """Training after close is no business of the hook."""
        hook = make_hook()
        training = trainer(hook).train(2)
        hook.close()
        training.hook = None
        training.train(2)
        assert create_trial(hook.out_dir).steps() == [0, 1]

    def test_model_when_step_is_not_saved_then_only_the_root_is_watched(self, make_hook, trainer):
        """Modules and parameters are touched in saved steps alone."""
        hook = make_hook(save_config=smd.SaveConfig(save_interval=2), save_all=True)
        training = trainer(hook)
        root_only = ({"": [0, 1, 0, 0]}, {})

        def touched():
            modules, parameters = registered_hooks(training.model)
            return (
                {name: counts for name, counts in modules.items() if any(counts)},
                {name: count for name, count in parameters.items() if count},
            )

        training.train(1)
        modules, parameters = touched()
        assert set(modules) == {"", "conv1", "relu1", "conv2", "relu2", "fc"}
        assert len(parameters) == 6
        training.train(1)
        assert touched() == root_only

    @pytest.mark.parametrize(
        "config",
        [
            {},
            {"reduction_config": smd.ReductionConfig(reductions=["mean"], norms=["l2"])},
            {"statistics": ["nonfinite", "histogram"]},
            {"explicit_steps": True, "detect_losses": True},
            {"flight_recorder": 2},
        ],
        ids=lambda config: "-".join(config) or "values",
    )
    def test_operations_when_step_is_not_saved_then_are_those_without_hook(self, make_hook, trainer, config):
        """The hook asks PyTorch for nothing then: no copy, no number, nothing that a device would be waited for."""
        without = operations_of_steps(trainer(), 6)
        hook = make_hook(save_all=True, save_config=smd.SaveConfig(save_interval=3), **config)
        attached = trainer(hook)
        if hook.explicit_steps:
            attached.optimizer.register_step_post_hook(lambda *_: hook.step())
        found = operations_of_steps(attached, 6)
        assert hook.failure is None
        for step in (1, 2, 4, 5):
            assert found[step] == without[step]

    def test_model_when_configuration_is_the_default_then_modules_are_never_touched(self, make_hook, trainer):
        """With losses alone, no module but the loss is watched, even in saved steps."""
        hook = make_hook()
        training = trainer(hook).train(1)
        modules, parameters = registered_hooks(training.model)
        assert {name: counts for name, counts in modules.items() if any(counts)} == {"": [0, 1, 0, 0]}
        assert not any(parameters.values())

    def test_model_when_used_elsewhere_then_can_be_copied_and_stored(self, make_hook, trainer):
        """A watched model can still be saved and loaded between steps."""
        hook = make_hook(save_all=True)
        training = trainer(hook).train(1)
        state = {name: tensor.clone() for name, tensor in training.model.state_dict().items()}
        hook.close()
        buffer = io.BytesIO()
        torch.save(training.model, buffer)
        assert all(torch.equal(state[name], tensor) for name, tensor in training.model.state_dict().items())


class TestFullDisk:
    @pytest.fixture
    def fill_disk(self, monkeypatch):
        """Return a function that lets so many bytes be written, and no more."""

        def fill(free_bytes):
            left = [free_bytes]
            real = os.pwritev

            def pwritev(descriptor, parts, start):
                if left[0] <= 0:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                content = b"".join(parts)[: left[0]]
                left[0] -= len(content)
                return real(descriptor, [content], start)

            monkeypatch.setattr(os, "pwritev", pwritev)

        return fill

    @pytest.mark.parametrize("free_bytes", [0, 100, 20_000, 60_000])
    def test_disk_when_it_fills_up_then_training_ends_as_without_hook(
        self, make_hook, trainer, fill_disk, caplog, tmp_path, free_bytes
    ):
        """One error is logged, saving stops, no half-written file is left, the result is the same to the bit."""
        without = trainer().train(12)
        fill_disk(free_bytes)
        hook = make_hook(strict=False, include_collections=["weights", "gradients"])
        attached = trainer(hook).train(12)
        hook.close()
        assert result(attached) == result(without)
        assert hook.failure.errno == errno.ENOSPC
        assert [record.levelname for record in caplog.records if record.levelno >= logging.ERROR] == ["ERROR"]
        assert "No space left on device" in caplog.text
        assert not list(tmp_path.rglob("*.tmp"))
        assert not (tmp_path / "out" / "claim.smd").exists()

    def test_disk_when_it_fills_up_then_earlier_steps_read_back(self, make_hook, trainer, fill_disk):
        """What was written before is a trial like any other."""
        fill_disk(60_000)
        hook = make_hook(strict=False, include_collections=["weights", "gradients"])
        trainer(hook).train(12)
        hook.close()
        trial = create_trial(hook.out_dir)
        steps = trial.steps()
        assert 0 < len(steps) < 12
        assert steps == list(range(len(steps)))
        for name in trial.tensor_names():
            assert all(np.isfinite(value).all() for value in trial.tensor(name).values().values())


def test_hook_when_module_breaks_it_then_training_goes_on(make_hook, tmp_path, caplog):
    """A module the hook cannot deal with costs the saving, not the training."""

    class Strange(nn.Sequential):
        def named_modules(self, *args, **kwargs):
            if hook.step >= 0:
                raise RuntimeError("strange")
            return super().named_modules(*args, **kwargs)

    hook = make_hook(strict=False, save_all=True)
    model = Strange()
    hook.register_module(model)
    assert model(torch.ones(2)).tolist() == [1, 1]
    assert model(torch.ones(2)).tolist() == [1, 1]
    assert isinstance(hook.failure, RuntimeError)
    assert caplog.text.count("training goes on: strange") == 1
