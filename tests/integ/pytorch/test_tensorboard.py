"""The real TensorBoard reads what the hook writes for it."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")

import sagemaker_debug_ext.pytorch as smd

pytestmark = pytest.mark.filterwarnings("ignore")


def read(folder):
    found = accumulator.EventAccumulator(str(folder), size_guidance={"scalars": 0, "histograms": 0})
    found.Reload()
    return found


def test_tensorboard_when_a_job_ran_then_shows_its_scalars_and_histograms(make_hook, trainer, tmp_path):
    """Losses and scalars are curves, weights and gradients histograms; numbers are those of the trial."""
    hook = make_hook(include_collections=["weights", "gradients"], tensorboard_dir=str(tmp_path / "tb"))
    training = trainer(hook)
    training.train(3, after_step=lambda: hook.save_scalar("lr", 0.25))
    weight = training.model.fc.weight.detach().numpy().copy()
    training.train(1).evaluate(2)
    hook.close()
    found = read(tmp_path / "tb" / "TRAIN")
    assert found.Tags()["scalars"] == ["CrossEntropyLoss_output_0", "scalar/lr"]
    assert [event.step for event in found.Scalars("CrossEntropyLoss_output_0")] == [0, 1, 2, 3]
    assert [event.value for event in found.Scalars("scalar/lr")] == [0.25] * 3
    names = found.Tags()["histograms"]
    assert "weights/Net_fc.weight" in names
    assert "gradients/gradient/Net_conv1.weight" in names
    summaries = found.Histograms("weights/Net_fc.weight")[3].histogram_value
    assert summaries.num == weight.size == sum(summaries.bucket)
    assert (summaries.min, summaries.max) == (weight.min(), weight.max())
    assert summaries.sum == pytest.approx(float(weight.sum()), rel=1e-4, abs=1e-5)
    expected, _ = np.histogram(weight, [-np.inf, *np.nextafter(summaries.bucket_limit, np.inf)])
    np.testing.assert_allclose(summaries.bucket, expected, atol=1)
    evaluated = read(tmp_path / "tb" / "EVAL")
    assert [event.step for event in evaluated.Scalars("CrossEntropyLoss_output_0")] == [4, 5]


def test_tensorboard_when_only_reductions_are_saved_then_shows_histograms_all_the_same(make_hook, trainer, open_trial):
    """What TensorBoard shows does not depend on what the trial holds."""
    config = smd.ReductionConfig(reductions=["mean"])
    hook = make_hook(include_collections=["weights"], reduction_config=config, export_tensorboard=True)
    hook.get_collection("biases").save_histogram = False
    trainer(hook).train(2)
    trial = open_trial(hook)
    assert trial.tensor("Net_fc.weight").reduction_values(0)
    found = read(f"{hook.out_dir}/tensorboard/TRAIN")
    assert [event.step for event in found.Histograms("weights/Net_fc.weight")] == [0, 1]


def test_tensorboard_when_the_container_is_configured_then_goes_there(monkeypatch, tmp_path, trainer):
    """Inside a job the file that SageMaker puts into the container decides."""
    monkeypatch.setenv("TRAINING_JOB_NAME", "job")
    (tmp_path / "tensorboardoutputconfig.json").write_text(json.dumps({"LocalPath": str(tmp_path / "summaries")}))
    monkeypatch.setenv("TENSORBOARD_CONFIG_FILE_PATH", str(tmp_path / "tensorboardoutputconfig.json"))
    (tmp_path / "hook.json").write_text(
        json.dumps({"LocalPath": str(tmp_path / "out"), "HookParameters": {"save_interval": "1"}})
    )
    hook = smd.Hook.create_from_json_file(str(tmp_path / "hook.json"))
    trainer(hook).train(2)
    hook.close()
    assert len(read(tmp_path / "summaries" / "TRAIN").Scalars("CrossEntropyLoss_output_0")) == 2
