"""Training comes first: the model is the same with and without the hook, whatever happens inside it."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import subprocess
import sys

import numpy as np
import pytest
import xgboost as xgb

import sagemaker_debug_ext.xgboost as smd
from sagemaker_debug_ext.trials import create_trial

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}

BOOSTERS = {
    "gbtree": {},
    "sampled": {"subsample": 0.5, "colsample_bytree": 0.5},
    "dart": {"booster": "dart", "rate_drop": 0.5, "one_drop": 1},
    "gblinear": {"booster": "gblinear", "updater": "coord_descent", "feature_selector": "shuffle", "max_depth": None},
    "exact": {"tree_method": "exact"},
    "forest": {"num_parallel_tree": 3, "subsample": 0.7},
    "regression": {"objective": "reg:squarederror"},
    "absolute error": {"objective": "reg:absoluteerror", "base_score": 0.25},
}


def content(model):
    return bytes(model.save_raw("json"))


@pytest.mark.parametrize("parameters", BOOSTERS.values(), ids=BOOSTERS)
def test_model_when_everything_is_saved_in_each_round_then_is_bit_identical(full_hook, train, parameters):
    """Predictions, contributions and trees taken in the middle of training leave no trace in the model."""
    hook = full_hook()
    captured = train(hook, num_rounds=6, parameters=parameters)
    assert hook.failure is None
    assert content(captured) == content(train(num_rounds=6, parameters=parameters))


def test_model_when_data_are_those_of_training_then_is_bit_identical(full_hook, train, data):
    """Nor do predictions for the very matrix that is trained on, which XGBoost keeps predictions of."""
    hook = full_hook(validation_data=data.train)
    parameters = {"booster": "dart", "rate_drop": 0.5, "one_drop": 1}
    captured = train(hook, num_rounds=6, parameters=parameters, evals=[(data.train, "train")])
    assert content(captured) == content(train(num_rounds=6, parameters=parameters, evals=[(data.train, "train")]))


@pytest.mark.parametrize("objective", ["multi:softprob", "multi:softmax"])
def test_model_when_there_are_many_classes_then_is_bit_identical(full_hook, train, data, objective):
    """The same holds with a tree for each class."""
    parameters = {"objective": objective, "num_class": 3, "subsample": 0.8}
    hook = full_hook(train_data=data.train_classes, validation_data=data.validation_classes)
    arguments = {"parameters": parameters, "dtrain": data.train_classes, "evals": [(data.validation_classes, "test")]}
    captured = train(hook, **arguments)
    assert hook.failure is None
    assert content(captured) == content(train(**arguments))


def test_evaluation_when_captured_then_is_what_it_was(full_hook, train):
    """What XGBoost reports of each round stays the same, and the trial holds just that."""
    plain, captured = {}, {}
    train(num_rounds=5, evals_result=plain)
    hook = full_hook()
    train(hook, num_rounds=5, evals_result=captured)
    assert captured == plain
    values = create_trial(hook.out_dir).tensor("validation-logloss").values()
    assert [value.tolist() for value in values.values()] == [[value] for value in plain["validation"]["logloss"]]


# --- failures ---------------------------------------------------------------------------------------------------------


class Unknown(xgb.Booster):
    """A model that describes itself in a way that nobody knows."""

    def save_config(self):
        return "{}"


def test_failure_when_a_model_is_not_understood_then_training_goes_on(make_hook, data, caplog):
    """A version to come may tell of models in another way; unless the hook is strict, that ends capture only."""
    model = Unknown({}, [data.train])
    hook = make_hook(strict=False)
    assert hook.before_training(model) is model
    assert isinstance(hook.failure, KeyError)
    assert "training goes on" in caplog.text
    assert hook.after_training(model) is model
    with pytest.raises(KeyError):
        make_hook("strict").before_training(model)


def test_error_of_another_callback_when_raised_then_what_was_saved_is_there(full_hook, train):
    """Training that breaks elsewhere leaves its rounds, and the hook can be used for the next."""

    class Failing(xgb.callback.TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            if epoch == 2:
                raise ValueError("the script's own")
            return False

    hook = full_hook()
    with pytest.raises(ValueError, match="the script's own"):
        train(hook, callbacks=[Failing()])
    train(hook, num_rounds=2)
    hook.close()
    # The third round was not over, but of it the hook may have been told first.
    assert create_trial(hook.out_dir).steps() in ([0, 1, 2, 3], [0, 1, 2, 3, 4])


# --- steps ------------------------------------------------------------------------------------------------------------


def test_steps_when_training_is_over_then_all_rounds_can_be_read_before_close(full_hook, train):
    """A script may look at the trial as soon as training returns."""
    hook = full_hook()
    train(hook, num_rounds=3)
    trial = create_trial(hook.out_dir)
    assert trial.steps() == [0, 1, 2]
    assert not trial.loaded_all_steps


def test_scalar_when_saved_after_training_then_joins_the_last_round(full_hook, train, open_trial):
    """The last round is written anew with it, and loses nothing."""
    hook = full_hook(export_tensorboard=True)
    train(hook, num_rounds=3)
    before = create_trial(hook.out_dir).tensor_names(step=2)
    hook.save_scalar("test-auc", 0.9)
    trial = open_trial(hook)
    assert trial.steps() == [0, 1, 2]
    assert trial.tensor_names(step=2) == sorted([*before, "scalar/test-auc"])
    assert trial.tensor("scalar/test-auc").value(2) == 0.9


@pytest.mark.parametrize("is_first", [False, True])
def test_scalar_when_saved_by_a_callback_then_belongs_to_its_round(make_hook, train, open_trial, is_first):
    """Whether the callback runs before the hook or after it, what it saves belongs to the round that is over."""
    hook = make_hook(include_regex=["mine"])

    class Telling(xgb.callback.TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            hook.save_scalar("epoch", epoch)
            hook.save_tensor("mine", np.arange(epoch + 1))
            return False

    train(None, callbacks=[Telling(), hook] if is_first else [hook, Telling()])
    trial = open_trial(hook)
    assert {step: int(value[0]) for step, value in trial.tensor("scalar/epoch").values().items()} == {
        0: 0, 1: 1, 2: 2, 3: 3,
    }  # fmt: skip
    assert [len(value) for value in trial.tensor("mine").values().values()] == [1, 2, 3, 4]


@pytest.mark.parametrize("save_best", [False, True])
@pytest.mark.parametrize("position", ["argument", "before", "after"])
def test_early_stopping_when_it_ends_training_then_last_round_is_saved(
    full_hook, train, open_trial, position, save_best
):
    """The round in which training stops is captured, wherever early stopping stands among the callbacks."""
    hook, history = full_hook(), {}
    stopping = xgb.callback.EarlyStopping(rounds=2, save_best=save_best)
    parameters = {"eta": 1.5, "max_depth": 6, "lambda": 0}
    if position == "argument":
        train(hook, 50, parameters, early_stopping_rounds=2, evals_result=history)
    elif position == "before":
        train(hook, 50, parameters, callbacks=[stopping], evals_result=history)
    else:
        train(None, 50, parameters, callbacks=[hook, stopping], evals_result=history)
    num_rounds = len(history["validation"]["logloss"])
    assert 2 < num_rounds < 50
    trial = open_trial(hook)
    assert hook.failure is None
    assert trial.steps() == list(range(num_rounds))
    losses = trial.tensor("validation-logloss").values().values()
    assert [float(value[0]) for value in losses] == history["validation"]["logloss"]


def test_steps_when_a_model_is_trained_further_then_are_the_rounds_of_the_model(full_hook, train, open_trial):
    """A new job that begins with a model of four rounds saves rounds 4 to 6, and numbers trees as the model does."""
    model = train(num_rounds=4)
    hook = full_hook()
    continued = train(hook, num_rounds=3, xgb_model=model)
    trial = open_trial(hook)
    assert trial.steps() == [4, 5, 6]
    assert {number for step in trial.steps() for number in trial.tensor("trees/Tree").value(step)} == {4, 5, 6}
    assert content(continued) == content(train(num_rounds=3, xgb_model=model))


KILLED = """
import os, sys
import xgboost as xgb
import sagemaker_debug_ext.xgboost as smd

class Killing(xgb.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        if epoch == 3:
            model.save_model(sys.argv[2])
        if epoch == 6:
            hook._dispatcher.output.flush()
            os._exit(9)
        return False

hook = smd.Hook(sys.argv[1], save_config={"save_interval": 1}, include_collections=["trees"])
matrix = xgb.DMatrix([[number / 9] for number in range(40)], label=[number % 3 // 2 for number in range(40)])
xgb.train({"max_depth": 3}, matrix, 50, evals=[(matrix, "train")], callbacks=[hook, Killing()])
"""


def test_steps_when_a_killed_job_is_resumed_then_lost_rounds_are_made_again(make_hook, tmp_path, open_trial):
    """Rounds behind the checkpoint are written anew under their own numbers."""
    checkpoint = tmp_path / "checkpoint.ubj"
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "out"), str(checkpoint)], check=False, env=ENVIRONMENT
    )
    assert killed.returncode == 9
    assert create_trial(str(tmp_path / "out")).steps()[-1] == 5
    hook = make_hook(include_collections=["trees"])
    matrix = xgb.DMatrix([[number / 9] for number in range(40)], label=[number % 3 // 2 for number in range(40)])
    xgb.train({"max_depth": 3}, matrix, 4, evals=[(matrix, "train")], callbacks=[hook], xgb_model=checkpoint)
    trial = open_trial(hook)
    assert trial.steps() == list(range(8))
    assert [trial.tensor("trees/Tree").value(step)[0] for step in trial.steps()] == list(range(8))


TERMINATED = """
import os, signal, sys
import xgboost as xgb
import sagemaker_debug_ext.xgboost as smd

class Terminating(xgb.callback.TrainingCallback):
    def before_iteration(self, model, epoch, evals_log):
        if epoch == 4:
            os.kill(os.getpid(), signal.SIGTERM)
        return False

hook = smd.Hook(sys.argv[1], save_config={"save_interval": 1}, include_collections=["trees"])
matrix = xgb.DMatrix([[number / 9] for number in range(40)], label=[number % 3 // 2 for number in range(40)])
xgb.train({"max_depth": 3}, matrix, 50, evals=[(matrix, "train")], callbacks=[hook, Terminating()])
"""


def test_steps_when_job_is_terminated_then_all_finished_rounds_are_there(tmp_path):
    """On a spot instance the platform says so; the trial ends with what was trained."""
    report = subprocess.run([sys.executable, "-c", TERMINATED, str(tmp_path / "out")], check=False, env=ENVIRONMENT)
    assert report.returncode == -signal.SIGTERM
    trial = create_trial(str(tmp_path / "out"))
    assert trial.steps() == [0, 1, 2, 3]
    assert trial.loaded_all_steps


def test_steps_when_a_callback_ends_training_between_rounds_then_none_is_lost(make_hook, train, open_trial):
    """A round that began and was not trained leaves its number to the next training."""

    class Ending(xgb.callback.TrainingCallback):
        def before_iteration(self, model, epoch, evals_log):
            return epoch == 2

    hook = make_hook()
    train(None, callbacks=[hook, Ending()])
    train(hook, num_rounds=2)
    assert open_trial(hook).steps() == [0, 1, 2, 3]


def test_steps_when_one_hook_sees_two_trainings_then_count_on(full_hook, train, open_trial):
    """The rounds of the second follow those of the first."""
    hook = full_hook()
    train(hook, num_rounds=3)
    train(hook, num_rounds=2)
    assert open_trial(hook).steps() == [0, 1, 2, 3, 4]


@pytest.mark.filterwarnings("ignore:(?s).*manually specified the .updater")  # XGBoost's, whenever that is so
def test_steps_when_leaves_are_refreshed_then_are_the_rounds_refreshed(full_hook, train, open_trial):
    """Updating a model goes through its rounds from the first."""
    model = train(num_rounds=4)
    hook = full_hook()
    update = {"process_type": "update", "updater": "refresh", "refresh_leaf": 1}
    train(hook, num_rounds=3, parameters=update, xgb_model=model)
    trial = open_trial(hook)
    assert trial.steps() == [0, 1, 2]
    assert [set(trial.tensor("trees/Tree").value(step).tolist()) for step in trial.steps()] == [{0}, {1}, {2}]


def test_mode_when_script_sets_it_then_steps_have_it(make_hook, train, open_trial):
    """Without a word of the script rounds have no mode."""
    hook = make_hook()
    hook.set_mode(smd.modes.TRAIN)
    train(hook, num_rounds=2)
    assert open_trial(hook).steps(smd.modes.TRAIN) == [0, 1]


# --- the hook as an object --------------------------------------------------------------------------------------------


def test_hook_when_copied_then_is_itself_and_when_pickled_then_does_nothing(make_hook, train):
    """scikit-learn copies callbacks, and scripts pickle estimators."""
    hook = make_hook()
    assert copy.copy(hook) is hook
    assert copy.deepcopy([hook]) == [hook]
    restored = pickle.loads(pickle.dumps(hook))
    assert type(restored) is xgb.callback.TrainingCallback
    assert content(train(restored)) == content(train())


def test_hook_when_given_twice_then_captures_once(make_hook, train, open_trial):
    """Each round is one step."""
    hook = make_hook()
    train(None, num_rounds=3, callbacks=[hook, hook])
    assert open_trial(hook).steps() == [0, 1, 2]
