"""Functions are captured like the modules of the same kind, and stay what they are for PyTorch."""

from __future__ import annotations

import json

import pytest
import torch
from torch import nn
from torch.nn import functional

import sagemaker_debug_ext.pytorch as smd
from sagemaker_debug_ext.hooks.auto.pytorch_functions import (
    DROPOUT_FUNCTIONS,
    LOSS_FUNCTIONS,
    wrap_dropout,
    wrap_losses,
)
from sagemaker_debug_ext.hooks.program.autograd import tail_of
from sagemaker_debug_ext.rules import evaluate
from sagemaker_debug_ext.rules.causes import likely_causes
from sagemaker_debug_ext.rules.recommended import recommended_rules
from sagemaker_debug_ext.trials import create_trial


@pytest.fixture
def calls(monkeypatch):
    """The calls that wrapped functions report; the functions are restored at the end."""
    for name in LOSS_FUNCTIONS:
        monkeypatch.setattr(functional, name, getattr(functional, name))
    found = []
    wrap_losses(lambda *reported: found.append(reported))
    return found


SCORES = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.0, -2.0]], requires_grad=True)
LABELS = torch.tensor([2, 0])


def test_call_when_by_script_then_is_reported_with_its_arguments(calls):
    """Predictions, targets, settings and the loss itself."""
    loss = functional.cross_entropy(SCORES, target=LABELS, label_smoothing=0.1)
    ((kind, arguments, (predictions, targets), reported, module),) = calls
    assert (kind, arguments["label_smoothing"], module) == ("CrossEntropyLoss", 0.1, None)
    assert predictions is SCORES
    assert targets is LABELS
    assert reported is loss


def test_call_when_by_loss_module_then_names_the_module(calls):
    """So that the hook can tell whether it captures the module anyway."""
    loss = nn.MSELoss()
    loss(SCORES, torch.zeros(2, 3))
    assert [(kind, module) for kind, *_, module in calls] == [("MSELoss", loss)]


@pytest.mark.filterwarnings("ignore:reduction")
@pytest.mark.parametrize("name", sorted(LOSS_FUNCTIONS))
def test_call_when_wrapped_then_gives_the_same_bits(name, calls, monkeypatch):
    """Values and gradients are those of the function itself."""
    shares = torch.rand(2, 3, generator=torch.Generator().manual_seed(0)).requires_grad_()
    targets = LABELS if name in ("cross_entropy", "nll_loss") else torch.rand(2, 3).round()
    wrapped = getattr(functional, name)
    gradients = [
        torch.autograd.grad(function(shares, targets), shares)[0] for function in (wrapped, wrapped.__wrapped__)
    ]
    assert torch.equal(*gradients)
    assert len(calls) == 1


def loss_of(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(scores, labels)


@pytest.mark.filterwarnings("ignore:`torch.jit.script`:DeprecationWarning")
def test_call_when_compiled_by_jit_then_is_the_function_itself(calls):
    """Nothing of the capture gets into compiled code."""
    compiled = torch.jit.script(loss_of)
    assert torch.equal(compiled(SCORES, LABELS), functional.cross_entropy.__wrapped__(SCORES, LABELS))
    assert calls == []


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.usefixtures("calls")
def test_call_when_compiled_by_dynamo_then_breaks_no_graph(backend):
    """The whole function is one graph, as without capture."""
    torch.compiler.reset()
    compiled = torch.compile(loss_of, backend=backend, fullgraph=True)
    losses = compiled(SCORES, LABELS), functional.cross_entropy.__wrapped__(SCORES, LABELS)
    assert torch.equal(*losses)
    assert torch.equal(*(torch.autograd.grad(loss, SCORES)[0] for loss in losses))


def test_call_when_transformed_then_is_not_reported(calls):
    """Tensors inside of transforms stand for others, and have no values."""
    found = torch.func.vmap(loss_of)(SCORES.detach(), LABELS)
    assert found.shape == (2,)
    torch.func.grad(lambda scores: loss_of(scores, LABELS))(SCORES.detach())
    assert calls == []


@pytest.fixture
def dropouts(monkeypatch):
    """The calls that wrapped dropout functions report; the functions are restored at the end."""
    for name in DROPOUT_FUNCTIONS:
        monkeypatch.setattr(functional, name, getattr(functional, name))
    found = []
    wrap_dropout(lambda *reported: found.append(reported), lambda: True)
    return found


@pytest.mark.parametrize("name", DROPOUT_FUNCTIONS)
def test_dropout_when_called_by_script_then_is_reported_with_what_it_does(name, dropouts):
    """Whether it drops anything, and the same random numbers as before."""
    function, values = getattr(functional, name), torch.ones(2, 3, 4, 4, 4)[: 1 if name.endswith("1d") else 2]
    values = values.flatten(3) if name.endswith("2d") else values.flatten(2) if name.endswith("1d") else values
    outputs = []
    for call in (function, function.__wrapped__):
        torch.manual_seed(0)
        outputs.append(call(values, 0.5, training=True))
    function(values, 0.5, training=False)
    function(values, p=0.0, training=True)
    assert torch.equal(*outputs)
    assert dropouts == [(name, True, None), (name, False, None), (name, False, None)]


def test_dropout_when_called_by_a_module_then_is_reported_with_it(dropouts):
    """The hook knows whether it captures the module anyway."""
    dropout = nn.Dropout(0.5)
    dropout(torch.ones(4))
    assert dropouts == [("dropout", True, dropout)]


def test_dropout_when_nothing_is_saved_then_is_not_reported(monkeypatch):
    """Models with many dropouts pay at steps that are saved only."""
    monkeypatch.setattr(functional, "dropout", functional.dropout)
    wrap_dropout(pytest.fail, lambda: False)
    assert functional.dropout(torch.ones(4), 0.0).sum() == 4


MODES = """
import torch
import torch.nn.functional as F
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.last, self.part = nn.Linear(8, 16), nn.Linear(16, 1), nn.Dropout(0.5)
    def forward(self, x):
        return self.last({dropout})
model, x = Net(), torch.randn(64, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(4):
    model.train()
    for _ in range(3):
        optimizer.zero_grad()
        F.mse_loss(model(x), x[:, :1]).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        model(x), model(x)
"""


@pytest.mark.parametrize(
    ("dropout", "num_calls", "causes"),
    [
        ("F.dropout(self.hidden(x) * self.hidden(x), 0.5)", 20, ["wrong mode"]),
        ("nn.Dropout(0.5)(self.hidden(x) * self.hidden(x))", 20, ["wrong mode"]),
        ("F.dropout(self.hidden(x) * self.hidden(x), 0.5, training=self.training)", 20, []),
        ("self.part(self.hidden(x))", 0, []),
    ],
)
def test_run_when_dropout_is_not_told_the_mode_then_says_so(tmp_path, monkeypatch, dropout, num_calls, causes, forks):
    """Whatever the values before and after it look like; a dropout that belongs to the model is captured itself."""
    (tmp_path / "train.py").write_text(MODES.format(dropout=dropout))
    settings = {"LocalPath": str(tmp_path / "out"), "HookParameters": {"save_interval": "1", "save_all": "true"}}
    (tmp_path / "hook.json").write_text(json.dumps(settings))
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "hook.json"))
    done = forks.run_captured(tmp_path / "train.py")
    assert done.returncode == 0, done.stderr
    trial = create_trial(str(tmp_path / "out"))
    calls = [name for name in trial.tensor_names() if name == "functional.dropout_active_0"]
    assert sum(len(trial.tensor(name).steps()) for name in calls) == num_calls
    issues = evaluate({"TrainEvalMixup": recommended_rules(trial)["TrainEvalMixup"]}, trial).run()
    assert [cause.name for cause in likely_causes(issues)] == causes


LINEAR = nn.Linear(4, 3)
INPUTS = torch.ones(5, 4)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: LINEAR(INPUTS), [("Addmm", "linear")]),
        (lambda: LINEAR(INPUTS).softmax(-1), [("Softmax", "softmax"), ("Addmm", "linear")]),
        (lambda: functional.log_softmax(LINEAR(INPUTS), 1), [("LogSoftmax", "log_softmax"), ("Addmm", "linear")]),
        (lambda: torch.sigmoid(LINEAR(INPUTS)).squeeze(), [("Sigmoid", "sigmoid"), ("Addmm", "linear")]),
        (lambda: LINEAR(INPUTS).relu().view(3, 5).T, [("Relu", "relu"), ("Addmm", "linear")]),
        (lambda: LINEAR(torch.ones(2, 5, 4)), [("Addmm", "linear")]),
        (lambda: functional.dropout(LINEAR(INPUTS), 0.5), [("Dropout", None), ("Addmm", "linear")]),
        (lambda: functional.dropout(LINEAR(INPUTS), 0.5, training=False), [("Addmm", "linear")]),
        (lambda: 2 * LINEAR(INPUTS), []),
        (lambda: LINEAR(INPUTS) + LINEAR(INPUTS), []),
        (lambda: torch.ones(3), []),
        (lambda: nn.Conv1d(4, 2, 1)(torch.ones(1, 4, 5)), [("Convolution", "linear")]),
    ],
)
def test_tail_when_operations_lie_before_an_output_then_has_them(make, expected):
    """Modules, functions and methods alike, back to weights or to what cannot be described."""
    torch.manual_seed(0)
    assert [(layer.type, layer.activation) for layer in tail_of(make())] == expected


PROGRAM = """
import sys
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
{model}
x = torch.randn(320, 8)
{targets}
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(3):
    for inputs, wanted in DataLoader(TensorDataset(x, y), 32, shuffle=True):
        optimizer.zero_grad()
        loss = {loss}
        loss.backward()
        optimizer.step()
print(sum(parameter.sum() for parameter in model.parameters()).item().hex())
"""
NET = "model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))"
CLASSES = "y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()"


def causes_of(trial):
    """Return the causes that the pairing of loss and output points at, and the first step at which it does."""
    issues = evaluate({"LossInputMismatch": recommended_rules(trial)["LossInputMismatch"]}, trial).run()
    return [cause.name for cause in likely_causes(issues)][:1], [issue.step for issue in issues[:1]]


@pytest.mark.parametrize(
    ("loss", "found"),
    [
        ("F.cross_entropy(model(inputs), wanted)", ([], [])),
        ("F.nll_loss(F.softmax(model(inputs), 1), wanted)", (["loss or output"], [0])),
        ("nn.CrossEntropyLoss()(F.dropout(model(inputs), 0.3), wanted)", (["regularisation"], [0])),
    ],
)
def test_run_when_loss_and_output_do_not_fit_then_says_so_at_the_first_batch(tmp_path, monkeypatch, loss, found, forks):
    """Functions and modules; training itself is as without capture, and the record knows the program."""
    (tmp_path / "train.py").write_text(PROGRAM.format(model=NET, targets=CLASSES, loss=loss))
    settings = {"LocalPath": str(tmp_path / "out"), "HookParameters": {"save_interval": "1", "save_all": "true"}}
    (tmp_path / "hook.json").write_text(json.dumps(settings))
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "hook.json"))
    done = forks.run_captured(tmp_path / "train.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout == forks.run_python(tmp_path / "train.py").stdout
    trial = create_trial(str(tmp_path / "out"))
    assert causes_of(trial) == found
    program = trial.program
    assert (program.num_samples, program.num_workers, program.batch_size) == (320, 0, 32)
    assert program.input_dtypes == ("float32",)
    assert [(optimizer.type, optimizer.numbers["lr"]) for optimizer in program.optimizers] == [("Adam", 0.01)]
    assert program.losses[0].target_dtype == "int64"


@pytest.mark.parametrize(
    ("loss", "activation", "targets", "fires"),
    [
        (nn.CrossEntropyLoss(), nn.Identity(), "classes", False),
        (nn.CrossEntropyLoss(), nn.LogSoftmax(1), "classes", False),
        (nn.CrossEntropyLoss(), nn.Softmax(1), "classes", True),
        (nn.CrossEntropyLoss(), nn.Sigmoid(), "classes", True),
        (nn.CrossEntropyLoss(), nn.ReLU(), "classes", True),
        (nn.NLLLoss(), nn.LogSoftmax(1), "classes", False),
        (nn.NLLLoss(), nn.Identity(), "classes", True),
        (nn.NLLLoss(), nn.LogSoftmax(0), "classes", True),
        (nn.BCEWithLogitsLoss(), nn.Identity(), "yes or no", False),
        (nn.BCEWithLogitsLoss(), nn.Sigmoid(), "yes or no", True),
        (nn.BCELoss(), nn.Sigmoid(), "yes or no", False),
        (nn.MSELoss(), nn.Identity(), "quantities", False),
        (nn.MSELoss(), nn.Softplus(), "quantities", False),
        (nn.MSELoss(), nn.Sigmoid(), "quantities", True),
        (nn.L1Loss(), nn.Tanh(), "quantities", True),
    ],
)
def test_hook_when_output_is_not_what_the_loss_expects_then_fires(tmp_path, loss, activation, targets, fires):
    """Each pairing of loss, last activation and targets; usual ones do not fire."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3), activation)
    x = torch.randn(64, 8)
    y = {"classes": torch.arange(64) % 3, "yes or no": (x[:, :3] > 0).float(), "quantities": 20 + 5 * x[:, :3].abs()}
    with smd.Hook(str(tmp_path / "out"), save_config=smd.SaveConfig(save_interval=1), save_all=True) as hook:
        hook.register_module(model)
        hook.register_loss(loss)
        hook.set_mode(smd.modes.TRAIN)
        for _ in range(2):
            loss(model(x), y[targets]).backward()
    trial = create_trial(str(tmp_path / "out"))
    assert causes_of(trial) == ((["loss or output"], [0]) if fires else ([], []))
