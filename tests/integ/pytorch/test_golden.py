"""The same models, trained with the same configuration, leave trials of the same structure as the original's hook."""

from __future__ import annotations

import functools
import hashlib
import json
import re

import numpy as np
import pytest
import torch

import sagemaker_debug_ext.pytorch as smd
from sagemaker_debug_ext.errors import TensorUnavailableForStep
from sagemaker_debug_ext.trials import create_trial

REDUCTIONS = ["min", "max", "mean", "std", "variance", "sum", "prod"]
ALL_REDUCTIONS = {
    "reductions": REDUCTIONS,
    "abs_reductions": REDUCTIONS[:-1],
    "norms": ["l1", "l2"],
    "abs_norms": ["l1", "l2"],
}
EVERYTHING = ["weights", "gradients", "biases", "losses"]


def every(interval):
    return smd.SaveConfig(save_interval=interval)


def run_mnistlike(make_hook, trainer):
    hook = make_hook(save_config=every(5), include_collections=[*EVERYTHING, "relu_output"])
    hook.get_collection("relu_output").include("relu.*_output")
    hook.get_collection("relu_output").save_config = every(10)
    training = trainer(hook)
    for _ in range(4):
        training.train(10).evaluate(3)
    return hook


def run_reductions(make_hook, trainer, raw, acts_config=None):
    config = smd.ReductionConfig(**ALL_REDUCTIONS, save_raw_tensor=raw)
    hook = make_hook(save_config=every(4), reduction_config=config, include_collections=[*EVERYTHING, "acts"])
    hook.get_collection("acts").include("(conv|relu)[0-9]_output")
    hook.get_collection("acts").reduction_config = acts_config
    training = trainer(hook)
    for _ in range(2):
        training.train(8).evaluate(2)
    return hook


def run_reductions_raw(make_hook, trainer):
    return run_reductions(make_hook, trainer, True, smd.ReductionConfig(reductions=["mean"]))


def run_reductions_noraw(make_hook, trainer):
    return run_reductions(make_hook, trainer, False)


def run_shapes(make_hook, trainer):
    hook = make_hook(
        save_config=every(2),
        reduction_config=smd.ReductionConfig(save_shape=True),
        include_collections=["weights", "gradients", "acts", "raw_and_shape"],
    )
    hook.get_collection("acts").include("relu.*_(in|out)put")
    hook.get_collection("raw_and_shape").include("fc_output")
    hook.get_collection("raw_and_shape").reduction_config = smd.ReductionConfig(
        reductions=["mean"], save_raw_tensor=True, save_shape=True
    )
    trainer(hook).train(6).evaluate(2)
    return hook


def run_jsonconfig(make_hook, trainer, folder, tmp_path):
    document = json.loads((folder / "debughookconfig.json").read_text())
    document["LocalPath"] = str(tmp_path / "out")
    (tmp_path / "hook.json").write_text(json.dumps(document))
    hook = smd.Hook.create_from_json_file(str(tmp_path / "hook.json"))
    hook.strict = True
    training = trainer(hook)
    for _ in range(2):
        training.train(10).evaluate(3)
    return hook


def run_scalars(make_hook, trainer):
    torch.manual_seed(trainer.keywords["seed"])
    hook = make_hook(
        save_config=every(3),
        include_collections=["weights", "custom_coll"],
        include_regex=["Sequential_2.bias"],
        include_workers="all",
    )
    hook.get_collection("custom_coll").include("no_such_tensor")
    model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.ReLU(), torch.nn.Linear(5, 2))
    hook.register_module(model)
    hook.set_mode(smd.modes.TRAIN)
    for step in range(10):
        hook.save_tensor("custom/numpy_f64", np.arange(6.0).reshape(2, 3) + step, "custom_coll")
        hook.save_tensor("custom/torch_i32", torch.full((3,), step, dtype=torch.int32))
        hook.save_tensor("custom/pylist", [1.5, 2.5, float(step)], collections_to_write=["custom_coll"])
        loss = torch.nn.functional.cross_entropy(model(torch.randn(4, 6)), torch.randint(0, 2, (4,)))
        hook.record_tensor_value("functional_loss", loss)
        loss.backward()
        hook.save_scalar("lr", 0.01)
        hook.save_scalar("py_int", step)
        hook.save_scalar("np_f32", np.float32(step))
        hook.save_scalar("torch0d", torch.tensor(float(step)))
        hook.save_scalar("metric", 0.5, sm_metric=True)
    return hook


RUNS = {
    "torch_mnistlike": run_mnistlike,
    "torch_reductions_noraw": run_reductions_noraw,
    "torch_reductions_raw": run_reductions_raw,
    "torch_shapes": run_shapes,
    "torch_jsonconfig": run_jsonconfig,
    "scalars_custom": run_scalars,
}


@pytest.fixture(params=RUNS)
def pair(request, make_hook, trainer, golden, tmp_path):
    """Our trial and what the original's reader said of its own."""
    folder, expected = golden(request.param)
    run = RUNS[request.param]
    seeded = functools.partial(trainer, seed=expected["meta"]["params"]["seed"])
    hook = run(make_hook, seeded, folder, tmp_path) if run is run_jsonconfig else run(make_hook, seeded)
    hook.close()
    return create_trial(hook.out_dir), expected


def is_scalar(name):
    return name.startswith("scalar/")


def test_structure_when_models_are_the_same_then_names_and_steps_are(pair):
    """Which tensors exist at which steps is the original's, but for scalars, which are all at their own steps."""
    trial, expected = pair
    assert trial.tensor_names() == expected["tensor_names"]
    assert trial.workers() == expected["workers"]
    assert sorted(mode.name for mode in trial.modes()) == sorted(expected["modes"])
    for name, tensor in expected["tensors"].items():
        for mode in smd.modes:
            steps = trial.tensor(name).steps(mode)
            if is_scalar(name):
                assert set(steps) >= set(tensor["steps"].get(mode.name, []))
            else:
                assert steps == tensor["steps"].get(mode.name, []), (name, mode)


def test_structure_when_models_are_the_same_then_what_is_saved_is(pair):
    """Values, shapes, reductions, dtypes and dimensions agree, tensor by tensor and step by step."""
    trial, expected = pair
    for name, tensor in expected["tensors"].items():
        for entry in tensor["entries"]:
            mode, step = smd.modes[entry["mode"]], entry["step"]
            # The original cannot read a value whose shape was saved as well; ours can.
            raw_saved = entry["raw_saved"] or (expected["meta"]["kind"] == "torch_shapes" and name == "fc_output_0")
            assert has_value(trial, name, step, mode) == raw_saved, (name, entry)
            saved = trial.tensor(name).reduction_values(step, mode)
            spelled = {("abs_" if absolute else "") + reduction for reduction, absolute in saved}
            assert spelled == set(entry.get("reductions_saved", ())), (name, entry)
            if "shape" in entry:
                assert list(trial.tensor(name).shape(step, mode)) == entry["shape"], (name, entry)
            if entry["raw_saved"] and "value" in entry:
                value = trial.tensor(name).value(step, mode)
                assert (value.dtype.name, list(value.shape)) == (entry["value"]["dtype"], entry["value"]["shape"])


def has_value(trial, name, step, mode):
    try:
        trial.tensor(name).value(step, mode)
    except TensorUnavailableForStep:
        return False
    return True


def test_values_when_nothing_is_trained_yet_then_are_those_of_the_original(pair):
    """Parameters of the first step follow from the seed: their values bit by bit, their reductions but for rounding."""
    trial, expected = pair
    num_compared = 0
    for name, tensor in expected["tensors"].items():
        first = tensor["entries"][0]
        if not re.match("(Net|Sequential)_.*(weight|bias)$", name) or (first["mode"], first["step"]) != ("TRAIN", 0):
            continue
        if "value" in first:
            value = trial.tensor(name).value(0, smd.modes.TRAIN)
            assert hashlib.sha256(value.tobytes()).hexdigest() == first["value"]["sha256"], name
            num_compared += 1
        found = trial.tensor(name).reduction_values(0, smd.modes.TRAIN)
        for spelled, number in first.get("reductions_saved", {}).items():
            ours = found[spelled.removeprefix("abs_"), spelled.startswith("abs_")]
            assert float(ours) == pytest.approx(number["head"][0], rel=1e-5, abs=1e-7), (name, spelled)
            num_compared += 1
    assert num_compared or expected["meta"]["kind"] == "torch_shapes"


def test_structure_when_models_are_the_same_then_collections_are(pair):
    """Collections agree in members, patterns and settings."""
    trial, expected = pair
    collections = trial.collections()
    assert sorted(collections) == sorted(expected["collections"])
    for name, wanted in expected["collections"].items():
        found = collections[name].to_json_dict()
        for key in ("include_regex", "save_config", "reduction_config", "save_histogram"):
            assert found[key] == wanted[key], (name, key)
        assert found["tensor_names"] == wanted["tensor_names_in_file"], name
