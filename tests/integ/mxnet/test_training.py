"""Training never waits for the hook of MXNet, and scripts and jobs of any kind are captured."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

import mxnet as mx
import numpy as np
import pytest

import sagemaker_debug_ext.mxnet as smd
from contracts.hooks import REDUCTIONS
from sagemaker_debug_ext.trials import create_trial

TRAIN, EVAL = smd.modes.TRAIN, smd.modes.EVAL


@pytest.mark.parametrize("config", REDUCTIONS.values(), ids=REDUCTIONS)
def test_training_when_it_is_saved_then_never_waits_for_the_engine(make_hook, trainer, monkeypatch, config):
    """Values are copied by MXNet, and waited for and reduced by the writing thread, in saved steps too."""
    waiting = []
    for name in ("asnumpy", "wait_to_read"):
        original = getattr(mx.nd.NDArray, name)

        def watched(array, original=original):
            waiting.append(threading.current_thread())
            return original(array)

        monkeypatch.setattr(mx.nd.NDArray, name, watched)
    hook = make_hook(save_all=True, reduction_config=config)
    training = trainer(hook)
    waiting.clear()  # initialisers may wait
    training.train(1)
    waiting.clear()  # for the shapes that the first forward pass finds
    training.train(3)
    hook.close()
    assert waiting
    assert threading.current_thread() not in waiting


def test_losses_when_saved_then_are_those_of_training(make_hook, open_trial, trainer):
    """A loss is saved as training has it, one number for each sample."""
    hook = make_hook()
    training = trainer(hook, hybridise={}).train(2)
    saved = open_trial(hook).tensor("softmaxcrossentropyloss0_output_0")
    for step, loss in enumerate(training.losses):
        np.testing.assert_array_equal(saved.value(step, TRAIN), loss.asnumpy())


def test_configuration_file_when_it_is_sagemakers_then_makes_the_hook(tmp_path, monkeypatch, trainer, conv0_tensors):
    """A script that asks for the hook gets the one that the job's submitter configured."""
    config = tmp_path / "hook.json"
    config.write_text(
        json.dumps(
            {
                "S3OutputPath": "s3://bucket/prefix",
                "LocalPath": str(tmp_path / "tensors"),
                "HookParameters": {"save_interval": "3", "eval.save_interval": "1"},
                "CollectionConfigurations": [
                    {"CollectionName": "conv0_tensors", "CollectionParameters": {"include_regex": "conv0.*"}},
                    {"CollectionName": "losses", "CollectionParameters": {"save_interval": "1"}},
                ],
            }
        )
    )
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(config))
    hook = smd.get_hook()
    assert smd.get_hook() is hook
    trainer(hook).train(5).evaluate(2)
    hook.close()
    trial = create_trial(str(tmp_path / "tensors"))
    assert trial.tensor_names(collection="conv0_tensors") == conv0_tensors
    assert trial.tensor("conv0_output_0").steps(TRAIN) == [0, 3]
    assert trial.tensor("conv0_output_0").steps(EVAL) == [0, 1]
    assert trial.tensor("softmaxcrossentropyloss0_output_0").steps(TRAIN) == [0, 1, 2, 3, 4]


def test_get_hook_when_there_is_no_file_then_is_none(tmp_path, monkeypatch):
    """Outside of a job, scripts go without."""
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "missing.json"))
    assert smd.get_hook() is None


def test_script_when_written_for_the_original_then_runs_with_its_import_renamed(tmp_path):
    """A script of its time, with nothing else changed, writes a trial and reads it."""
    script = """
import sys
import mxnet as mx
from mxnet import autograd, gluon
from mxnet.gluon import nn
import smdebug.mxnet as smd
from smdebug.mxnet import Hook, SaveConfig, SaveConfigMode, ReductionConfig, modes
from smdebug import modes as top_modes
from smdebug.trials import create_trial

out_dir = sys.argv[1]
save_config = SaveConfig({modes.TRAIN: SaveConfigMode(save_interval=2), modes.EVAL: SaveConfigMode(save_interval=1)})
hook = Hook(out_dir, save_config=save_config, include_collections=["weights", "gradients", "ReluActivation"],
            include_workers="one")
hook.get_collection("ReluActivation").include(["relu*"])
net = nn.HybridSequential()
net.add(nn.Conv2D(channels=2, kernel_size=3, activation="relu"), nn.Flatten(), nn.Dense(4))
net.initialize(mx.init.Xavier(magnitude=2.24))
net.hybridize()
hook.register_hook(net)
loss = gluon.loss.SoftmaxCrossEntropyLoss()
hook.register_hook(loss)
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
data, label = mx.nd.random.uniform(shape=(4, 1, 6, 6)), mx.nd.array([0, 1, 2, 3])
for _ in range(3):
    hook.set_mode(modes.TRAIN)
    with autograd.record():
        value = loss(net(data), label)
    value.backward()
    trainer.step(4)
    hook.save_scalar("loss_mean", value.mean().asscalar(), sm_metric=True)
hook.set_mode(mode=modes.EVAL)
loss(net(data), label)
hook.close()
trial = create_trial(out_dir)
print(sorted(trial.tensor_names()))
print(trial.steps(mode=top_modes.TRAIN), trial.steps(mode=modes.EVAL))
"""
    path = tmp_path / "train.py"
    path.write_text(script.replace("smdebug", "sagemaker_debug_ext"))
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", str(path), str(tmp_path / "out")], capture_output=True, text=True, check=True
    )
    names, steps = ran.stdout.splitlines()
    assert json.loads(names.replace("'", '"')) == [
        "conv0_relu_input_0",
        "conv0_relu_output_0",
        "conv0_weight",
        "dense0_weight",
        "gradient/conv0_bias",
        "gradient/conv0_weight",
        "gradient/dense0_bias",
        "gradient/dense0_weight",
        "scalar/loss_mean",
        "softmaxcrossentropyloss0_output_0",
    ]
    assert steps == "[0, 1, 2] [0]"


def test_training_when_batches_come_from_other_processes_then_only_this_one_writes(tmp_path):
    """Processes that load data are forked with the hook in them; they leave it alone."""
    program = f"""
import mxnet as mx
from mxnet import autograd, gluon
import sagemaker_debug_ext.mxnet as smd
hook = smd.Hook({str(tmp_path / "out")!r}, save_config=smd.SaveConfig(save_interval=1), include_collections=["weights"])
net = gluon.nn.Dense(1)
net.initialize()
hook.register_block(net)
trainer = gluon.Trainer(net.collect_params(), "sgd")
dataset = gluon.data.ArrayDataset(mx.nd.random.uniform(shape=(12, 3)))
for _ in range(2):
    for batch in gluon.data.DataLoader(dataset, batch_size=4, num_workers=2):
        with autograd.record():
            value = net(batch)
        value.backward()
        trainer.step(4)
hook.close()
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, timeout=120)
    trial = create_trial(str(tmp_path / "out"))
    assert trial.loaded_all_steps
    assert trial.steps() == [0, 1, 2, 3, 4, 5]
