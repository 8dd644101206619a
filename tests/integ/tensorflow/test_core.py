"""What all hooks have, with Keras: TensorBoard, metrics, checkpoints, memory, statistics, the flight recorder."""

from __future__ import annotations

import json

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

import sagemaker_debug_ext.tensorflow as smd  # noqa: E402
from sagemaker_debug_ext.trials import create_trial  # noqa: E402

TRAIN = smd.modes.TRAIN


def test_tensorboard_when_exported_then_tensorflow_reads_it(build, fit, make_hook, open_trial):
    """TensorFlow's own reader finds scalars and histograms."""
    hook = make_hook(include_collections=["weights"], export_tensorboard=True)
    fit(build(), hook)
    hook.close()
    folder = hook.out_dir.removeprefix("file://")
    events = [
        value.tag
        for path in tf.io.gfile.glob(f"{folder}/tensorboard/TRAIN/*")
        for event in tf.compat.v1.train.summary_iterator(path)
        for value in event.summary.value
    ]
    assert {"loss", "accuracy"} <= set(events)
    assert events.count("loss") == 12
    assert any("hid/kernel" in tag for tag in events)


def test_metrics_file_when_there_is_a_folder_for_it_then_has_losses(build, fit, make_hook, monkeypatch, tmp_path):
    """Losses and metrics of the job are told to SageMaker."""
    (tmp_path / "metrics").mkdir()
    monkeypatch.setenv("SAGEMAKER_METRICS_DIRECTORY", str(tmp_path / "metrics"))
    monkeypatch.setenv("TRAINING_JOB_NAME", "job")
    hook = make_hook()
    fit(build(), hook)
    hook.close()
    (path,) = (tmp_path / "metrics").glob("*.json")
    names = {json.loads(line)["MetricName"] for line in path.read_text().splitlines()}
    assert {"loss_TRAIN", "accuracy_TRAIN", "val_loss_EVAL"} <= names


def test_steps_when_the_job_was_killed_then_go_on(build, fit, make_hook):
    """A second run counts on behind the steps of the first, which did not end."""
    hook = make_hook(include_collections=["gradients"])
    fit(build(), hook, epochs=1, validation_data=None)
    hook.export_collections()
    hook._begin_step()
    hook._dispatcher.output.flush()
    hook._dispatcher.output = None  # as if the process had been killed
    hook._lifecycle.is_off = True
    from sagemaker_debug_ext.store import claims

    claims.release_claim(hook.backend)
    again = make_hook(include_collections=["gradients"])
    fit(build(), again, epochs=1, validation_data=None)
    again.close()
    assert create_trial(again.out_dir).steps(TRAIN) == list(range(12))


def test_steps_when_memory_is_short_then_are_left_out_whole(build, fit, make_hook, open_trial):
    """With when_full="drop" training never waits; what was written is complete."""
    hook = make_hook(include_collections=["weights", "gradients"], memory_limit_bytes=1, when_full="drop")
    fit(build(), hook, validation_data=None)
    trial = open_trial(hook)
    assert len(trial.steps(TRAIN)) + hook.num_dropped_steps == 12
    for step in trial.steps(TRAIN):
        assert len(trial.tensor_names(step=step, mode=TRAIN)) == 9


def test_steps_when_memory_is_short_then_all_are_written(build, fit, make_hook, open_trial):
    """By default training waits for the writer."""
    hook = make_hook(include_collections=["weights", "gradients"], memory_limit_bytes=1)
    fit(build(), hook, validation_data=None)
    assert open_trial(hook).steps(TRAIN) == list(range(12))


def test_statistics_when_asked_for_then_are_saved(build, fit, make_hook, open_trial):
    """Statistics of layers are those of their values."""
    hook = make_hook(include_collections=["layers"], statistics=["zero_fraction"])
    fit(build(), hook, epochs=1)
    outputs = open_trial(hook).tensor("hid/outputs")
    saved = outputs.reduction_values(2, TRAIN)
    assert saved["zero_fraction", False] == pytest.approx(np.mean(outputs.value(2, TRAIN) == 0))


def test_recorder_when_loss_is_not_finite_then_last_steps_are_written(build, data, make_hook, open_trial):
    """Only the steps before the accident are on disk."""
    model = build()
    bias = model.get_layer("out").bias

    def spoil(batch, logs):
        if batch == 4:
            bias.assign([np.nan] * 3)

    callback = keras.callbacks.LambdaCallback(on_train_batch_begin=spoil)
    hook = make_hook(include_collections=["gradients"], flight_recorder=2)
    model.fit(*data, batch_size=8, shuffle=False, verbose=0, callbacks=[hook, callback])
    assert open_trial(hook).steps(TRAIN)[:2] == [3, 4]
