"""Module paths of the original lead to the same classes."""

from __future__ import annotations

import importlib
import logging
import os

import numpy as np
import pytest

import sagemaker_debug_ext
from sagemaker_debug_ext import trials
from sagemaker_debug_ext.config.collection import Collection
from sagemaker_debug_ext.core.logger import DuplicateLogFilter
from sagemaker_debug_ext.core.reader import FileReader
from sagemaker_debug_ext.core.writer import FileWriter
from sagemaker_debug_ext.errors import CorruptRecordError, SMDebugValueError
from sagemaker_debug_ext.store import job_end
from sagemaker_debug_ext.store.backends import LocalBackend
from sagemaker_debug_ext.vocabulary import ModeKeys


@pytest.mark.parametrize(
    ("module", "name", "wanted"),
    [
        ("core.collection", "Collection", Collection),
        ("core.collection", "CollectionKeys", sagemaker_debug_ext.CollectionKeys),
        ("core.save_config", "SaveConfig", sagemaker_debug_ext.SaveConfig),
        ("core.save_config", "SaveConfigMode", sagemaker_debug_ext.SaveConfigMode),
        ("core.reduction_config", "ReductionConfig", sagemaker_debug_ext.ReductionConfig),
        ("core.modes", "ModeKeys", sagemaker_debug_ext.modes),
        ("core.tensor", "StepState", trials.StepState),
        ("trials.local_trial", "LocalTrial", trials.LocalTrial),
        ("trials.s3_trial", "S3Trial", trials.S3Trial),
    ],
)
def test_module_of_the_original_when_imported_then_has_the_class(module, name, wanted):
    """Not copies: what they give compares equal to what the package itself uses."""
    assert getattr(importlib.import_module(f"sagemaker_debug_ext.{module}"), name) is wanted


def test_file_writer_when_closed_then_trial_and_file_reader_have_the_step(tmp_path):
    """What is written by hand is read through the index and without it."""
    with FileWriter(trial_dir=tmp_path, step=7, worker="worker_0") as writer:
        writer.write_tensor(np.arange(3), "a", mode=ModeKeys.TRAIN, mode_step=2)
        writer.write_tensor("text", "b", mode=ModeKeys.TRAIN, mode_step=2, timestamp=5.0)
        writer.write_shape("c", (4, 5), mode=ModeKeys.TRAIN, mode_step=2)
    job_end.write_end(LocalBackend(tmp_path))
    trial = trials.create_trial(tmp_path)
    assert trial.tensor_names() == ["a", "b", "c"]
    assert trial.tensor("a").value(2, mode=ModeKeys.TRAIN).tolist() == [0, 1, 2]
    with FileReader(writer.name()) as reader:
        found = [
            (name, step, value.tolist(), mode, within) for name, step, value, mode, within in reader.read_tensors()
        ]
    assert found == [("a", 7, [0, 1, 2], ModeKeys.TRAIN, 2), ("b", 7, ["text"], ModeKeys.TRAIN, 2)]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"mode": ModeKeys.TRAIN}, r"mode and mode_step must be ModeKeys\.EVAL and 0"),
        ({"write_index": False}, "write_index must be true"),
    ],
    ids=["another mode", "no index"],
)
def test_file_writer_when_modes_differ_within_a_step_then_refuses(tmp_path, options, match):
    """A step has one mode, and each of its entries is in the index."""
    writer = FileWriter(tmp_path, "worker_0", mode=ModeKeys.EVAL)
    writer.write_tensor(1, "a")
    writer.write_tensor(2, "b", mode=ModeKeys.EVAL)
    with pytest.raises(SMDebugValueError, match=match):
        writer.write_tensor(3, "c", **options)


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_file_reader_when_file_is_cut_off_then_gives_what_is_whole(tmp_path, cut):
    """Damage is named after the tensors before it."""
    with FileWriter(tmp_path, "worker_0") as writer:
        writer.write_tensor(np.arange(3), "a")
        writer.write_tensor(np.arange(3), "b")
    name = writer.name()
    with open(name, "rb+") as file:
        file.truncate(os.path.getsize(name) - cut)
    tensors = FileReader(name).read_tensors()
    assert next(tensors)[0] == "a"
    with pytest.raises(CorruptRecordError, match="byte"):
        next(tensors)


def test_log_filter_when_every_message_is_new_then_keeps_no_more_than_a_thousand():
    """A job that logs a text of its own at each step must not grow."""
    repeats = DuplicateLogFilter()
    records = (logging.makeLogRecord({"msg": f"loss of step {step}"}) for step in range(2500))
    assert all(repeats.filter(record) for record in records)
    assert len(repeats._num_seen) <= 1000
