"""Training with PyTorch as the original tests it, on both libraries: names, steps, modes, reductions, workers."""

import json
import os
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402 - after the check for it
from torch.nn import functional as F  # noqa: E402, N812 - as every script writes it

pytestmark = pytest.mark.filterwarnings("ignore")  # the original's use of NumPy and torch is deprecated


@pytest.fixture
def smd(library, monkeypatch):
    """The library's module for PyTorch, without a hook of another test."""
    monkeypatch.setenv("SMDEBUG_TRAINING_END_DELAY_REFRESH", "0")
    module = library.module("pytorch")
    module.del_hook()
    yield module
    hook = module.get_hook()
    if hook is not None:
        hook.close()
    module.del_hook()
    if library.name == "smdebug":
        library.module("core.utils").error_handling_agent.disable_smdebug = False


class Convolutions(nn.Module):
    """Modules by `add_module`, with an activation for each layer."""

    def __init__(self):
        super().__init__()
        self.add_module("conv1", nn.Conv2d(1, 4, 5, 1))
        self.add_module("relu0", nn.ReLU())
        self.add_module("max_pool", nn.MaxPool2d(2, stride=2))
        self.add_module("conv2", nn.Conv2d(4, 6, 5, 1))
        self.add_module("relu1", nn.ReLU())
        self.add_module("max_pool2", nn.MaxPool2d(2, stride=2))
        self.add_module("fc1", nn.Linear(4 * 4 * 6, 20))
        self.add_module("relu2", nn.ReLU())
        self.add_module("fc2", nn.Linear(20, 10))

    def forward(self, x):
        x = self.max_pool(self.relu0(self.conv1(x)))
        x = self.max_pool2(self.relu1(self.conv2(x)))
        return F.log_softmax(self.fc2(self.relu2(self.fc1(x.view(-1, 4 * 4 * 6)))), dim=1)


class SharedActivation(nn.Module):
    """One activation module for three layers."""

    def __init__(self):
        super().__init__()
        self.add_module("conv1", nn.Conv2d(1, 4, 5, 1))
        self.add_module("max_pool", nn.MaxPool2d(2, stride=2))
        self.add_module("conv2", nn.Conv2d(4, 6, 5, 1))
        self.relu = nn.ReLU()
        self.add_module("max_pool2", nn.MaxPool2d(2, stride=2))
        self.add_module("fc1", nn.Linear(4 * 4 * 6, 20))
        self.add_module("fc2", nn.Linear(20, 10))

    def forward(self, x):
        x = self.max_pool(self.relu(self.conv1(x)))
        x = self.max_pool2(self.relu(self.conv2(x)))
        return F.log_softmax(self.fc2(self.relu(self.fc1(x.view(-1, 4 * 4 * 6)))), dim=1)


class Dense(nn.Module):
    """Three layers; keeps what passes through it."""

    def __init__(self):
        super().__init__()
        self.add_module("fc1", nn.Linear(20, 50))
        self.add_module("relu1", nn.ReLU())
        self.add_module("fc2", nn.Linear(50, 10))
        self.add_module("relu2", nn.ReLU())
        self.add_module("fc3", nn.Linear(10, 4))
        self.seen = []

    def forward(self, x):
        seen = {f"Dense_{name}": value.detach().numpy().copy() for name, value in self.named_parameters()}
        for name in ("fc1", "relu1", "fc2", "relu2", "fc3"):
            seen[f"{name}_input_0"] = x.detach().numpy().copy()
            x = getattr(self, name)(x)
            seen[f"{name}_output_0"] = x.detach().numpy().copy()
        self.seen.append(seen)
        return F.log_softmax(x, dim=1)


def train(model, num_steps, shape=(1, 28, 28), criterion=F.nll_loss, after_backward=None):
    """Train as most scripts do."""
    torch.manual_seed(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
    model.train()
    for _ in range(num_steps):
        optimizer.zero_grad()
        loss = criterion(model(torch.rand(4, *shape, requires_grad=True)), torch.zeros(4).long())
        loss.backward()
        if after_backward:
            after_backward()
        optimizer.step()


def open_trial(library, folder):
    return library.module("trials").create_trial(str(folder))


WEIGHTS = [f"Dense_fc{number}.weight" for number in (1, 2, 3)]
BIASES = [f"Dense_fc{number}.bias" for number in (1, 2, 3)]
GRADIENTS = [f"gradient/{name}" for name in WEIGHTS + BIASES]
MODULES = [f"{name}_{side}_0" for name in ("fc1", "relu1", "fc2", "relu2", "fc3") for side in ("input", "output")]


@pytest.mark.parametrize(("network", "num_names"), [(Convolutions, 36), (SharedActivation, 36)])
def test_everything_when_saved_then_every_name_of_the_original(library, smd, tmp_path, network, num_names):
    """Each parameter, gradient, input and output has one name, also when a module is called more than once."""
    hook = smd.Hook(
        out_dir=str(tmp_path / "trial"),
        save_config=smd.SaveConfig(save_steps=[0, 1, 5]),
        save_all=True,
        include_workers="one",
    )
    model = network()
    hook.register_module(model)
    train(model, 10)
    trial = open_trial(library, tmp_path / "trial")
    assert trial.steps() == [0, 1, 5]
    assert len(trial.tensor_names()) == num_names


@pytest.mark.parametrize("is_from_file", [False, True])
def test_collection_all_when_asked_for_then_every_collection_is_saved(library, smd, tmp_path, is_from_file):
    """Weights, biases, gradients and losses, but no inputs and outputs, for which it has no pattern."""
    folder = str(tmp_path / "trial")
    if is_from_file:
        settings = {"LocalPath": folder, "HookParameters": {"save_interval": "2"}}
        settings["CollectionConfigurations"] = [{"CollectionName": "all"}]
        (tmp_path / "config.json").write_text(json.dumps(settings))
        hook = smd.Hook.create_from_json_file(str(tmp_path / "config.json"))
    else:
        hook = smd.Hook(out_dir=folder, save_config=smd.SaveConfig(save_interval=2), include_collections=["all"])
    model = Dense()
    hook.register_module(model)
    train(model, 3, shape=(20,))
    hook.close()
    trial = open_trial(library, folder)
    assert trial.tensor_names() == sorted(WEIGHTS + BIASES + GRADIENTS)
    assert trial.steps() == [0, 2]


def test_activations_when_a_module_is_added_to_a_collection_then_they_are_saved(library, smd, tmp_path):
    """Modules are added instead of patterns."""
    hook = smd.Hook(
        out_dir=str(tmp_path / "trial"),
        save_config=smd.SaveConfig(save_steps=[0, 1, 2, 3]),
        include_collections=["relu_activations"],
    )
    model = Convolutions()
    hook.get_collection("relu_activations").add_module_tensors(model.relu1)
    hook.register_module(model)
    train(model, 10)
    trial = open_trial(library, tmp_path / "trial")
    [name] = trial.tensor_names(collection="relu_activations")
    assert trial.tensor(name).value(0) is not None


def test_collections_when_asked_of_the_hook_then_are_those_it_saves_with_their_members(smd, tmp_path):
    """Scripts read the names that a hook saves, and change or inspect collections through its manager."""
    hook = smd.Hook(
        out_dir=str(tmp_path / "trial"),
        save_config=smd.SaveConfig(save_interval=1),
        include_collections=["biases", "mine"],
        include_regex="relu1_output",
    )
    assert sorted(hook.include_collections) == ["biases", "default", "losses", "mine"]
    hook.collection_manager.get("mine").include("fc1.*weight")
    assert hook.collection_manager.get_collections()["mine"] is hook.get_collection("mine")
    model = Dense()
    hook.register_module(model)
    train(model, 2, shape=(20,))
    hook.close()
    members = {name: sorted(hook.collection_manager.get(name).tensor_names) for name in ("biases", "default", "mine")}
    assert members == {
        "biases": BIASES,
        "default": ["relu1_output_0"],
        "mine": ["Dense_fc1.weight", "gradient/Dense_fc1.weight"],
    }


def test_folder_when_the_script_removes_it_then_another_hook_begins_there_anew(library, smd, tmp_path):
    """A cell of a notebook is run again after an error in it: it removes the folder, and makes another hook."""
    folder = tmp_path / "trial"
    for num_steps in (4, 2):
        shutil.rmtree(folder, ignore_errors=True)
        settings = smd.SaveConfig(save_interval=1)
        hook = smd.Hook(out_dir=str(folder), save_config=settings, include_collections=["biases"])
        model = Dense()
        hook.register_module(model)
        train(model, num_steps, shape=(20,))
    hook.close()
    trial = open_trial(library, folder)
    assert trial.steps() == [0, 1]
    assert trial.tensor_names(collection="biases") == BIASES


def test_custom_tensor_when_saved_then_follows_the_steps_of_the_hook(library, smd, tmp_path):
    """What comes after the first forward pass waits for the next one."""
    hook = smd.Hook(out_dir=str(tmp_path / "trial"), save_config=smd.SaveConfig(save_steps=[0, 1, 2, 3]))
    model = Convolutions()
    hook.register_module(model)
    train(model, 6, after_backward=lambda: hook.save_tensor("custom_tensor", torch.ones(3)))
    hook.close()
    trial = open_trial(library, tmp_path / "trial")
    assert trial.tensor("custom_tensor").steps() == [1, 2, 3]


@pytest.mark.parametrize("is_from_file", [False, True])
@pytest.mark.parametrize("kind", ["parameters", "everything", "one module"])
def test_values_when_saved_then_are_those_of_the_model(library, smd, tmp_path, monkeypatch, kind, is_from_file):
    """Weights, biases, gradients, inputs and outputs, by arguments or by the configuration file of a job."""
    folder = tmp_path / "trial"
    steps = [0, 4, 8]
    collections = ["weights", "biases", "gradients", "default", "losses"]
    if kind == "one module":
        collections.append("l_mod")
    if is_from_file:
        parameters = {"save_steps": "0,4,8"}
        settings = {"S3OutputPath": "s3://b/p", "LocalPath": str(folder), "HookParameters": parameters}
        if kind == "everything":
            parameters["save_all"] = True
        else:
            settings["CollectionConfigurations"] = [{"CollectionName": name} for name in collections]
        (tmp_path / "config.json").write_text(json.dumps(settings))
        monkeypatch.setenv(library.module("core.json_config").CONFIG_FILE_PATH_ENV_STR, str(tmp_path / "config.json"))
        hook = smd.Hook.create_from_json_file()
    elif kind == "everything":
        hook = smd.Hook(out_dir=str(folder), save_config=smd.SaveConfig(save_steps=steps), save_all=True)
    else:
        hook = smd.Hook(
            out_dir=str(folder), save_config=smd.SaveConfig(save_steps=steps), include_collections=collections
        )
    model = Dense()
    names = WEIGHTS + BIASES + GRADIENTS
    if kind == "one module":
        hook.get_collection("l_mod").add_module_tensors(model.relu1, inputs=True, outputs=True)
        names = [*names, "relu1_input_0", "relu1_output_0"]
    elif kind == "everything":
        names = names + MODULES
    hook.register_hook(model)
    gradients = []

    def keep_gradients():
        gradients.append({f"gradient/Dense_{name}": p.grad.numpy().copy() for name, p in model.named_parameters()})

    train(model, 10, shape=(20,), after_backward=keep_gradients)
    hook._cleanup()
    trial = open_trial(library, folder)
    assert trial.steps() == steps
    assert set(names) <= set(trial.tensor_names())
    for step in steps:
        expected = {**model.seen[step], **gradients[step]}
        for name in names:
            np.testing.assert_allclose(trial.tensor(name).value(step), expected[name], err_msg=f"{name} at {step}")


def test_modes_when_only_one_has_steps_then_the_trial_has_one_mode(library, smd, tmp_path):
    """Save settings for each mode."""
    modes = library.module("core.modes").ModeKeys
    hook = smd.Hook(
        out_dir=str(tmp_path / "trial"),
        save_config={modes.TRAIN: smd.SaveConfigMode(save_steps=list(range(5)))},
        include_collections=["weights"],
    )
    model = Dense()
    hook.register_module(model)
    hook.set_mode(mode=modes.TRAIN)
    train(model, 10, shape=(20,))
    trial = open_trial(library, tmp_path / "trial")
    assert len(trial.modes()) == 1
    assert len(trial.steps()) == len(trial.steps(mode=modes.TRAIN)) == 5
    assert trial.steps(mode=modes.EVAL) == []


def test_reductions_when_a_collection_has_its_own_then_both_kinds_are_saved(library, smd, tmp_path):
    """The hook's reductions hold where a collection has none; a saved reduction leaves the value out."""
    hook = smd.Hook(
        out_dir=str(tmp_path / "trial"),
        save_config=smd.SaveConfig(save_steps=[0, 1, 2, 3]),
        include_collections=["weights", "biases", "gradients", "default", "ReluActivation"],
        reduction_config=smd.ReductionConfig(reductions=["max", "mean", "variance"]),
    )
    hook.get_collection("ReluActivation").include(["relu*"])
    hook.get_collection("ReluActivation").save_config = smd.SaveConfig(save_steps=[4, 5, 6])
    hook.get_collection("ReluActivation").reduction_config = smd.ReductionConfig(
        reductions=["min"], abs_reductions=["max"]
    )
    model = Convolutions()
    hook.register_module(model)
    train(model, 10)
    trial = open_trial(library, tmp_path / "trial")
    assert len(trial.steps()) == 7
    weight = trial.tensor(trial.tensor_names(regex=r"conv[0-9]+.weight")[0])
    for name in ("max", "mean", "variance"):
        assert weight.reduction_value(step_num=1, abs=False, reduction_name=name) is not None
    relu = trial.tensor("relu0_input_0")
    assert relu.reduction_value(step_num=4, abs=False, reduction_name="min") is not None
    assert relu.reduction_value(step_num=4, abs=True, reduction_name="max") is not None
    with pytest.raises(library.module("exceptions").TensorUnavailableForStep):
        relu.value(4)


def test_shape_when_saved_then_is_read_without_the_value(library, smd, tmp_path):
    """`ReductionConfig(save_shape=True)` keeps the shape alone."""
    hook = smd.Hook(
        out_dir=str(tmp_path / "trial"),
        save_config=smd.SaveConfig(save_steps=[0, 1]),
        include_collections=["weights"],
        reduction_config=smd.ReductionConfig(save_shape=True),
    )
    model = Dense()
    hook.register_module(model)
    train(model, 3, shape=(20,))
    trial = open_trial(library, tmp_path / "trial")
    assert trial.tensor("Dense_fc1.weight").shape(0) == (50, 20)
    with pytest.raises(library.module("exceptions").TensorUnavailableForStep):
        trial.tensor("Dense_fc1.weight").value(0)


@pytest.mark.parametrize("is_module", [True, False])
def test_loss_when_registered_or_recorded_then_is_saved_at_every_step(library, smd, tmp_path, is_module):
    """A module has the name of its class; a value has the name it was given."""
    criterion = nn.CrossEntropyLoss()
    hook = smd.Hook(out_dir=str(tmp_path / "trial"), save_config=smd.SaveConfig(save_interval=1))
    model = Dense()
    hook.register_module(model)
    if is_module:
        hook.register_loss(criterion)
    torch.manual_seed(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    inputs, labels = torch.rand(1, 20), torch.zeros(1).long()
    for _ in range(5):
        optimizer.zero_grad()
        if is_module:
            loss = criterion(model(inputs), labels)
        else:
            loss = F.cross_entropy(model(inputs), labels)
            hook.record_tensor_value("nll_loss", tensor_value=loss)
        loss.backward()
        optimizer.step()
    hook.close()
    smd.del_hook()
    trial = open_trial(library, tmp_path / "trial")
    name = "CrossEntropyLoss_output_0" if is_module else "nll_loss_output_0"
    assert trial.tensor_names() == [name]
    assert trial.collection("losses").tensor_names == {name}
    assert trial.tensor(name).steps() == trial.steps() == list(range(5))
    assert trial.tensor(name).value(0) > trial.tensor(name).value(4)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, None),
        ({"export_tensorboard": True}, "trial/tensorboard"),
        ({"export_tensorboard": True, "tensorboard_dir": "boards"}, "boards"),
        ({"tensorboard_dir": "boards"}, "boards"),
    ],
)
def test_tensorboard_folder_when_asked_for_then_is_that_of_the_original(smd, tmp_path, settings, expected):
    """Without a folder it lies in the trial."""
    settings = {key: str(tmp_path / value) if key == "tensorboard_dir" else value for key, value in settings.items()}
    hook = smd.Hook(out_dir=str(tmp_path / "trial"), **settings)
    assert hook.tensorboard_dir == (str(tmp_path / expected) if expected else None)


@pytest.mark.parametrize("collection", ["all", "scalars"])
@pytest.mark.parametrize("is_per_mode", [False, True])
@pytest.mark.parametrize("is_loss_registered", [False, True])
def test_scalars_when_saved_before_in_and_after_training_then_are_in_the_trial(
    library, smd, tmp_path, collection, is_per_mode, is_loss_registered
):
    """With times of the script's own; `FileReader.read_events` gives value and time."""
    modes = library.module("core.modes").ModeKeys
    save_config = (
        smd.SaveConfig(
            {
                modes.TRAIN: smd.SaveConfigMode(save_interval=2),
                modes.GLOBAL: smd.SaveConfigMode(save_interval=3),
                modes.EVAL: smd.SaveConfigMode(save_interval=1),
            }
        )
        if is_per_mode
        else smd.SaveConfig(save_steps=[0, 2, 4, 6, 8])
    )
    hook = smd.Hook(
        out_dir=str(tmp_path / "trial"),
        include_collections=[collection],
        save_config=save_config,
        export_tensorboard=True,
    )
    model, criterion = Convolutions(), nn.NLLLoss()
    hook.register_module(model)
    if is_loss_registered:
        hook.register_loss(criterion)
    times = {}

    def save(name, value, sm_metric):
        times[f"scalar/{name}"] = (time.time(), value)
        hook.save_scalar(name, value, sm_metric=sm_metric, timestamp=times[f"scalar/{name}"][0])

    save("pt_num_steps", 10, True)
    save("pt_before_train", 1, False)
    hook.set_mode(modes.TRAIN)
    train(model, 10, criterion=criterion)
    save("pt_after_train", 1, False)
    hook.set_mode(modes.EVAL)
    model.eval()
    with torch.no_grad():
        for _ in range(3):
            criterion(model(torch.rand(4, 1, 28, 28)), torch.zeros(4).long())
    hook.close()
    trial = open_trial(library, tmp_path / "trial")
    assert set(times) <= set(trial.tensor_names(regex="^scalar"))
    events = {}
    for file in (tmp_path / "trial" / "events").rglob("*.tfevents"):
        for event in library.module("core.reader").FileReader(str(file)).read_events(regex_list=["scalar"]):
            events.setdefault(str(event["name"]), (event["timestamp"], event["value"][0]))
    assert {name: events[name] for name in times} == times


DISTRIBUTED = """
import os, sys, warnings
warnings.simplefilter("ignore")
import torch, torch.distributed as dist
import {library}.pytorch as smd

out_dir, rank, workers = sys.argv[1], int(sys.argv[2]), sys.argv[3]
dist.init_process_group("gloo", rank=rank, world_size=2, init_method="file://" + out_dir + ".rendezvous")
model = torch.nn.Sequential(torch.nn.Linear(1, 1))
save_config = smd.SaveConfig(save_steps=[0, 1, 5])
hook = smd.Hook(out_dir=out_dir, save_config=save_config, save_all=True, include_workers=workers)
hook.register_module(model)
optimizer = torch.optim.SGD(model.parameters(), lr=1)
for _ in range(10):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(torch.sigmoid(model(torch.rand(4, 1))), torch.rand(4, 1)).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    optimizer.step()
assert hook._get_worker_name() == f"worker_{{dist.get_rank()}}"
dist.barrier()
try:
    hook._cleanup()
except FileNotFoundError:
    pass
print("trained", flush=True)
dist.barrier()
dist.destroy_process_group()
"""


@pytest.mark.parametrize(("workers", "num_workers"), [("all", 2), ("one", 1)])
def test_workers_when_two_train_together_then_those_asked_for_are_saved(library, tmp_path, workers, num_workers):
    """Two real processes; what they say counts, as gloo may abort one whose peer leaves first."""
    script = tmp_path / "train.py"
    script.write_text(DISTRIBUTED.format(library=library.name))
    command = [sys.executable, str(script), str(tmp_path / "trial")]
    environment = {**os.environ, "SMDEBUG_LOG_LEVEL": "off"}
    processes = [
        subprocess.Popen([*command, str(rank), workers], env=environment, stdout=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    assert [process.communicate(timeout=120)[0].splitlines()[-1:] for process in processes] == [["trained"]] * 2
    trial = open_trial(library, tmp_path / "trial")
    assert len(trial.workers()) == num_workers
    assert trial.steps() == [0, 1, 5]


def test_training_when_no_gradient_is_needed_for_the_input_then_losses_are_saved(library, smd, tmp_path):
    """A table of vectors that does not train stands beside the model."""
    vectors = nn.Embedding.from_pretrained(torch.randn(50, 16))
    model = nn.Sequential(nn.Linear(1, 16), nn.Tanh())
    criterion = nn.CosineEmbeddingLoss()
    hook = smd.Hook(out_dir=str(tmp_path / "trial"), save_config=smd.SaveConfig(save_interval=1))
    hook.register_module(model)
    hook.register_loss(criterion)
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(20):
        items = torch.full((8,), step)
        loss = criterion(model(items.float().view(-1, 1)), vectors(items), torch.ones(8))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    hook.close()
    assert open_trial(library, tmp_path / "trial").steps() == list(range(20))


FORKED = """
import multiprocessing, sys, torch
import {library}.pytorch as smd
model = torch.nn.Linear(4, 1)
model.share_memory()
hook = smd.Hook(sys.argv[1], save_config=smd.SaveConfig(save_steps=[0, 1, 5]), save_all=True, include_workers="all")
hook.register_module(model)
forks = multiprocessing.get_context("fork")
have_trained = forks.Barrier(2)
def train():
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(7):
        model(torch.rand(8, 4)).sum().backward()
        optimizer.step()
    have_trained.wait()
children = [forks.Process(target=train) for _ in range(2)]
for child in children:
    child.start()
for child in children:
    child.join()
    assert child.exitcode == 0
"""


def test_training_when_the_hook_was_made_before_forks_then_one_child_saves(library, tmp_path):
    """Processes that share a model train it together, as in PyTorch's example of Hogwild; the parent does not train."""
    script = tmp_path / "train.py"
    script.write_text(FORKED.format(library=library.name))
    command = [sys.executable, str(script), str(tmp_path / "trial")]
    subprocess.run(command, env={**os.environ, "SMDEBUG_LOG_LEVEL": "off"}, check=True, timeout=120)
    trial = open_trial(library, tmp_path / "trial")
    assert trial.num_workers == 1
    assert trial.steps() == [0, 1, 5]
    assert {"Linear_weight", "gradient/Linear_weight", "Linear_output_0"} <= {*trial.tensor_names()}
