"""What the PyTorch hook captures, under which names, at which steps."""

from __future__ import annotations

import copy
import dataclasses
import json

import numpy as np
import pytest
import torch
from torch import nn

import sagemaker_debug_ext.pytorch as smd
from sagemaker_debug_ext.errors import SMDebugTypeError, SMDebugValueError, TensorUnavailable

F = nn.functional


class Echo(nn.Module):
    """Returns what its function makes of its inputs."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args, **kwargs):
        return self.function(*args, **kwargs)


@dataclasses.dataclass
class Result:
    """What a module may return."""

    tensor: torch.Tensor
    note: str


class Twice(nn.Module):
    """Calls one module twice."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.relu(self.fc(self.relu(self.fc(x))))


def value(trial, name, step=0, mode=smd.modes.GLOBAL):
    return trial.tensor(name).value(step, mode)


class TestValues:
    def test_weights_when_saved_then_are_those_before_the_update(self, make_hook, open_trial):
        """Weights belong to the beginning of their step, gradients to its backward pass."""
        hook = make_hook(include_collections=["weights", "biases", "gradients"])
        model = nn.Linear(2, 1)
        hook.register_module(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        before, gradients = [], []
        for _ in range(3):
            before.append(model.weight.detach().numpy().copy())
            optimizer.zero_grad()
            model(torch.randn(4, 2)).sum().backward()
            gradients.append(model.weight.grad.numpy().copy())
            optimizer.step()
        trial = open_trial(hook)
        assert trial.tensor_names() == [
            "Linear_bias",
            "Linear_weight",
            "gradient/Linear_bias",
            "gradient/Linear_weight",
        ]
        for step in range(3):
            np.testing.assert_array_equal(value(trial, "Linear_weight", step), before[step])
            np.testing.assert_array_equal(value(trial, "gradient/Linear_weight", step), gradients[step])

    def test_gradients_when_they_accumulate_then_each_step_has_its_own(self, make_hook, open_trial):
        """Saved is the gradient of the backward pass, not the sum in `.grad`."""
        hook = make_hook(include_collections=["gradients"])
        model = nn.Linear(2, 1, bias=False)
        hook.register_module(model)
        for _ in range(3):
            model(torch.ones(1, 2)).sum().backward()
        trial = open_trial(hook)
        assert model.weight.grad.tolist() == [[3, 3]]
        assert [value(trial, "gradient/Linear_weight", step).tolist() for step in range(3)] == [[[1, 1]]] * 3

    def test_gradients_when_one_backward_follows_two_forwards_then_belong_to_the_last(self, make_hook, open_trial):
        """A gradient belongs to the step that is open when it arrives."""
        hook = make_hook(include_collections=["gradients"])
        model = nn.Linear(2, 1, bias=False)
        hook.register_module(model)
        (model(torch.ones(1, 2)) + model(torch.ones(1, 2))).sum().backward()
        assert open_trial(hook).tensor("gradient/Linear_weight").steps() == [1]

    def test_gradients_when_parameter_is_frozen_then_only_the_others_are_there(self, make_hook, open_trial):
        """A parameter that needs no gradient has a weight and no gradient."""
        hook = make_hook(include_collections=["weights", "gradients"])
        model = nn.Sequential(nn.Linear(2, 2, bias=False), nn.Linear(2, 1, bias=False))
        model[0].weight.requires_grad_(False)
        hook.register_module(model)
        model(torch.ones(1, 2)).sum().backward()
        names = open_trial(hook).tensor_names()
        assert names == ["Sequential_0.weight", "Sequential_1.weight", "gradient/Sequential_1.weight"]

    @pytest.mark.parametrize("mode", [smd.modes.EVAL, smd.modes.PREDICT])
    def test_gradients_when_not_training_then_are_not_saved(self, make_hook, open_trial, mode):
        """Even a saved catch-all takes no gradients in EVAL and PREDICT."""
        hook = make_hook(save_all=True)
        model = nn.Linear(2, 1)
        hook.register_module(model)
        hook.set_mode(mode)
        model(torch.ones(1, 2)).sum().backward()
        assert not [name for name in open_trial(hook).tensor_names() if name.startswith("gradient")]

    def test_outputs_when_changed_in_place_afterwards_then_are_as_they_were(self, make_hook, open_trial):
        """What is captured is a copy, so in-place layers do no harm."""
        hook = make_hook(include_regex=["0_output"])
        model = nn.Sequential(Echo(lambda x: x - 1), nn.ReLU(inplace=True))
        hook.register_module(model)
        model(torch.zeros(3))
        assert value(open_trial(hook), "0_output_0").tolist() == [-1, -1, -1]

    def test_loss_when_registered_then_is_saved_as_it_is(self, make_hook, open_trial, trainer):
        """A loss has no dimension; default configuration saves losses alone."""
        hook = make_hook()
        seen = []
        training = trainer(hook)
        training.loss.register_forward_hook(lambda _, __, output: seen.append(output.item()))
        training.train(3).evaluate(2)
        trial = open_trial(hook)
        assert trial.tensor_names() == ["CrossEntropyLoss_output_0"]
        values = [value(trial, "CrossEntropyLoss_output_0", step) for step in range(5)]
        assert [float(loss) for loss in values] == seen
        assert values[0].shape == ()
        assert trial.tensor("CrossEntropyLoss_output_0").steps(smd.modes.EVAL) == [0, 1]


class TestNames:
    def test_modules_when_nested_then_are_named_by_their_path(self, make_hook, open_trial):
        """The root has its class's name, the others their path."""
        hook = make_hook(save_all=True)
        model = nn.Sequential(nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU()), nn.Identity())
        hook.register_module(model)
        model(torch.ones(1, 2))
        names = open_trial(hook).tensor_names()
        paths = ("Sequential", "0", "0.0", "0.1", "1")
        assert names == sorted(
            ["Sequential_0.0.weight", *(f"{path}_{kind}put_0" for path in paths for kind in ("in", "out"))]
        )

    def test_outputs_when_module_runs_twice_then_numbers_go_on(self, make_hook, open_trial):
        """Each call within a step has numbers of its own, which begin anew with the next step."""
        hook = make_hook(include_regex=["relu_output", "fc_input"])
        model = Twice()
        hook.register_module(model)
        for _ in range(2):
            model(torch.ones(1, 3))
        trial = open_trial(hook)
        names = ["fc_input_0", "fc_input_1", "relu_output_0", "relu_output_1"]
        assert trial.tensor_names() == names
        assert {tuple(trial.tensor(name).steps()) for name in names} == {(0, 1)}

    def test_outputs_when_pattern_names_a_late_number_then_it_is_found(self, make_hook, open_trial):
        """Numbers count all tensors, wanted or not."""
        hook = make_hook(include_regex=["relu_output_1"])
        model = Twice()
        hook.register_module(model)
        model(torch.ones(1, 3))
        assert open_trial(hook).tensor_names() == ["relu_output_1"]

    def test_tensors_when_nested_then_are_numbered_through(self, make_hook, open_trial):
        """Tuples, lists, dictionaries and dataclasses are opened; what is no tensor is passed over."""
        hook = make_hook(include_regex=["0_(in|out)put"])
        model = nn.Sequential(Echo(lambda x: (x, [x + 1, (x + 2,)], {"a": Result(x + 3, "text")}, None, 5)))
        hook.register_module(model)
        model(torch.zeros(1))
        trial = open_trial(hook)
        assert trial.tensor_names() == ["0_input_0", "0_output_0", "0_output_1", "0_output_2", "0_output_3"]
        assert [float(value(trial, f"0_output_{index}")[0]) for index in range(4)] == [0, 1, 2, 3]

    def test_losses_when_two_share_a_class_then_are_numbered(self, make_hook, open_trial):
        """Two losses of one class are told apart by their number."""
        hook = make_hook()
        model, first, second = nn.Linear(2, 2), nn.MSELoss(), nn.MSELoss()
        for registered, module in ((hook.register_module, model), *[(hook.register_loss, x) for x in (first, second)]):
            registered(module)
        output = model(torch.ones(1, 2))
        first(output, torch.zeros(1, 2))
        second(output, torch.ones(1, 2))
        assert open_trial(hook).tensor_names() == ["MSELoss_output_0", "MSELoss_output_1"]

    def test_record_tensor_value_when_name_ends_in_loss_then_is_a_loss(self, make_hook, open_trial):
        """The value of a loss function is saved under the name given, if a saved collection takes it."""
        hook = make_hook()
        model = nn.Linear(2, 2)
        hook.register_module(model)
        hook.record_tensor_value("early_loss", torch.ones(1))
        for step in range(2):
            model(torch.ones(1, 2))
            hook.record_tensor_value("nll_loss", torch.tensor(float(step)))
            hook.record_tensor_value("foo", torch.ones(1))
        trial = open_trial(hook)
        assert trial.tensor_names() == ["nll_loss_output_0"]
        assert value(trial, "nll_loss_output_0", 1) == 1

    def test_add_module_tensors_when_module_is_registered_then_it_is_captured(self, make_hook, open_trial):
        """Collections can name modules instead of patterns."""
        hook = make_hook(include_collections=["mine"])
        model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        hook.get_collection("mine").add_module_tensors(model[1], inputs=True)
        hook.register_module(model)
        model(torch.ones(1, 2))
        trial = open_trial(hook)
        assert trial.tensor_names(collection="mine") == ["1_input_0", "1_output_0"]

    def test_add_module_tensors_when_module_is_unknown_then_warns(self, make_hook, caplog):
        """A module that was never registered costs a warning."""
        hook = make_hook(strict=False, include_collections=["mine"])
        hook.get_collection("mine").add_module_tensors(nn.ReLU())
        hook.register_module(model := nn.Linear(2, 2))
        model(torch.ones(1, 2))
        assert "collection 'mine': a ReLU is not registered" in caplog.text

    def test_add_module_tensors_when_it_is_no_module_then_refuses(self, make_hook):
        """Only modules have inputs and outputs."""
        with pytest.raises(SMDebugTypeError, match="module must be"):
            make_hook().get_collection("mine").add_module_tensors("fc")


class TestSteps:
    def test_steps_when_two_models_run_then_both_count(self, make_hook, open_trial):
        """Each forward pass of each registered model is a step, with its own weights."""
        hook = make_hook(include_collections=["weights"])
        generator, critic = nn.Linear(2, 2), nn.Bilinear(2, 2, 1)
        hook.register_module(generator)
        hook.register_module(critic)
        for _ in range(2):
            fake = generator(torch.ones(1, 2))
            critic(fake, fake)
        trial = open_trial(hook)
        assert trial.tensor("Linear_weight").steps() == [0, 2]
        assert trial.tensor("Bilinear_weight").steps() == [1, 3]

    def test_steps_when_a_part_runs_alone_then_it_joins_the_open_step(self, make_hook, open_trial):
        """Only whole models make steps."""
        hook = make_hook(include_regex=["0_output"])
        model = nn.Sequential(nn.Linear(2, 2))
        hook.register_module(model)
        model(torch.ones(1, 2))
        model[0](torch.ones(1, 2))
        trial = open_trial(hook)
        assert trial.steps() == [0]
        assert trial.tensor_names() == ["0_output_0", "0_output_1"]

    def test_custom_tensor_when_given_between_the_passes_then_belongs_to_the_step(self, make_hook, open_trial):
        """A tensor of the script's own, on its way to the backward pass, is saved with that step."""
        hook = make_hook(include_collections=["gradients"])
        model = nn.Linear(2, 1)
        hook.register_module(model)
        for step in range(3):
            output = model(torch.ones(1, 2))
            hook.save_tensor("mine", torch.full((2,), float(step)))
            output.sum().backward()
        trial = open_trial(hook)
        assert [value(trial, "mine", step).tolist() for step in range(3)] == [[0, 0], [1, 1], [2, 2]]


class TestRegister:
    def test_register_when_it_is_no_module_then_refuses(self, make_hook):
        """Only modules can be registered."""
        hook = make_hook()
        with pytest.raises(SMDebugTypeError, match=r"module must be a torch\.nn\.Module"):
            hook.register_module("model")
        with pytest.raises(SMDebugTypeError, match="record_tensor_value"):
            hook.register_loss(F.cross_entropy)
        with pytest.raises(SMDebugTypeError, match="tensor_value must be"):
            hook.record_tensor_value("loss", 1.0)

    def test_register_when_repeated_then_warns_and_counts_once(self, make_hook, open_trial, caplog):
        """Registering twice is harmless."""
        hook = make_hook(include_collections=["weights"])
        model = nn.Linear(2, 2)
        hook.register_module(model)
        hook.register_hook(model)
        model(torch.ones(1, 2))
        assert open_trial(hook).steps() == [0]
        assert "a Linear is registered already" in caplog.text

    def test_register_when_part_is_registered_then_names_it(self, make_hook):
        """A module is captured once; the error names the part that would be twice."""
        hook = make_hook()
        inner = nn.Linear(2, 2)
        hook.register_module(inner)
        with pytest.raises(SMDebugValueError, match=r"'0' of a Sequential is the Linear itself"):
            hook.register_module(nn.Sequential(inner))
        whole = nn.Bilinear(2, 2, 1)
        whole.inner = nn.Tanh()
        hook.register_module(whole)
        with pytest.raises(SMDebugValueError, match=r"'inner' of a Bilinear is the Tanh itself"):
            hook.register_loss(whole.inner)

    def test_register_loss_when_its_class_is_not_called_so_then_is_among_losses(self, make_hook, open_trial, caplog):
        """What is registered as a loss is one, whatever its name; nothing else becomes one by that."""
        hook = make_hook(save_all=True)
        model = nn.Sequential()
        model.MyEcho = Echo(lambda x: x)  # much the same name
        criterion = Echo(lambda x: x.mean())
        hook.register_module(model)
        hook.register_loss(criterion)
        hook.register_loss(nn.MSELoss())
        criterion(model(torch.ones(4, 1)))
        trial = open_trial(hook)
        assert trial.tensor_names(collection="losses") == ["Echo_output_0"]
        assert {"Echo_output_0", "Echo_input_0", "MyEcho_output_0"} <= set(trial.tensor_names())
        assert hook.get_collection("losses").include_regex == ["[Ll]oss_(?!input).*output", r"^Echo_output_\d+$"]
        assert not caplog.records

    def test_register_loss_when_a_step_is_open_then_is_captured_from_the_next_one_on(self, make_hook, open_trial):
        """A loss may be made late, whatever its name."""
        hook = make_hook()
        model, criterion = nn.Linear(1, 1), Echo(lambda x: x.mean())
        hook.register_module(model)
        model(torch.ones(4, 1))
        hook.register_loss(criterion)
        for _ in range(2):
            criterion(model(torch.ones(4, 1)))
        assert open_trial(hook).tensor("Echo_output_0").steps() == [1, 2]

    def test_count_parameters_when_some_are_frozen_then_counts_the_others(self, make_hook):
        """Counted is what is trained."""
        model = nn.Linear(3, 2)
        model.bias.requires_grad_(False)
        assert make_hook().count_parameters(model) == 6


class TestKinds:
    @pytest.mark.parametrize(
        ("dtype", "expected"),
        [
            (torch.float16, "float16"),
            (torch.float64, "float64"),
            (torch.bfloat16, "bfloat16"),
            (torch.float8_e4m3fn, "float8_e4m3fn"),
            (torch.float8_e5m2, "float8_e5m2"),
            (torch.float8_e4m3fnuz, "float32"),
            (torch.int8, "int8"),
            (torch.uint16, "uint16"),
            (torch.bool, "bool"),
            (torch.complex64, "complex64"),
        ],
        ids=str,
    )
    def test_outputs_when_dtype_is_unusual_then_are_saved_exactly(self, make_hook, open_trial, dtype, expected):
        """Every dtype keeps its values; where numpy has none, float32 holds them."""
        hook = make_hook(include_regex=["0_output"])
        model = nn.Sequential(Echo(lambda x: x.to(dtype)))
        hook.register_module(model)
        model(torch.tensor([0.0, 1.0, 0.5]))
        saved = value(open_trial(hook), "0_output_0")
        assert saved.dtype.name == expected
        wanted = torch.tensor([0.0, 1.0, 0.5]).to(dtype)
        wanted = wanted.to(torch.complex64 if dtype.is_complex else torch.float64)
        assert saved.astype(wanted.numpy().dtype).tolist() == wanted.tolist()

    def test_model_when_in_bfloat16_then_trains_and_is_saved(self, make_hook, open_trial):
        """A bfloat16 model is captured with weights, gradients and reductions."""
        config = smd.ReductionConfig(reductions=["mean"], norms=["l2"], save_raw_tensor=True)
        hook = make_hook(include_collections=["weights", "gradients"], reduction_config=config)
        model = nn.Linear(4, 2).to(torch.bfloat16)
        hook.register_module(model)
        model(torch.ones(1, 4, dtype=torch.bfloat16)).sum().backward()
        trial = open_trial(hook)
        assert value(trial, "Linear_weight").dtype.name == "bfloat16"
        norm = trial.tensor("Linear_weight").reduction_value(0, "l2")
        assert norm.dtype == np.float32
        assert float(norm) == pytest.approx(model.weight.detach().float().norm().item())

    @pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.uint16, torch.uint32, torch.uint64], ids=str)
    def test_inputs_when_whole_numbers_are_reduced_then_training_goes_on(self, make_hook, open_trial, dtype):
        """Token numbers and masks can be reduced like anything else."""
        reductions = ["min", "max", "mean", "std", "variance", "sum", "prod"]
        config = smd.ReductionConfig(reductions=reductions, norms=["l1", "l2"], abs_reductions=reductions)
        hook = make_hook(save_all=True, reduction_config=config)
        model = nn.Sequential(Echo(lambda x: x.long()), nn.Embedding(10, 4), Echo(lambda x: x > 0))
        hook.register_module(model)
        model(torch.tensor([[1, 2], [3, 4]]).to(dtype))
        trial = open_trial(hook)
        assert hook.failure is None
        found = trial.tensor("0_input_0")
        assert [found.reduction_value(0, name) for name in ("min", "max", "sum", "prod")] == [1, 4, 10, 24]
        assert found.reduction_value(0, "mean") == 2.5
        assert trial.tensor("1_input_0").reduction_value(0, "max").dtype == np.int64
        assert 0 <= trial.tensor("2_output_0").reduction_value(0, "mean") <= 1

    def test_gradients_when_sparse_then_are_saved_in_full(self, make_hook, open_trial):
        """The gradient of a sparse embedding is saved like any other."""
        hook = make_hook(include_collections=["gradients"])
        model = nn.Embedding(5, 2, sparse=True)
        hook.register_module(model)
        model(torch.tensor([1, 1, 3])).sum().backward()
        saved = value(open_trial(hook), "gradient/Embedding_weight")
        np.testing.assert_array_equal(saved, model.weight.grad.to_dense().numpy())
        assert saved[1].tolist() == [2, 2]

    def test_tensors_when_they_hold_no_data_here_then_are_left_out(self, make_hook, open_trial):
        """Empty tensors, and those without data, are passed over."""
        hook = make_hook(include_regex=["0_output"])
        model = nn.Sequential(Echo(lambda x: (x[:0], x.to("meta"), x)))
        hook.register_module(model)
        model(torch.ones(2))
        trial = open_trial(hook)
        assert trial.tensor_names() == ["0_output_2"]

    def test_parameters_when_lazy_then_are_saved_once_they_exist(self, make_hook, open_trial):
        """Parameters that get their shape in the first forward pass are saved from the second step on."""
        hook = make_hook(include_collections=["weights"])
        model = nn.Sequential(nn.LazyLinear(2))
        hook.register_module(model)
        for _ in range(2):
            model(torch.ones(1, 3))
        assert open_trial(hook).tensor("Sequential_0.weight").steps() == [1]

    def test_outputs_when_complex_or_strided_then_have_the_right_order(self, make_hook, open_trial):
        """Transposed, expanded and conjugated tensors are saved as they read."""
        hook = make_hook(include_regex=["0_output"])
        base = torch.arange(6.0).reshape(2, 3)
        made = (
            base.T,
            base[:, :1].expand(2, 4),
            torch.complex(base, base).conj(),
            torch.complex(base, base).conj().imag,
        )
        model = nn.Sequential(Echo(lambda _: made))
        hook.register_module(model)
        model(base)
        trial = open_trial(hook)
        for index, tensor in enumerate(made):
            np.testing.assert_array_equal(
                value(trial, f"0_output_{index}"), tensor.resolve_conj().resolve_neg().numpy()
            )

    def test_reductions_when_complex_then_order_is_left_out(self, make_hook, open_trial):
        """Complex numbers have no minimum; what exists is saved."""
        config = smd.ReductionConfig(reductions=["min", "sum"], abs_reductions=["min"])
        hook = make_hook(include_regex=["0_output"], reduction_config=config)
        model = nn.Sequential(Echo(lambda x: torch.complex(x, x)))
        hook.register_module(model)
        model(torch.tensor([3.0, 4.0]))
        assert set(open_trial(hook).tensor("0_output_0").reduction_values(0)) == {("sum", False), ("min", True)}

    def test_forward_when_in_inference_mode_then_is_captured(self, make_hook, open_trial):
        """Inference mode changes nothing about capturing."""
        hook = make_hook(save_all=True)
        model = nn.Linear(2, 2)
        hook.register_module(model)
        with torch.inference_mode():
            model(torch.ones(1, 2))
        assert "Linear_output_0" in open_trial(hook).tensor_names()


def test_worker_when_horovod_is_loaded_then_it_is_asked(make_hook, monkeypatch):
    """Other libraries for distributed training are asked for the rank, if the script has loaded them."""
    import sys
    import types

    library = types.SimpleNamespace(is_initialized=lambda: True, rank=lambda: 3, size=lambda: 8)
    monkeypatch.setitem(sys.modules, "horovod.torch", library)
    assert make_hook("a")._find_worker() == ("worker_3", 8)
    library.is_initialized = lambda: False
    assert make_hook("b")._find_worker() == ("worker_0", 1)


def test_face_when_imported_then_has_the_names_scripts_use():
    """The public module offers what scripts import from it."""
    for name in smd.__all__:
        assert getattr(smd, name) is not None
    assert smd.modes.TRAIN.name == "TRAIN"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = smd.nothing


def test_get_hook_when_a_hook_was_made_then_returns_it(make_hook):
    """Code far from the one that made the hook finds it."""
    hook = make_hook()
    assert smd.get_hook() is hook
    smd.del_hook()
    assert smd.get_hook() is None
    smd.set_hook(hook)
    assert smd.get_hook() is hook


def test_tensor_when_collection_is_not_saved_then_is_unknown(make_hook, open_trial, trainer):
    """Only what was asked for is there."""
    hook = make_hook()
    trainer(hook).train(1)
    with pytest.raises(TensorUnavailable):
        open_trial(hook).tensor("Net_fc.weight")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("^b_output_13$", ["b_output_13"]),
        ("^b_output_33$", ["b_output_33"]),
        ("^b_output_1[56]$", ["b_output_15", "b_output_16"]),
    ],
)
def test_output_when_only_a_late_call_is_asked_for_then_it_is_saved(tmp_path, open_trial, pattern, expected):
    """A module that is called many times in a step can be asked for any of its calls."""

    class Loop(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.b = torch.nn.Linear(2, 2)

        def forward(self, values):
            for _ in range(40):
                values = self.b(values)
            return values

    with smd.Hook(tmp_path / "trial", include_regex=[pattern]) as hook:
        model = Loop()
        hook.register_module(model)
        model(torch.ones(1, 2)).sum().backward()
    assert open_trial(hook).tensor_names() == expected


@pytest.mark.parametrize("name", ["explicit_steps", "detect_losses"])
@pytest.mark.parametrize("given", ["false", None, 2])
def test_hook_when_a_switch_is_no_bool_then_is_refused(make_hook, name, given):
    """Texts would count as true."""
    with pytest.raises(SMDebugTypeError, match=rf"^{name} must be True or False \(got {given!r}\)$"):
        make_hook(**{name: given})


def test_hook_when_an_argument_is_unknown_then_the_nearest_is_named(make_hook):
    """Among those of PyTorch's hook, too."""
    with pytest.raises(
        SMDebugTypeError, match=r"^Hook takes no argument 'explicit_step'; did you mean 'explicit_steps'\?$"
    ):
        make_hook(explicit_step=True)


def test_register_when_hook_is_closed_then_model_is_left_alone(make_hook, caplog):
    """It would call a hook that has ended, for ever."""
    hook, model, loss = make_hook(), nn.Linear(2, 1), nn.MSELoss()
    hook.close()
    caplog.clear()
    hook.register_module(model)
    hook.register_loss(loss)
    hook.record_tensor_value("loss", torch.ones(()))
    assert caplog.messages == [f"register_module() does nothing: the hook for {hook.out_dir!r} is closed"]
    assert not model._forward_pre_hooks
    assert not loss._forward_hooks


def test_register_when_it_is_no_module_then_error_shows_it_in_one_line(make_hook):
    """An optimizer has many lines."""
    optimizer = torch.optim.Adam(nn.Linear(2, 1).parameters())
    with pytest.raises(SMDebugTypeError, match=r"^module must be a torch\.nn\.Module \(got Adam \( .{80,100}…\)$"):
        make_hook().register_module(optimizer)


class TestDecorator:
    def test_function_when_decorated_then_is_captured_until_it_returns(self, tmp_path, trainer):
        """The hook is closed with the first call; the function works as before, and later calls are not captured."""

        @smd.Hook(tmp_path / "out", save_config=smd.SaveConfig(save_interval=1), include_collections=["weights"])
        def train(steps, seed=0):
            """Train a little."""
            training = trainer(smd.get_hook() if not has_ended() else None, seed=seed).train(steps)
            return training.model.fc.weight.detach().clone()

        def has_ended():
            return (tmp_path / "out" / "training_job_end.ts").exists()

        assert train.__doc__ == "Train a little."
        first = train(3, seed=1)
        assert has_ended()
        assert torch.equal(train(3, seed=1), first)
        assert smd.create_trial(str(tmp_path / "out")).steps() == [0, 1, 2]

    def test_function_when_it_raises_then_hook_is_closed_and_error_goes_on(self, tmp_path, trainer):
        """An exception ends the trial, with what the flight recorder kept."""

        @smd.Hook(tmp_path / "out", save_config=smd.SaveConfig(save_interval=1), flight_recorder=2)
        def train():
            trainer(smd.get_hook()).train(4)
            raise LookupError("no more data")

        with pytest.raises(LookupError, match="no more data"):
            train()
        assert smd.create_trial(str(tmp_path / "out")).steps() == [2, 3]


def test_step_when_stored_or_copied_then_is_a_plain_number(make_hook, tmp_path):
    """Checkpoints may hold the number of the step; they do not hold the hook."""
    hook = make_hook()
    hook.register_module(model := nn.Linear(1, 1))
    model(torch.ones(1, 1))
    torch.save({"step": hook.step}, tmp_path / "checkpoint")
    for step in (torch.load(tmp_path / "checkpoint", weights_only=False)["step"], copy.deepcopy(hook.step)):
        assert (type(step), step) == (int, 0)


def test_state_of_checkpoints_when_a_step_was_saved_then_says_so(make_hook, tmp_path, monkeypatch):
    """What is noted beside a checkpoint, as the next step begins, includes the step that has just ended."""
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    (tmp_path / "checkpoints.json").write_text(json.dumps({"LocalPath": str(folder)}))
    monkeypatch.setenv("CHECKPOINT_CONFIG_FILE_PATH", str(tmp_path / "checkpoints.json"))
    hook = make_hook(save_config=smd.SaveConfig(save_interval=2), include_collections=["weights"])
    model = nn.Linear(2, 1)
    hook.register_module(model)
    for step in range(5):
        model(torch.ones(1, 2)).sum().backward()
        (folder / f"{step}.pt").write_bytes(b"weights")
    noted = json.loads((folder / "metadata.json").read_text())
    assert [entry["latest-global-step-seen"] for entry in noted] == [0, 1, 2, 3]
    assert [entry["latest-global-step-saved"] for entry in noted] == [0, 0, 2, 2]
