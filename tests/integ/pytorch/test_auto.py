"""Scripts that know nothing of a hook are captured, and behave as ever."""

from __future__ import annotations

import os
import signal
import sys
import types

import pytest
import torch

import sagemaker_debug_ext.pytorch as smd
from sagemaker_debug_ext.hooks.auto.pytorch import AutoHook, _Finder
from sagemaker_debug_ext.hooks.options.config_file import read_configuration
from sagemaker_debug_ext.rules import evaluate
from sagemaker_debug_ext.rules.causes import likely_causes
from sagemaker_debug_ext.rules.recommended import recommended_rules
from sagemaker_debug_ext.trials import create_trial
from support.scripts import run_captured, run_python, write_hook_file

SCRIPT = """
import os, sys
import torch
from torch import nn
import helper

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)
    def forward(self, x):
        return self.fc(x)

class ScaledLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))
    def forward(self, found, wanted):
        return nn.functional.cross_entropy(found, wanted) * self.scale

if __name__ == "__main__":
    torch.manual_seed(0)
    model, optimizer = Net(), None
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss_function = nn.CrossEntropyLoss() if "--module" in sys.argv else nn.functional.cross_entropy
    if "--learnt" in sys.argv:
        loss_function = ScaledLoss()
    for epoch in range(2):
        model.train()
        for _ in range(3):
            optimizer.zero_grad()
            loss_function(model(torch.randn(5, 4)), torch.randint(0, 2, (5,))).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            loss_function(model(torch.randn(5, 4)), torch.randint(0, 2, (5,)))
    if "--jit" in sys.argv:
        torch.jit.script(nn.Linear(4, 2))(torch.ones(1, 4)).sum().backward()
    print(helper.NAME, sys.argv[1:], __name__, sum(p.sum() for p in model.parameters()).item().hex())
    if "--fail" in sys.argv:
        raise ValueError("the script's own")
    if "--kill" in sys.argv:
        os.kill(os.getpid(), 15)
    sys.exit(7)
"""


@pytest.fixture
def script(tmp_path):
    """An ordinary training script with a module beside it."""
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "helper.py").write_text("NAME = 'helper'\n")
    (folder / "train.py").write_text(SCRIPT)
    return folder / "train.py"


@pytest.fixture
def configured(monkeypatch, tmp_path):
    """A hook configuration file as SageMaker puts it into the container."""
    write_hook_file(tmp_path / "hook.json", tmp_path / "out", ["weights", "gradients"])
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "hook.json"))
    return tmp_path / "out"


def test_run_when_script_is_unchanged_then_is_captured_and_ends_as_ever(script, configured):
    """Output, arguments, exit status and result are those of the script; the trial has its weights and losses."""
    alone = run_python(script, "--lr", "3")
    captured = run_captured(script, "--lr", "3")
    assert (captured.returncode, captured.stdout) == (alone.returncode, alone.stdout)
    assert captured.returncode == 7
    trial = create_trial(str(configured))
    assert trial.steps(smd.modes.TRAIN) == list(range(6))
    assert trial.steps(smd.modes.EVAL) == [0, 1]
    assert trial.tensor_names() == [
        "CrossEntropyLoss_output_0",
        "Net_fc.weight",
        "gradient/Net_fc.bias",
        "gradient/Net_fc.weight",
    ]


def test_run_when_loss_is_a_module_then_has_its_name(script, configured, forks):
    """A loss module is found from its first call, in evaluation as well, and the step that it is found in is whole."""
    assert forks.run_captured(script, "--module").returncode == 7
    trial = create_trial(str(configured))
    for name in ("CrossEntropyLoss_output_0", "gradient/Net_fc.weight"):
        assert trial.tensor(name).steps(smd.modes.TRAIN) == list(range(6)), name
    assert trial.tensor("CrossEntropyLoss_output_0").steps(smd.modes.EVAL) == [0, 1]


FORKING = """
import multiprocessing, torch

def train(model, have_trained):
    for _ in range(3):
        model(torch.randn(5, 4)).sum().backward()
    have_trained.wait()

def evaluate(model):
    with torch.no_grad():
        model(torch.randn(5, 4))

if __name__ == "__main__":
    model = torch.nn.Linear(4, 2)
    forks = multiprocessing.get_context("fork")
    have_trained = forks.Barrier(2)
    for children in (
        [forks.Process(target=evaluate, args=(model,))],
        [forks.Process(target=train, args=(model, have_trained)) for _ in range(2)],
    ):
        for child in children:
            child.start()
        for child in children:
            child.join()
            assert child.exitcode == 0
"""


def test_run_when_forked_processes_train_then_one_of_them_is_captured(script, configured):
    """A child that only evaluates is none of them; the parent, which does not train, has nothing to complain of."""
    script.write_text(FORKING)
    done = run_captured(script)
    assert done.returncode == 0, done.stderr
    assert "no training step was captured" not in done.stderr
    trial = create_trial(str(configured))
    assert trial.steps(smd.modes.TRAIN) == trial.steps() == [0, 1, 2]
    assert trial.workers() == ["worker_0"]


@pytest.mark.parametrize(("argument", "status", "num_steps"), [("--fail", 1, 8), ("--kill", -signal.SIGTERM, 7)])
def test_run_when_script_ends_badly_then_so_does_the_command(script, configured, argument, status, num_steps):
    """Errors and signals are the script's own, and the trial holds the complete steps and is ended."""
    captured = run_captured(script, argument)
    assert captured.returncode == status
    assert ("ValueError: the script's own" in captured.stderr) == (argument == "--fail")
    trial = create_trial(str(configured))
    assert trial.steps() == list(range(num_steps))
    assert trial.loaded_all_steps


STOPPED = """
import os, signal
import torch

model, asked = torch.nn.Linear(2, 1), []
for step in range(9):
    model(torch.ones(1, 2)).sum().backward()
    if step == 1:
        before = signal.getsignal(signal.SIGTERM)
        def handle(number, frame):
            asked.append(number)
            if callable(before) and before is not signal.SIG_DFL:
                before(number, frame)
        signal.signal(signal.SIGTERM, handle)
    if step == 2:
        os.kill(os.getpid(), signal.SIGTERM)
    if asked:
        break
print("stopped in step", step)
"""


def test_run_when_scripts_handler_calls_the_one_before_then_script_stops_by_itself(script, configured, forks):
    """Trainers stop after the step, save a checkpoint, and end with status 0."""
    script.write_text(STOPPED)
    captured = forks.run_captured(script)
    assert (captured.returncode, captured.stdout) == (0, "stopped in step 2\n"), captured.stderr
    trial = create_trial(str(configured))
    assert trial.steps() == [0, 1, 2]
    assert trial.loaded_all_steps


def test_run_when_paths_are_relative_then_as_seen_from_where_the_command_starts(tmp_path, monkeypatch):
    """A script that goes elsewhere, even before it imports the framework, takes nothing along."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "train.py").write_text(
        "import os\nos.chdir('elsewhere')\nimport torch\ntorch.nn.Linear(2, 1)(torch.ones(1, 2)).sum().backward()\n"
    )
    write_hook_file(tmp_path / "hook.json", "out", ["weights"])
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", "hook.json")
    captured = run_captured("train.py")
    assert captured.returncode == 0, captured.stderr
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert create_trial(str(tmp_path / "out")).steps() == [0]


def test_run_when_there_is_no_configuration_then_script_just_runs(script, monkeypatch, tmp_path, forks):
    """Nothing is captured where nobody asked for it."""
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "none.json"))
    captured = forks.run_captured(script)
    assert captured.returncode == 7
    assert captured.stdout == forks.run_python(script).stdout
    assert "nothing is captured: there is no configuration file" in captured.stderr


def test_run_when_no_configuration_is_named_then_says_so(script, monkeypatch):
    """Who forgets the variable would else wait for a trial; an import in a script that runs anywhere is silent."""
    monkeypatch.delenv("SMDEBUG_CONFIG_FILE_PATH", raising=False)
    captured = run_captured(script)
    assert (captured.returncode, captured.stdout) == (7, run_python(script).stdout)
    assert captured.stderr == (
        "sagemaker-debug: nothing is captured: SMDEBUG_CONFIG_FILE_PATH names no configuration file; "
        "sagemaker-debug run --output FOLDER needs none\n"
    )
    script.write_text("import sagemaker_debug_ext.auto\n" + SCRIPT)
    assert run_python(script).stderr == ""
    script.write_text("")
    monkeypatch.setenv("SAGEMAKER_DEBUG_EXT_TIMELINE", str(script.with_name("profiler-output")))
    assert run_captured(script).stderr == ""  # the profile is all that was asked for


def test_run_when_configuration_is_misspelt_then_one_warning_says_so(script, configured, tmp_path, forks):
    """The file is read more than once; what is wrong with it is told once."""
    path = tmp_path / "hook.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"HookParameters"', '"HookParams": {}, "HookParameters"'))
    assert forks.run_captured(script).stderr.count("'HookParams' is not known; did you mean 'HookParameters'?") == 1


def test_import_when_it_is_the_only_change_then_captures(script, configured):
    """One line at the top of the script does the same."""
    script.write_text("import sagemaker_debug_ext.auto\n" + SCRIPT)
    assert run_python(script).returncode == 7
    assert "CrossEntropyLoss_output_0" in create_trial(str(configured)).tensor_names()


def test_run_when_a_model_cannot_be_captured_then_script_ends_as_ever(script, configured, forks):
    """What takes no hooks is named in a warning; the other models are captured, and the script is none the wiser."""
    done = forks.run_captured(script, "--jit")
    assert done.returncode == 7
    assert done.stdout == forks.run_python(script, "--jit").stdout
    assert "is not captured: module must not be compiled by torch.jit" in done.stderr
    assert create_trial(str(configured)).steps(smd.modes.TRAIN) == list(range(6))


def test_look_when_hook_is_closed_then_no_more_is_looked_for(configured, caplog):
    """The script has closed it, and is not told of models that it never registered."""
    finder = _Finder(read_configuration(None, os.environ))
    finder.look(torch.nn.Linear(1, 1), ())
    hook = smd.get_hook()
    hook.close()
    caplog.clear()
    later = torch.nn.Linear(1, 1)
    finder.look(later, ())
    smd.del_hook()
    assert caplog.messages == []
    assert not later._forward_pre_hooks


class KerasLayer(torch.nn.Linear):
    """What a layer of Keras is on this back end: a module with a name."""

    name = "hid"


class KerasModel(KerasLayer):
    """A model of Keras: a layer that keeps others where PyTorch does not look."""

    def __init__(self):
        super().__init__(1, 1)
        vars(self)["inner"] = KerasLayer(1, 1)

    def forward(self, batch):
        return super().forward(self.inner(batch))


def test_look_when_a_model_of_keras_is_called_then_only_a_loop_of_the_script_gets_the_hook(configured, monkeypatch):
    """Keras may be building it for `fit`, which has another hook; a loop is captured from its second step on."""
    monkeypatch.setitem(sys.modules, "keras", types.SimpleNamespace(Layer=KerasLayer))
    finder = _Finder(read_configuration(None, os.environ))
    finder.start()
    model = KerasModel()
    model(torch.ones(1, 1))
    assert smd.get_hook() is None
    for _ in range(3):
        model(torch.ones(1, 1)).sum().backward()
    finder.stop()
    smd.get_hook().close()
    smd.del_hook()
    trial = create_trial(str(configured))
    assert trial.steps() == [0, 1]
    assert {"gradient/KerasModel_weight", "gradient/KerasModel.hid_weight"} <= set(trial.tensor_names())


def test_look_when_registering_breaks_then_training_goes_on(configured, monkeypatch, caplog):
    """Whatever goes wrong while a model is being registered is logged, once for the model."""

    def fail(*_):
        raise RuntimeError("not supported")

    monkeypatch.setattr(AutoHook, "register_module", fail)
    finder = _Finder(read_configuration(None, os.environ))
    model = torch.nn.Linear(1, 1)
    for _ in range(2):
        finder.look(model, ())
    smd.del_hook()
    assert caplog.text.count("a Linear is not captured") == 1


LISTED = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(4, 4) for _ in range(2)]
        self.named = {"gate": nn.Linear(4, 4)}
        self.head = nn.Linear(4, 2)
    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return self.head(x * self.named["gate"](x).sigmoid())

torch.manual_seed(0)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(14):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
    optimizer.step()
"""


def test_run_when_layers_are_in_a_python_list_then_belong_to_their_model(script, configured, forks):
    """A call of the model is one step; names tell where the layers are, and that no optimizer has them."""
    script.write_text(LISTED)
    done = forks.run_captured(script)
    assert done.returncode == 0, done.stderr
    trial = create_trial(str(configured))
    assert trial.steps() == list(range(14))
    for layer in ("layers.0", "layers.1", "named.gate"):
        assert len(trial.tensor(f"Net.{layer}_weight").steps()) >= 13
        assert len(trial.tensor(f"gradient/Net.{layer}_weight").steps()) >= 13
    issues = evaluate({"FrozenParameters": recommended_rules(trial)["FrozenParameters"]}, trial).run()
    assert "Net.layers.0_weight" in issues[0].tensors
    assert [cause.name for cause in likely_causes(issues)] == ["parameters not trained"]


TRANSFERRED = """
import torch
from torch import nn

torch.manual_seed(0)
layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU())

def train(model, parameters, num_steps):
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    for step in range(num_steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
        optimizer.step()

first = nn.Sequential(layers, nn.Linear(8, 2))
train(first, first.parameters(), 5)
layers.requires_grad_(False)
head = nn.Linear(8, 2)
train(nn.Sequential(layers, nn.Dropout(0.1), head), head.parameters(), 4)
train(nn.Sequential(layers, first[1]), first[1].parameters(), 3)
train(nn.Sequential(first, nn.Tanh()), first[1].parameters(), 2)
"""


def test_run_when_another_model_has_layers_of_the_first_then_is_captured_as_well(script, configured, forks):
    """A new head on layers that were trained before has steps of its own; what adds no parameters is no other model."""
    script.write_text(TRANSFERRED)
    done = forks.run_captured(script)
    assert done.returncode == 0, done.stderr
    trial = create_trial(str(configured))
    assert trial.tensor("Sequential_1.weight").steps()[:5] == list(range(5))
    assert trial.tensor("gradient/Sequential_1_2.weight").steps() == [5, 6, 7, 8]
    assert [name for name in trial.tensor_names() if name.startswith("Sequential_2")] == []
    assert trial.steps() == list(range(11))  # the last model calls the first one, whose steps its own are
