"""The hook of Keras keeps the promises of all hooks."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import ClassVar

import tensorflow as tf

from contracts.hooks import HookContract
from sagemaker_debug_ext.hooks.keras.recording import Recording
from support.keras_training import Trainer
from support.tensorboard import Board

LAYERS = ("hid", "out")
PATHS = [f"{layer}/{kind}" for layer in LAYERS for kind in ("kernel", "bias")]


class TestKerasHook(HookContract):
    """A network that `fit` trains."""

    trainer = Trainer
    loss = "loss"
    array = "gradients/hid/kernelGrad"
    curves = metrics = frozenset({"loss", "accuracy", "batch"})
    histograms: ClassVar = {
        **{f"{layer}/weights/{layer}/kernel:0": f"weights/{layer}/weights/{layer}/kernel_0" for layer in LAYERS},
        **{f"gradients/{path}Grad": f"gradients/gradients/{path}Grad" for path in PATHS},
    }
    observed: ClassVar = {"include_collections": ["layers"]}
    observed_array = "hid/outputs"
    knows_end_of_step = True

    def break_capture(self, monkeypatch):
        monkeypatch.setattr(Recording, "tensors", self.fail)

    @staticmethod
    def read_board(folder):
        """TensorFlow's own reader."""
        scalars, histograms = defaultdict(dict), defaultdict(dict)
        for path in tf.io.gfile.glob(f"{folder}/*"):
            for event in tf.compat.v1.train.summary_iterator(path):
                for value in event.summary.value:
                    if value.HasField("histo"):
                        histograms[value.tag][event.step] = value.histo.num
                    else:
                        scalars[value.tag][event.step] = value.simple_value
        return Board(scalars, histograms)

    def test_metrics_file_when_model_is_validated_then_has_losses_of_validation(
        self, build, fit, make_hook, monkeypatch, tmp_path
    ):
        """SageMaker is told what Keras computes of the validation data."""
        monkeypatch.setenv("SAGEMAKER_METRICS_DIRECTORY", str(tmp_path / "metrics"))
        monkeypatch.setenv("TRAINING_JOB_NAME", "job")
        hook = make_hook()
        fit(build(), hook)
        hook.close()
        (path,) = (tmp_path / "metrics").iterdir()
        names = [json.loads(line)["MetricName"] for line in path.read_text().splitlines()]
        assert {"loss_TRAIN", "accuracy_TRAIN", "val_loss_EVAL"} <= set(names)
