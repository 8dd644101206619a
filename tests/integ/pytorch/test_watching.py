"""What is registered with a model stays while saved steps are alike, and follows the model when it changes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import sagemaker_debug_ext.pytorch as smd

EVERY_STEP = smd.SaveConfig(save_interval=1)
GRADIENTS = {"save_config": EVERY_STEP, "include_collections": ["gradients"]}


def step(model):
    model.zero_grad()
    model(torch.ones(2, 3)).sum().backward()


def hooks_of(model):
    return [hook for parameter in model.parameters() for hook in (parameter._backward_hooks or {}).values()]


def steps_of(trial, name):
    return trial.tensor(name).steps() if name in trial.tensor_names() else []


def test_watch_when_steps_are_alike_then_stays_as_it_is(make_hook):
    """Nothing is registered anew for a step that saves what the one before it saved."""
    model = nn.Linear(3, 2)
    hook = make_hook(**GRADIENTS)
    hook.register_module(model)
    step(model)
    registered = hooks_of(model)
    step(model)
    assert registered
    assert all(before is after for before, after in zip(registered, hooks_of(model), strict=True))
    hook.close()
    assert hooks_of(model) == []


def test_watch_when_a_step_saves_nothing_then_ends(make_hook):
    """The model is touched only in steps that save something."""
    model = nn.Linear(3, 2)
    hook = make_hook(save_config=smd.SaveConfig(save_interval=2), include_collections=["gradients"])
    hook.register_module(model)
    counts = []
    for _ in range(4):
        step(model)
        counts.append(len(hooks_of(model)))
    assert counts == [2, 0, 2, 0]


def test_watch_when_a_layer_is_replaced_then_follows(make_hook, open_trial):
    """Weights and gradients are those of the layer that is there, not of the one that was."""
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2))
    hook = make_hook(save_config=EVERY_STEP, include_collections=["weights", "gradients"])
    hook.register_module(model)
    step(model)
    old, model[1] = model[1], nn.Linear(3, 4)
    step(model)
    trial = open_trial(hook)
    assert hooks_of(old) == []
    assert [trial.tensor("Sequential_1.weight").value(at).shape for at in (0, 1)] == [(2, 3), (4, 3)]
    assert [trial.tensor("gradient/Sequential_1.weight").value(at).shape for at in (0, 1)] == [(2, 3), (4, 3)]


@pytest.mark.parametrize("replaced_by", [nn.Linear(3, 4), nn.Tanh()], ids=["layer", "activation"])
def test_watch_when_a_module_is_replaced_then_outputs_are_those_of_the_new_one(make_hook, open_trial, replaced_by):
    """Whether it has parameters or not."""
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2))
    hook = make_hook(save_config=EVERY_STEP, include_regex=["^1_output"])
    hook.register_module(model)
    model(torch.ones(2, 3))
    model[1] = replaced_by
    output = model(torch.ones(2, 3)).detach().numpy()
    np.testing.assert_array_equal(open_trial(hook).tensor("1_output_0").value(1), output)


def test_watch_when_a_parameter_is_unfrozen_then_its_gradient_is_saved(make_hook, open_trial):
    """Which parameters are trained is looked at in every saved step."""
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2))
    model[0].weight.requires_grad_(False)
    hook = make_hook(**GRADIENTS)
    hook.register_module(model)
    step(model)
    model[0].weight.requires_grad_(True)
    step(model)
    trial = open_trial(hook)
    assert steps_of(trial, "gradient/Sequential_0.weight") == [1]
    assert steps_of(trial, "gradient/Sequential_1.weight") == [0, 1]


def test_watch_when_a_lazy_parameter_gets_its_data_then_it_is_saved(make_hook, open_trial):
    """A parameter that comes into being keeps its identity, and is found all the same."""
    model = nn.Sequential(nn.LazyLinear(3), nn.Linear(3, 2))
    hook = make_hook(save_config=EVERY_STEP, include_collections=["weights", "gradients"])
    hook.register_module(model)
    for _ in range(3):
        step(model)
    trial = open_trial(hook)
    assert steps_of(trial, "Sequential_0.weight")[-1] == 2
    assert steps_of(trial, "gradient/Sequential_0.weight")[-1] == 2


def test_watch_when_modes_alternate_then_each_saves_its_own(make_hook, open_trial):
    """Steps of EVAL between those of TRAIN save no gradients and take none away."""
    model = nn.Linear(3, 2)
    hook = make_hook(**GRADIENTS)
    hook.register_module(model)
    for number in range(4):
        hook.set_mode(smd.modes.EVAL if number % 2 else smd.modes.TRAIN)
        step(model)
    assert steps_of(open_trial(hook), "gradient/Linear_weight") == [0, 2]


def test_watch_when_the_same_is_due_in_both_modes_then_only_training_has_gradients(make_hook, open_trial):
    """A collection of the script's own that is due alone, in TRAIN and in EVAL, is told apart by the mode."""
    model = nn.Linear(3, 2)
    hook = make_hook(save_config=smd.SaveConfig(save_interval=1000), include_collections=["mine"])
    mine = hook.get_collection("mine")
    mine.include(["weight"])
    mine.save_config = EVERY_STEP
    hook.register_module(model)
    for number in range(6):
        hook.set_mode(smd.modes.EVAL if number % 2 else smd.modes.TRAIN)
        step(model)
    trial = open_trial(hook)
    assert steps_of(trial, "gradient/Linear_weight") == [0, 2, 4]
    assert steps_of(trial, "Linear_weight") == list(range(6))


def test_values_when_memory_is_used_again_then_each_step_keeps_its_own(make_hook, open_trial):
    """The memory of a written step serves a later one, never one that still waits."""
    model = nn.Linear(3, 2, bias=False)
    hook = make_hook(save_config=EVERY_STEP, include_collections=["weights"])
    hook.register_module(model)
    for number in range(20):
        with torch.no_grad():
            model.weight.fill_(number)
        step(model)
    weight = open_trial(hook).tensor("Linear_weight")
    assert [float(weight.value(number).max()) for number in range(20)] == list(range(20))
    assert [float(weight.value(number).min()) for number in range(20)] == list(range(20))


def test_save_tensor_when_collection_has_reductions_then_they_are_saved(make_hook, open_trial):
    """The script's own tensors are reduced like those of the framework, arrays and tensors alike."""
    model = nn.Linear(3, 2)
    hook = make_hook(**GRADIENTS)
    collection = hook.get_collection("mine")
    collection.reduction_config = smd.ReductionConfig(reductions=["max"], norms=["l1"])
    collection.save_config = EVERY_STEP
    hook.register_module(model)
    hook.save_tensor("array", np.array([1.0, -2.0], np.float32), "mine")
    hook.save_tensor("tensor", torch.tensor([1.0, -2.0]), "mine")
    hook.save_tensor("whole", torch.tensor([1, -2]), "mine")
    step(model)
    trial = open_trial(hook)
    assert hook.failure is None
    for name in ("array", "tensor", "whole"):
        found = trial.tensor(name).reduction_values(0)
        assert {key: float(value) for key, value in found.items()} == {("max", False): 1.0, ("l1", False): 3.0}


def test_watch_when_a_loss_is_registered_within_a_step_then_the_step_is_whole(make_hook, open_trial):
    """Its own value is saved, and the gradients that come after it."""
    model, loss_function = nn.Linear(3, 2), nn.MSELoss()
    hook = make_hook(**GRADIENTS)
    hook.register_module(model)
    for _ in range(2):
        output = model(torch.ones(2, 3))
        if hook.step == 0:
            hook.register_loss(loss_function)
        loss_function(output, torch.zeros(2, 2)).backward()
    hook.close()
    assert hooks_of(model) == []
    trial = open_trial(hook)
    for name in ("MSELoss_output_0", "gradient/Linear_weight", "gradient/Linear_bias"):
        assert steps_of(trial, name) == [0, 1], name
