"""Training comes first: the hook changes no result, costs nothing where nothing is saved, and leaves no trace."""

from __future__ import annotations

import io

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

import sagemaker_debug_ext.pytorch as smd
from support.pytorch_training import registered_hooks


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


class TestDetach:
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
