"""What is XGBoost's own in the files that accompany a trial, and trainings of hardly any round."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xgboost as xgb


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


def test_checkpoint_state_when_a_model_is_trained_further_then_steps_are_its_rounds(
    make_hook, train, tmp_path, monkeypatch, open_trial
):
    """A resumed job that trains a model further goes on with the model's rounds, not behind the last step."""
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
    further = make_hook("further")
    train(further, num_rounds=2, xgb_model=checkpoints / "model.ubj")
    assert open_trial(further).steps() == [3, 4]


def test_statistics_then_are_saved_of_numbers_alone(full_hook, train, open_trial):
    """Numbers have statistics, and texts have none."""
    hook = full_hook(statistics=["abs_max"])
    train(hook, num_rounds=2)
    trial = open_trial(hook)
    assert hook.failure is None
    saved = trial.tensor("predictions").reduction_values(1)
    assert saved["max", True] == np.abs(trial.tensor("predictions").value(1)).max()
    assert not trial.tensor("trees/Feature").reduction_values(1)


@pytest.mark.parametrize("num_rounds", [0, 1])
def test_short_trainings_then_trial_ends_well(make_hook, train, open_trial, num_rounds):
    """No round at all is a trial without steps."""
    hook = make_hook()
    train(hook, num_rounds=num_rounds)
    assert open_trial(hook).steps() == list(range(num_rounds))


def test_record_when_hyperparameters_are_given_then_has_them(make_hook, train, open_trial):
    """The record of the program names the parameters of the training."""
    with make_hook(hyperparameters={"eta": 0.5, "max_depth": 2}) as hook:
        train(hook, num_rounds=2)
    program = open_trial(hook).program
    assert (program.framework, program.framework_version) == ("XGBoost", xgb.__version__)
    assert program.parameters == {"eta": 0.5, "max_depth": 2}
