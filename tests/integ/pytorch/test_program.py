"""The record of PyTorch models and losses."""

from __future__ import annotations

import time

import pytest

torch = pytest.importorskip("torch")

import sagemaker_debug_ext.pytorch as smd  # noqa: E402
from sagemaker_debug_ext.hooks.program.pytorch import TorchProgram  # noqa: E402
from sagemaker_debug_ext.trials import create_trial  # noqa: E402


def test_record_when_model_and_loss_are_registered_then_has_them(tmp_path):
    """Types, sizes, modes and the arguments of the loss are there; how modules follow each other is unknown."""
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Dropout(0.5), torch.nn.Linear(3, 2))
    loss = torch.nn.CrossEntropyLoss(label_smoothing=0.25)
    model[1].eval()
    with smd.Hook(str(tmp_path / "out"), save_config=smd.SaveConfig(save_interval=1)) as hook:
        hook.register_module(model)
        hook.register_loss(loss)
        loss(model(torch.zeros(5, 4)), torch.zeros(5, dtype=torch.long)).backward()
    program = create_trial(str(tmp_path / "out")).program
    assert (program.framework, program.model) == ("PyTorch", "Sequential")
    assert [(layer.name, layer.type, layer.units, layer.is_training) for layer in program.layers] == [
        ("Sequential", "Sequential", None, True),
        ("0", "Linear", 3, True),
        ("1", "Dropout", None, False),
        ("2", "Linear", 2, True),
    ]
    (found,) = program.losses
    assert (found.type, found.arguments["label_smoothing"], found.arguments["reduction"]) == (
        "CrossEntropyLoss",
        0.25,
        "mean",
    )
    assert [(layer.type, layer.activation, layer.units) for layer in found.tail] == [("Addmm", "linear", 2)]
    assert (found.target_dtype, program.input_dtypes, program.unknown) == ("int64", ("float32",), ())


def test_record_when_model_has_a_thousand_modules_then_holds_all():
    """Size is no problem."""
    model = torch.nn.Sequential(*(torch.nn.Linear(1, 1) for _ in range(1000)))
    start = time.perf_counter()
    program = TorchProgram()
    program.note_modules([("Sequential", model.named_modules())], [])
    record = program.record()
    print(f"{1000 * (time.perf_counter() - start):.1f} ms")
    assert len(record.layers) == 1001
