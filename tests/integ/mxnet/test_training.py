"""A hook changes nothing about training, and what the core of all hooks does works with MXNet."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import warnings

import mxnet as mx
import numpy as np
import pytest

import sagemaker_debug_ext.mxnet as smd
from sagemaker_debug_ext.errors import SMDebugRuntimeError
from sagemaker_debug_ext.trials import create_trial

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")

TRAIN, EVAL = smd.modes.TRAIN, smd.modes.EVAL
EVERYTHING = {
    "values": None,
    "reductions": smd.ReductionConfig(reductions=["mean", "std", "prod"], norms=["l2"], save_shape=True),
}


def result(training):
    """All that training leaves: losses, parameters and gradients, as bytes."""
    parts = [loss.asnumpy() for loss in training.losses]
    for parameter in training.model.collect_params().values():
        parts += [parameter.data().asnumpy(), parameter.grad().asnumpy()]
    return b"".join(part.tobytes() for part in parts)


@pytest.mark.parametrize("config", EVERYTHING.values(), ids=EVERYTHING)
def test_result_when_everything_is_saved_then_is_the_same_to_the_bit(make_hook, trainer, config):
    """Losses, weights, gradients and random numbers are those of a run without hook."""
    without = trainer().train(6).evaluate(2).train(3)
    after_without = mx.nd.random.uniform(shape=(3,)).asnumpy()
    hook = make_hook(save_all=True, reduction_config=config)
    attached = trainer(hook).train(6, after_step=lambda: hook.save_scalar("lr", 0.1)).evaluate(2).train(3)
    np.testing.assert_array_equal(mx.nd.random.uniform(shape=(3,)).asnumpy(), after_without)
    hook.close()
    assert result(attached) == result(without)
    assert hook.failure is None


@pytest.mark.parametrize("config", EVERYTHING.values(), ids=EVERYTHING)
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


@pytest.mark.parametrize("strict", [False, True])
def test_hook_when_an_array_breaks_it_then_training_goes_on_unless_strict(make_hook, trainer, caplog, strict):
    """What goes wrong is logged once and ends the saving, or is raised where that was asked for."""

    class Strange(Exception):
        """What no library raises."""

    def break_it(*_):
        raise Strange("strange")

    without = trainer().train(4)
    hook = make_hook(strict=strict, include_collections=["weights"])
    attached = trainer(hook)
    hook._find_worker = break_it
    if strict:
        with pytest.raises(Strange):
            attached.train(1)
        return
    attached.train(4)
    hook.close()
    assert result(attached) == result(without)
    assert isinstance(hook.failure, Strange)
    assert [record.message for record in caplog.records if record.levelno >= logging.ERROR] == [
        "sagemaker_debug_ext: saving is switched off, training goes on: strange"
    ]


def test_hook_when_folder_holds_an_ended_trial_then_refuses_before_training(make_hook, open_trial, trainer):
    """The clear error comes when the hook is made."""
    hook = make_hook()
    trainer(hook).train(1)
    hook.close()
    with pytest.raises(SMDebugRuntimeError, match="has ended"):
        make_hook()


def test_hook_when_folder_holds_an_unfinished_trial_then_counts_on(tmp_path, open_trial, make_hook, trainer):
    """The next run goes on where one that was killed has stopped."""
    program = f"""
import os, sys
import mxnet as mx
import sagemaker_debug_ext.mxnet as smd
hook = smd.Hook({str(tmp_path / "out")!r}, save_config=smd.SaveConfig(save_interval=1), include_regex=["dense"])
net = mx.gluon.nn.Dense(2)
net.initialize()
hook.register_block(net)
for _ in range(4):
    net(mx.nd.ones((1, 3)))
hook.export_collections()
sys.stdout.flush()
os._exit(9)
"""
    killed = subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=False)
    assert killed.returncode == 9
    hook = make_hook(include_collections=["losses"])
    trainer(hook).train(2)
    assert open_trial(hook).steps() == [0, 1, 2, 3, 4]


def test_script_when_it_never_closes_the_hook_then_interpreter_does(tmp_path):
    """MXNet still works when the interpreter ends, so the last step is complete and the trial is marked."""
    program = f"""
import mxnet as mx
import sagemaker_debug_ext.mxnet as smd
hook = smd.Hook({str(tmp_path / "out")!r}, save_config=smd.SaveConfig(save_interval=1), include_collections=["weights"])
net = mx.gluon.nn.Dense(2)
net.initialize()
hook.register_block(net)
net(mx.nd.ones((1, 3)))
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True)
    trial = create_trial(str(tmp_path / "out"))
    assert trial.loaded_all_steps
    assert trial.tensor_names() == ["dense0_weight"]


def test_script_when_it_is_terminated_then_trial_ends_with_its_last_complete_step(tmp_path):
    """A spot instance that is taken away leaves a trial that has ended."""
    program = f"""
import mxnet as mx
import sagemaker_debug_ext.mxnet as smd
hook = smd.Hook({str(tmp_path / "out")!r}, save_config=smd.SaveConfig(save_interval=1), include_collections=["weights"])
net = mx.gluon.nn.HybridSequential()
net.add(mx.gluon.nn.Dense(2))
net.initialize()
net.hybridize()
hook.register_block(net)
while True:
    net(mx.nd.ones((1, 3)))
    if hook.step == 5:
        print("ready", flush=True)
"""
    with subprocess.Popen([sys.executable, "-W", "ignore", "-c", program], stdout=subprocess.PIPE, text=True) as script:
        assert script.stdout.readline() == "ready\n"
        script.terminate()
        assert script.wait(timeout=60) == -signal.SIGTERM
    trial = create_trial(str(tmp_path / "out"))
    assert trial.loaded_all_steps
    assert trial.steps()[:5] == [0, 1, 2, 3, 4]
    assert all(trial.tensor_names(step=step) == ["dense0_weight"] for step in trial.steps())


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


class TestCore:
    def test_tensorboard_when_exported_then_has_curves_and_histograms(self, make_hook, trainer, tmp_path):
        """TensorBoard's own reader finds losses and weights."""
        hook = make_hook(include_collections=["weights"], tensorboard_dir=str(tmp_path / "tb"))
        training = trainer(hook, hybridise={}).train(2)
        hook.close()
        losses = [float(loss.mean().asscalar()) for loss in training.losses]
        found = accumulator.EventAccumulator(str(tmp_path / "tb" / "TRAIN"), {"scalars": 0, "histograms": 0})
        found.Reload()
        assert found.Tags()["scalars"] == ["softmaxcrossentropyloss0_output_0"]
        summaries = [event.value for event in found.PendingScalars("softmaxcrossentropyloss0_output_0")]
        assert summaries == pytest.approx(losses)
        assert found.Tags()["histograms"] == ["weights/conv0_weight", "weights/dense0_weight"]

    def test_metrics_file_when_in_a_job_then_has_losses(self, make_hook, trainer, tmp_path, monkeypatch):
        """SageMaker is told losses, and scalars that are metrics."""
        monkeypatch.setenv("TRAINING_JOB_NAME", "job")
        monkeypatch.setenv("SAGEMAKER_METRICS_DIRECTORY", str(tmp_path / "metrics"))
        hook = make_hook()
        trainer(hook).train(2, after_step=lambda: hook.save_scalar("accuracy", mx.nd.array([0.5]), sm_metric=True))
        hook.close()
        lines = (tmp_path / "metrics" / f"{os.getpid()}.json").read_text().splitlines()
        names = [json.loads(line)["MetricName"] for line in lines]
        assert sorted(names) == ["scalar/accuracy_TRAIN"] * 2 + ["softmaxcrossentropyloss0_output_0_TRAIN"] * 2

    def test_checkpoints_when_job_resumes_then_steps_count_on(
        self, make_hook, open_trial, trainer, tmp_path, monkeypatch
    ):
        """A job that was interrupted goes on where its last checkpoint was written."""
        config = tmp_path / "checkpoints.json"
        config.write_text(json.dumps({"LocalPath": str(tmp_path / "checkpoints")}))
        (tmp_path / "checkpoints").mkdir()
        monkeypatch.setenv("CHECKPOINT_CONFIG_FILE_PATH", str(config))
        first = make_hook("first")
        training = trainer(first).train(3)
        training.model.save_parameters(str(tmp_path / "checkpoints" / "net.params"))
        training.train(1)
        first.close()
        second = make_hook("second")
        trainer(second).train(1)
        assert open_trial(second).steps() == [3]

    @pytest.mark.parametrize("when_full", ["block", "drop", "spill"])
    def test_memory_when_limit_is_small_then_steps_wait_or_are_left_out(
        self, make_hook, open_trial, trainer, when_full
    ):
        """What waits to be written is bounded, and no step is torn."""
        hook = make_hook(save_all=True, memory_limit_bytes=1, when_full=when_full)
        trainer(hook).train(5)
        trial = open_trial(hook)
        assert len(trial.steps()) + hook.num_dropped_steps == 5
        assert when_full == "drop" or hook.num_dropped_steps == 0
        assert all(len(trial.tensor_names(step=step)) == len(trial.tensor_names()) for step in trial.steps())

    def test_statistics_when_asked_for_then_are_saved(self, make_hook, open_trial, trainer):
        """The share of zeros after an activation is what its output holds."""
        hook = make_hook(include_regex=["relu_output"], statistics=["zero_fraction"])
        trainer(hook, hybridise={}).train(1)
        trial = open_trial(hook)
        zeros = (trial.tensor("conv0_relu_output_0").value(0, TRAIN) == 0).mean()
        saved = trial.tensor("conv0_relu_output_0").reduction_values(0, TRAIN)
        assert saved["zero_fraction", False] == pytest.approx(float(zeros))

    def test_flight_recorder_when_loss_is_not_finite_then_last_steps_are_written(self, make_hook, open_trial, trainer):
        """A loss that overflows has the last steps written."""
        hook = make_hook(include_collections=["weights"], flight_recorder=2)
        training = trainer(hook).train(4)
        training.model[4].weight.data()[:] = np.nan
        training.train(1)
        assert open_trial(hook).steps(TRAIN) == [3, 4]

    def test_dry_run_when_asked_for_then_writes_no_tensors(self, make_hook, open_trial, trainer):
        """Everything runs, and nothing is saved."""
        hook = make_hook(save_all=True, dry_run=True)
        trainer(hook).train(2)
        assert open_trial(hook).steps() == []


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
