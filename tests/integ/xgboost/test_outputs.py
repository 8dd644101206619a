"""What every framework's hook can do works with this one as well: accompanying files, bounded memory, the recorder."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest
import xgboost as xgb

from sagemaker_debug_ext.store.backends import LocalBackend


def test_tensorboard_then_has_metrics_and_histograms(full_hook, train, tmp_path):
    """There is a file for each saved round; texts are not shown."""
    hook = full_hook(tensorboard_dir=str(tmp_path / "board"))
    train(hook, num_rounds=3)
    hook.close()
    assert hook.failure is None
    files = sorted((tmp_path / "board" / "GLOBAL").iterdir())
    assert [int(file.name.partition("_")[0]) for file in files] == [0, 1, 2]
    content = files[0].read_bytes()
    for tag in (b"train-logloss", b"average_shap/f0", b"predictions/predictions", b"trees/trees/Gain"):
        assert tag in content
    assert b"trees/trees/Feature" not in content


def test_metrics_file_then_has_all_metrics(make_hook, train, tmp_path, monkeypatch):
    """A job's metrics are told to SageMaker, those of each saved round once."""
    monkeypatch.setenv("SAGEMAKER_METRICS_DIRECTORY", str(tmp_path / "metrics"))
    monkeypatch.setenv("TRAINING_JOB_NAME", "job")
    hook = make_hook()
    train(hook, num_rounds=3)
    hook.save_scalar("final", 1.0, sm_metric=True)
    hook.close()
    (file,) = (tmp_path / "metrics").iterdir()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    told = [(line["MetricName"], line["IterationNumber"]) for line in lines]
    assert len(told) == len(set(told))
    assert {name.partition("_GLOBAL")[0] for name, _ in told} == {"train-logloss", "validation-logloss", "scalar/final"}
    assert sum("train-logloss" in name for name, _ in told) == 3


def test_checkpoint_state_when_job_is_resumed_then_counting_goes_on(
    make_hook, train, tmp_path, monkeypatch, open_trial
):
    """A job that begins a model anew counts on behind the last step; one that trains a model further has its rounds."""
    checkpoints = tmp_path / "checkpoints"
    checkpoints.mkdir()
    (tmp_path / "checkpointconfig.json").write_text(json.dumps({"LocalPath": str(checkpoints)}))
    monkeypatch.setenv("CHECKPOINT_CONFIG_FILE_PATH", str(tmp_path / "checkpointconfig.json"))

    class Saving(xgb.callback.TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            if epoch == 2:
                model.save_model(checkpoints / "model.ubj")
            return False

    with make_hook("first") as first:
        train(first, num_rounds=5, callbacks=[Saving()])
    state = json.loads((checkpoints / "metadata.json").read_text())
    seen = state[-1]["latest-global-step-seen"]
    again = make_hook("again")
    train(again, num_rounds=2)
    assert open_trial(again).steps() == [seen + 1, seen + 2]
    further = make_hook("further")
    train(further, num_rounds=2, xgb_model=checkpoints / "model.ubj")
    assert open_trial(further).steps() == [3, 4]


class SlowBackend(LocalBackend):
    """A folder that takes nothing before it is let go."""

    def __init__(self, path):
        super().__init__(path)
        self.released = threading.Event()

    def write(self, key, parts):
        if key.startswith("events"):
            assert self.released.wait(60)
        super().write(key, parts)


def test_memory_when_full_and_steps_may_be_dropped_then_training_does_not_wait(full_hook, train, tmp_path, open_trial):
    """Rounds that there is no room for are left out, and counted."""
    backend = SlowBackend(tmp_path / "slow")
    hook = full_hook(name=backend, when_full="drop", memory_limit_bytes=10_000)

    class Releasing(xgb.callback.TrainingCallback):
        def before_iteration(self, model, epoch, evals_log):
            if epoch == 9:
                backend.released.set()
            return False

    train(hook, num_rounds=10, callbacks=[Releasing()])
    trial = open_trial(hook)
    assert hook.num_dropped_steps > 0
    assert len(trial.steps()) == 10 - hook.num_dropped_steps


def test_memory_when_limit_is_small_then_training_waits_and_nothing_is_lost(full_hook, train, open_trial):
    """A limit below one step's size lets one step through at a time."""
    hook = full_hook(memory_limit_bytes=1_000)
    train(hook, num_rounds=5)
    assert open_trial(hook).steps() == [0, 1, 2, 3, 4]


def test_statistics_then_are_saved_of_numbers(full_hook, train, open_trial):
    """Texts have none."""
    hook = full_hook(statistics=["zero_fraction", "abs_max"])
    train(hook, num_rounds=2)
    trial = open_trial(hook)
    assert hook.failure is None
    saved = trial.tensor("predictions").reduction_values(1)
    assert saved["max", True] == np.abs(trial.tensor("predictions").value(1)).max()
    assert not trial.tensor("trees/Feature").reduction_values(1)


def test_recorder_then_only_the_last_rounds_are_written(full_hook, train, open_trial):
    """And these only when they are asked for."""
    hook = full_hook(flight_recorder=3)
    train(hook, num_rounds=8)
    hook.write_recording()
    assert open_trial(hook).steps() == [4, 5, 6]


def test_recorder_when_a_loss_is_not_finite_then_writes(make_hook, train, open_trial):
    """The rounds before it are there as well."""
    hook = make_hook(include_collections=["losses"], flight_recorder=3)
    history = iter([1.0, 0.5, 0.4, float("nan"), 0.3, 0.2, 0.1])
    matrix_metric = lambda predictions, matrix: ("odd", next(history))  # noqa: E731
    train(hook, num_rounds=6, custom_metric=matrix_metric, evals=[(xgb.DMatrix([[1.0]], label=[1.0]), "train")],
          dtrain=xgb.DMatrix([[1.0], [2.0]], label=[0.0, 1.0]))  # fmt: skip
    assert open_trial(hook).steps() == [1, 2, 3]


def test_dry_run_then_nothing_but_collections_is_written(full_hook, train, open_trial):
    """Everything is computed, and no round saved."""
    hook = full_hook(dry_run=True)
    train(hook)
    trial = open_trial(hook)
    assert trial.steps() == []
    assert "predictions" in trial.collections()


@pytest.mark.parametrize("num_rounds", [0, 1])
def test_short_trainings_then_trial_ends_well(make_hook, train, open_trial, num_rounds):
    """No round at all is a trial without steps."""
    hook = make_hook()
    train(hook, num_rounds=num_rounds)
    assert open_trial(hook).steps() == list(range(num_rounds))
