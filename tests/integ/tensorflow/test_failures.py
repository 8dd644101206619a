"""What is wrong is said before training starts; what goes wrong later does not stop training."""

from __future__ import annotations

import logging
import signal

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

import sagemaker_debug_ext.tensorflow as smd  # noqa: E402
from sagemaker_debug_ext.errors import (  # noqa: E402
    SMDebugNotImplementedError,
    SMDebugTypeError,
    SMDebugValueError,
)
from sagemaker_debug_ext.trials import create_trial  # noqa: E402


def weights(model):
    return [weight.tobytes() for weight in model.get_weights()]


def test_callbacks_when_hook_is_among_them_twice_then_error_before_training(build, data, make_hook):
    """A hook that would count every batch twice is refused."""
    model, hook = build(), make_hook()
    before = weights(model)
    with pytest.raises(SMDebugValueError, match="once"):
        model.fit(*data, verbose=0, callbacks=[hook, hook])
    assert weights(model) == before
    model.fit(*data, verbose=0, callbacks=[hook])
    model.fit(*data, verbose=0, callbacks=[hook])


def test_callbacks_when_hook_is_closed_then_one_warning_says_that_nothing_is_saved(build, data, make_hook, caplog):
    """Training goes on, without a hook, for all runs that follow."""
    model, hook = build(), make_hook()
    hook.close()
    caplog.clear()
    for _ in range(2):
        model.fit(*data, verbose=0, callbacks=[hook])
    assert caplog.messages == [f"on_train_begin() does nothing: the hook for {hook.out_dir!r} is closed"]


@pytest.mark.parametrize("model", [None, object(), "model"])
def test_model_when_it_is_none_of_keras_then_error(model, make_hook):
    """Models of another library, or of an older Keras, are refused when they are registered."""
    with pytest.raises(SMDebugTypeError, match=r"keras\.Model"):
        make_hook().register_model(model)
    if model is not None:
        with pytest.raises(SMDebugTypeError, match=r"keras\.Model"):
            keras.callbacks.CallbackList([make_hook("other")], model=model)


def test_arguments_when_they_are_of_another_kind_then_error(make_hook):
    """Tapes, optimizers and layers are checked where they are given."""
    hook = make_hook()
    with pytest.raises(SMDebugTypeError, match="GradientTape"):
        hook.wrap_tape(open)
    with pytest.raises(SMDebugTypeError, match="Optimizer"):
        hook.wrap_optimizer("adam")
    with pytest.raises(SMDebugTypeError, match="Layer"):
        hook.get_collection("mine").add_keras_layer("dense")


def test_collection_when_given_what_cannot_be_added_then_warns(make_hook, caplog):
    """As ever, other objects are left out with a warning."""
    hook = make_hook()
    with caplog.at_level(logging.WARNING):
        hook.get_collection("mine").add([np.zeros(3)])
    assert "ndarray cannot be added" in caplog.text


@pytest.mark.parametrize("kind", [smd.SessionHook, smd.EstimatorHook])
def test_sessions_when_asked_for_then_error_says_what_to_use(kind, tmp_path):
    """What TensorFlow has given up is refused by name."""
    for make in (lambda: kind(tmp_path), kind.create_from_json_file):
        with pytest.raises(SMDebugNotImplementedError, match="KerasHook"):
            make()


def test_get_hook_when_type_is_unknown_or_gone_then_error(make_hook):
    """Misspelt types are told the nearest one."""
    hook = make_hook()
    assert smd.get_hook() is hook
    assert smd.get_hook(hook_type="keras", create_if_not_exists=True) is hook
    with pytest.raises(SMDebugValueError, match="did you mean 'keras'"):
        smd.get_hook("kers")
    with pytest.raises(SMDebugNotImplementedError):
        smd.get_hook("session")
    smd.set_hook(hook)
    smd.del_hook()
    assert smd.get_hook("keras") is None
    with pytest.raises(SMDebugTypeError):
        smd.set_hook("hook")


def test_failure_when_it_is_of_the_script_then_is_raised_and_the_model_is_usable(build, data, make_hook, open_trial):
    """An error of another callback or of the data is the script's own; the hook goes on with the next run."""
    hook = make_hook(include_collections=["gradients"])
    model = build()

    def stop(batch, logs):
        if batch == 2:
            raise ZeroDivisionError

    callback = keras.callbacks.LambdaCallback(on_train_batch_end=stop)
    with pytest.raises(ZeroDivisionError):
        model.fit(*data, batch_size=8, verbose=0, callbacks=[hook, callback])
    with pytest.raises(tf.errors.InvalidArgumentError):
        model.fit(data[0], data[1] + 7, batch_size=8, verbose=0, callbacks=[hook])
    model.fit(*data, batch_size=24, verbose=0, callbacks=[hook])
    trial = open_trial(hook)
    assert trial.steps(smd.modes.TRAIN) == [0, 1, 2, 3, 4]
    assert hook.failure is None


KILLED = """
import os, signal, sys
import keras
import numpy as np
import sagemaker_debug_ext.tensorflow as smd

class Layer(keras.layers.Layer):
    calls = 0
    def call(self, inputs):
        Layer.calls += 1
        if Layer.calls == 4:  # the first one builds the model
            os.kill(os.getpid(), signal.SIGTERM)
        return inputs

hook = smd.KerasHook(sys.argv[1], save_config=smd.SaveConfig(save_interval=1), include_collections=["gradients"])
model = keras.Sequential([Layer(), keras.layers.Dense(1)])
model.compile("sgd", "mse", run_eagerly=True)
model.fit(np.ones((32, 2), "float32"), np.ones(32), batch_size=4, verbose=0, callbacks=[hook])
"""


def test_steps_when_sigterm_comes_inside_a_step_then_complete_ones_are_written(tmp_path, forks):
    """SIGTERM in the middle of a step leaves all the steps that had ended."""
    (tmp_path / "train.py").write_text(KILLED)
    assert forks.run_python(tmp_path / "train.py", tmp_path / "out").returncode == -signal.SIGTERM
    assert create_trial(str(tmp_path / "out")).steps(smd.modes.TRAIN) == [0, 1]
