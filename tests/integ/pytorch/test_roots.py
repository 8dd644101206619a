"""What registered models and losses, and their parts, are called."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict

import pytest
import torch
from torch import nn

from sagemaker_debug_ext.errors import SMDebugValueError
from sagemaker_debug_ext.hooks.pytorch.registration import ModuleRegistry, RegisteredModule
from sagemaker_debug_ext.hooks.pytorch.tensors import flatten_tensors
from sagemaker_debug_ext.hooks.pytorch.torch_compile import CompiledCall, compiled_call


class Net(nn.Module):
    """A model of which a part may be another one's, too."""

    def __init__(self, part=None):
        super().__init__()
        self.part = part or nn.Linear(2, 2)
        self.own = nn.Linear(2, 2, bias=False)


class Other(Net):
    """The same by another name."""


@pytest.fixture
def roots():
    return ModuleRegistry()


def test_parameters_when_models_share_some_then_the_first_names_them(roots):
    """A tensor has one name, whichever model is asked."""
    first = RegisteredModule.of_model(Net())
    second = RegisteredModule.of_model(Other(first.module.part))
    assert roots.add(first)
    assert roots.add(second)
    assert [name for name, _ in roots.parameters_of(first)] == ["Net_part.weight", "Net_part.bias", "Net_own.weight"]
    assert [name for name, _ in roots.parameters_of(second)] == [
        "Net_part.weight",
        "Net_part.bias",
        "Other_own.weight",
    ]
    shared, own = first.module.part.weight, second.module.own.weight
    assert [roots.is_named_by(root, shared) for root in (first, second)] == [True, False]
    assert roots.is_named_by(second, own)


def test_parameters_when_nothing_changed_then_list_is_the_same(roots):
    """Looking a model up again costs no new list; a new parameter does."""
    root = RegisteredModule.of_model(Net())
    roots.add(root)
    assert roots.parameters_of(root) is roots.parameters_of(root)
    before = roots.parameters_of(root)
    root.module.extra = nn.Parameter(torch.zeros(1))
    assert len(roots.parameters_of(root)) == len(before) + 1


def test_add_when_registered_already_then_warns(roots, caplog):
    """The second time changes nothing."""
    module = Net()
    assert roots.add(RegisteredModule.of_model(module))
    assert not roots.add(RegisteredModule.of_model(module))
    assert "registered already" in caplog.text
    assert len(list(roots)) == 1


def test_add_when_it_is_a_part_then_refuses(roots):
    """A forward pass must not be two steps."""
    model = Net()
    roots.add(RegisteredModule.of_model(model))
    with pytest.raises(SMDebugValueError, match="'part' of a Net"):
        roots.add(RegisteredModule.of_loss(model.part))
    assert len(list(roots)) == 1


def test_names_when_models_are_alike_then_differ(roots):
    """By a number behind the class, and by the model's name before the paths of its modules."""
    models = [Net(), Net(), nn.Sequential(nn.Linear(2, 2)), Net()]
    for model in models:
        roots.add(RegisteredModule.of_model(model))
    parameters = [name for root in roots for name, _ in roots.parameters_of(root) if name.endswith("weight")]
    assert len(set(parameters)) == len(parameters)
    assert [root.name for root in roots] == ["Net", "Net_1", "Sequential", "Net_2"]
    names = {name for name, _ in roots.modules().values()}
    assert {"Net", "part", "Net_1", "Net_1.part", "Sequential", "0", "Net_2.part"} <= names


def test_names_when_classes_differ_but_paths_do_not_then_modules_are_told_apart(roots):
    """The model registered first keeps the names that it would have alone."""
    first, second = Net(), nn.Sequential(OrderedDict(part=nn.Linear(2, 2), other=nn.Tanh()))
    roots.add(RegisteredModule.of_model(first))
    roots.add(RegisteredModule.of_model(second))
    names = {name for name, _ in roots.modules().values()}
    assert names == {"Net", "part", "own", "Sequential", "Sequential.part", "Sequential.other"}


def test_names_when_a_part_is_shared_then_it_has_that_of_the_first(roots):
    """It is one module, and not two of the same path."""
    first = Net()
    second = nn.Sequential(OrderedDict(part=first.part, other=nn.Tanh()))
    roots.add(RegisteredModule.of_model(first))
    roots.add(RegisteredModule.of_model(second))
    assert {name for name, _ in roots.modules().values()} == {"Net", "part", "own", "Sequential", "other"}


def test_modules_when_root_is_a_loss_then_is_named_by_its_class(roots):
    """Other modules are named by their path, and losses have no parameters."""
    model, loss = Net(), nn.MSELoss()
    roots.add(RegisteredModule.of_model(model))
    roots.add(RegisteredModule.of_loss(loss))
    names = {name for name, _ in roots.modules().values()}
    assert names == {"Net", "part", "own", "MSELoss"}
    assert roots.modules()[id(loss)] == ("MSELoss", loss)
    assert roots.compiled_submodules() == set()
    roots.clear()
    assert roots.modules() == {}


def test_compiled_call_when_removed_then_module_is_as_before():
    """What is called in place of a module's hooks is told of each call, and restored when nobody listens any more."""
    module, seen = Net(), []
    module._compiled_call_impl = original = lambda number: number + 1
    before = CompiledCall.of(module).before(lambda *arguments: seen.append(arguments))
    after = CompiledCall.of(module).after(lambda *arguments: seen.append(arguments))
    assert compiled_call(module)(number=1) == 2
    assert seen == [(module, ()), (module, (), {"number": 1}, 2)]
    after.remove()
    assert compiled_call(module)(2) == 3
    assert seen[2:] == [(module, (2,))]
    before.remove()
    assert compiled_call(module) is original


def test_tensors_in_when_nested_then_returns_all_in_order():
    """Whatever is no tensor is passed over."""

    @dataclasses.dataclass
    class Outputs:
        logits: torch.Tensor
        others: dict

    found = [torch.tensor(number) for number in range(4)]
    nested = [found[0], (found[1], None, "text"), Outputs(found[2], {"x": [found[3]], "y": 5})]
    assert all(left is right for left, right in zip(flatten_tensors(nested), found, strict=True))
    parameter = nn.Parameter(torch.zeros(1))
    assert flatten_tensors(parameter)[0] is parameter
