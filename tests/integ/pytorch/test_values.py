"""Unusual values: each is saved, or left out alone; whatever it is, training and the rest of saving go on."""

from __future__ import annotations

import collections
import dataclasses
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

import sagemaker_debug_ext.pytorch as smd
from sagemaker_debug_ext.errors import SMDebugTypeError
from sagemaker_debug_ext.hooks.pytorch.tensors import flatten_tensors


class Returns(nn.Module):
    """Returns what its function makes of the output of a layer."""

    def __init__(self, function):
        super().__init__()
        self.function = function
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return self.function(self.layer(x))


def run(hook, function, steps=2):
    """Let a model return what the function gives, and return the outputs of its layer."""
    model = Returns(function)
    hook.register_module(model)
    with torch.no_grad():
        outputs = [model.layer(torch.ones(3, 2)).numpy() for _ in range(steps)]
        for _ in range(steps):
            model(torch.ones(3, 2))
    return outputs


@dataclasses.dataclass
class Unset:
    logits: torch.Tensor
    later: torch.Tensor = dataclasses.field(init=False)


def inside_itself(output):
    values = [output]
    values.append({"again": values, "twice": output})
    return values


class Breaks(collections.abc.Mapping):
    """A mapping that works out its values when asked, and fails."""

    def __init__(self, output):
        self.output = output

    def __getitem__(self, key):
        raise OSError("far away")

    def __iter__(self):
        return iter("a")

    def __len__(self):
        return 1


class TestContainers:
    @pytest.mark.parametrize(("function", "count"), [(Unset, 1), (inside_itself, 2)])
    def test_outputs_when_unset_or_inside_themselves_then_the_others_are_saved(
        self, make_hook, open_trial, function, count
    ):
        """A field that has no value is passed over, and what holds itself is gone through once."""
        hook = make_hook(save_all=True)
        outputs = run(hook, function)
        trial = open_trial(hook)
        names = [name for name in trial.tensor_names() if name.startswith("Returns_output")]
        assert names == [f"Returns_output_{at}" for at in range(count)]
        for name in names:
            np.testing.assert_array_equal(trial.tensor(name).value(1), outputs[1])

    def test_outputs_when_their_class_fails_then_the_rest_is_saved(self, make_hook, open_trial, caplog):
        """It is named once; a strict hook raises instead."""
        hook = make_hook(save_all=True, strict=False)
        run(hook, Breaks)
        names = open_trial(hook).tensor_names()
        assert "layer_output_0" in names
        assert not any(name.startswith("Returns_output") for name in names)
        assert caplog.text.count("Returns_output is not saved: far away") == 1
        with pytest.raises(OSError, match="far away"):
            run(make_hook("strict", save_all=True), Breaks)

    def test_tensors_in_when_everything_holds_everything_then_comes_to_an_end(self):
        """The ways through such things are more than can be gone."""
        nodes = [[torch.tensor(number)] for number in range(40)]
        for node in nodes:
            node.append(nodes)
        assert sorted(tensor.item() for tensor in flatten_tensors(nodes)) == list(range(40))

    def test_tensors_in_when_given_twice_then_are_found_twice(self):
        """Only what is inside itself is gone through once."""
        features = [torch.ones(1)]
        assert len(flatten_tensors((features, {"again": features}))) == 2


class TestTensors:
    @pytest.mark.parametrize("name", ["uint4", "int4", "bits8", "float4_e2m1fn_x2"])
    def test_outputs_when_of_a_type_without_numbers_then_the_others_are_saved(
        self, make_hook, open_trial, caplog, name
    ):
        """It is named once, whatever is wanted of it."""
        dtype = getattr(torch, name, None)
        if dtype is None:
            pytest.skip("this version of PyTorch does not have the type")
        hook = make_hook(save_all=True)
        other = make_hook("other", save_all=True, reduction_config=smd.ReductionConfig(reductions=["mean"]))
        for any_hook in (hook, other):
            run(any_hook, lambda output: (torch.empty(2, dtype=dtype), output))
        hook.save_tensor("own", torch.empty(2, dtype=dtype))
        for any_hook in (hook, other):
            names = open_trial(any_hook).tensor_names()
            assert "Returns_output_1" in names
            assert not {"Returns_output_0", "own"} & set(names)
        assert caplog.text.count(f"Returns_output_0 is not saved: there is no way to store torch.{name}") == 2
        assert caplog.text.count("'own' is not saved") == 1

    def test_parameters_when_of_a_type_without_numbers_then_the_others_are_saved(self, make_hook, open_trial, caplog):
        """Libraries keep weights of a few bits each."""
        hook = make_hook(include_collections=["weights", "biases"])
        model = nn.Linear(2, 2)
        model.packed_weight = nn.Parameter(torch.empty(2, dtype=torch.bits8), requires_grad=False)
        hook.register_module(model)
        for _ in range(2):
            model(torch.ones(1, 2))
        assert open_trial(hook).tensor_names() == ["Linear_bias", "Linear_weight"]
        assert caplog.text.count("Linear_packed_weight is not saved") == 1

    @pytest.mark.filterwarnings("ignore:.*nested tensors.*")
    def test_outputs_when_nested_then_are_left_out(self, make_hook, open_trial):
        """What an encoder makes of padded sequences inside, and what the script makes itself."""
        hook = make_hook(save_all=True, detect_losses=True)
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        model = nn.TransformerEncoder(layer, 1).eval()
        hook.register_module(model)
        padding = torch.tensor([[False, False], [False, True]])
        for _ in range(2):
            with torch.no_grad():
                output = model(torch.randn(2, 2, 8), src_key_padding_mask=padding)
        for layout in (torch.strided, torch.jagged):
            hook.record_tensor_value(
                "nested", torch.nested.nested_tensor([torch.ones(1), torch.ones(2)], layout=layout)
            )
        trial = open_trial(hook)
        np.testing.assert_array_equal(trial.tensor("TransformerEncoder_output_0").value(1), output)
        assert trial.steps() == [0, 1]
        assert not any("nested" in name for name in trial.tensor_names())

    def test_value_when_saving_it_fails_then_the_others_are_saved(self, make_hook, open_trial, caplog, monkeypatch):
        """An exception about one value costs that value, not the saving."""
        hook = make_hook(save_all=True, strict=False)
        save = hook._save

        def fail(name, *arguments):
            if name == "layer_output_0":
                raise NotImplementedError("not for this one")
            save(name, *arguments)

        monkeypatch.setattr(hook, "_save", fail)
        run(hook, lambda output: output)
        trial = open_trial(hook)
        assert hook.failure is None
        assert "layer_output_0" not in trial.tensor_names()
        assert trial.tensor("Returns_output_0").steps() == [0, 1]
        assert caplog.text.count("layer_output_0 is not saved: not for this one") == 1

    def test_values_when_of_a_class_that_adds_to_tensors_then_are_saved(self, make_hook, open_trial):
        """Parameters and the like are; what their class does when they are used is not done."""
        seen = []

        class Noting(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                seen.append(func)
                return super().__torch_function__(func, types, args, kwargs or {})

        hook = make_hook(save_all=True)
        model = nn.Linear(2, 1)
        hook.register_module(model)
        model(torch.ones(1, 2))
        noting = torch.tensor([1.0, 2.0]).as_subclass(Noting)
        seen.clear()
        hook.record_tensor_value("noting", noting)
        assert not seen
        hook.record_tensor_value("parameter", model.weight)
        trial = open_trial(hook)
        assert trial.tensor("noting_output_0").value(0).tolist() == [1, 2]
        np.testing.assert_array_equal(trial.tensor("parameter_output_0").value(0), model.weight.detach())

    def test_save_tensor_when_name_is_no_text_then_refuses(self, make_hook):
        """A name that no trial can have is told at once."""
        with pytest.raises(SMDebugTypeError, match=r"tensor_name must be a text \(got 5\)"):
            make_hook().save_tensor(5, torch.ones(1))


ON_ANOTHER_DEVICE = """
import torch
torch.set_default_device("meta")
import sagemaker_debug_ext.pytorch as smd
from sagemaker_debug_ext.trials import create_trial

configs = {
    "values": {},
    "reductions": {"reduction_config": smd.ReductionConfig(reductions=["mean", "std"], norms=["l2"])},
    "statistics": {"statistics": ["nonfinite"]},
}
for name, config in configs.items():
    with smd.Hook(
        f"FOLDER/{name}", save_config=smd.SaveConfig(save_interval=1), save_all=True, strict=True, **config
    ) as hook:
        model = torch.nn.Linear(2, 3, device="cpu", dtype=torch.bfloat16)
        hook.register_module(model)
        for _ in range(2):
            model(torch.ones(4, 2, device="cpu", dtype=torch.bfloat16)).sum().backward()
    trial = create_trial(f"FOLDER/{name}")
    assert len(trial.tensor_names()) == 6, trial.tensor_names()
    assert all(trial.tensor(name).steps() == [0, 1] for name in trial.tensor_names())
"""


def test_hook_when_tensors_are_made_on_another_device_then_its_own_are_on_the_cpu(tmp_path):
    """A script may have set the default device before it imports the package."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    program = ON_ANOTHER_DEVICE.replace("FOLDER", str(tmp_path))
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
