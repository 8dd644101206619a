"""Scripts for the Keras hook of smdebug, with the numbers of names that smdebug saves, on Keras 3."""

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from sagemaker_debug_ext.core.json_config import CONFIG_FILE_PATH_ENV_STR  # noqa: E402

import sagemaker_debug_ext.tensorflow as smd  # noqa: E402
from sagemaker_debug_ext.core.access_layer import has_training_ended  # noqa: E402
from sagemaker_debug_ext.core.collection import CollectionKeys  # noqa: E402
from sagemaker_debug_ext.core.reduction_config import ALLOWED_NORMS, ALLOWED_REDUCTIONS  # noqa: E402
from sagemaker_debug_ext.exceptions import TensorUnavailableForStep  # noqa: E402
from sagemaker_debug_ext.tensorflow import ReductionConfig, SaveConfig  # noqa: E402

ROWS = np.random.default_rng(0).random((64, 8, 8)).astype("f4")
LABELS = np.arange(64) % 10


@pytest.fixture(autouse=True)
def no_hook():
    """No hook of another test."""
    smd.del_hook()
    tf.keras.backend.clear_session()
    yield
    smd.del_hook()


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "trial")


def make_model():
    return tf.keras.models.Sequential(
        [
            tf.keras.layers.Input((8, 8)),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(16, activation="relu"),
            tf.keras.layers.Dropout(0.2),
            tf.keras.layers.Dense(10, activation="softmax"),
        ]
    )


def train_with_tape(hook, persistent=False):
    """Train as the guide of the original shows."""
    model = make_model()
    optimizer = tf.keras.optimizers.Adam()
    loss_function = tf.keras.losses.CategoricalCrossentropy(from_logits=False)
    accuracy = tf.keras.metrics.SparseCategoricalAccuracy()
    for data, labels in tf.data.Dataset.from_tensor_slices((ROWS, LABELS)).batch(8):
        with hook.wrap_tape(tf.GradientTape(persistent=persistent)) as tape:
            logits = model(data, training=True)
            loss = loss_function(tf.one_hot(labels, depth=10), logits)
        gradients = tape.gradient(loss, model.variables)
        if persistent:
            tape.gradient(loss, model.variables)
        optimizer.apply_gradients(
            [pair for pair in zip(gradients, model.variables, strict=True) if pair[0] is not None]
        )
        hook.record_tensor_value(tensor_name="accuracy", tensor_value=accuracy(labels, logits))
    hook.close()


def fit(hook, parts=("train",)):
    """Train, evaluate and predict with one compiled model."""
    model = make_model()
    optimizer = hook.wrap_optimizer(tf.keras.optimizers.Adam())
    model.compile(optimizer=optimizer, loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    for part in parts:
        if part == "train":
            model.fit(ROWS, LABELS, batch_size=8, epochs=1, callbacks=[hook], verbose=0)
        elif part == "eval":
            model.evaluate(ROWS, LABELS, batch_size=8, callbacks=[hook], verbose=0)
        else:
            model.predict(ROWS[:16], callbacks=[hook], verbose=0)
    hook.close()


def counts(trial, *collections):
    return {name: len(trial.tensor_names(collection=name)) for name in collections}


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize(("save_all", "num_names"), [(True, None), (False, 2)])
def test_tape_when_everything_or_the_default_is_saved_then_the_collections_of_the_original(
    folder, persistent, save_all, num_names
):
    """One loss and one metric; with everything also two weights and two biases."""
    hook = smd.KerasHook(out_dir=folder, save_all=save_all, save_config=SaveConfig(save_interval=3))
    train_with_tape(hook, persistent)
    trial = smd.create_trial(path=folder)
    assert counts(trial, "losses", "metrics") == {"losses": 1, "metrics": 1}
    if save_all:
        assert counts(trial, "weights", "biases", "gradients") == {"weights": 2, "biases": 2, "gradients": 4}
    else:
        assert len(trial.tensor_names()) == num_names


@pytest.mark.parametrize("loop", [train_with_tape, fit])
def test_reductions_when_set_for_the_hook_then_losses_and_metrics_keep_their_values(folder, loop):
    """Weights have every reduction, and no value."""
    hook = smd.KerasHook(
        folder,
        save_config=SaveConfig(save_interval=3),
        include_collections=[CollectionKeys.WEIGHTS, CollectionKeys.METRICS, CollectionKeys.LOSSES],
        reduction_config=ReductionConfig(norms=ALLOWED_NORMS, reductions=ALLOWED_REDUCTIONS),
    )
    loop(hook)
    trial = smd.create_trial(folder)
    weight = trial.tensor(trial.tensor_names(collection=CollectionKeys.WEIGHTS)[0])
    with pytest.raises(TensorUnavailableForStep):
        weight.value(0)
    assert weight.reduction_value(0, "l1") is not None
    assert len(weight.reduction_values(0)) == len(ALLOWED_REDUCTIONS) + len(ALLOWED_NORMS)
    for collection in (CollectionKeys.LOSSES, CollectionKeys.METRICS):
        tensor = trial.tensor(trial.tensor_names(collection=collection)[0])
        assert tensor.value(tensor.steps()[0]) is not None


@pytest.mark.parametrize("loop", [train_with_tape, fit])
def test_reductions_when_set_for_one_collection_then_others_keep_their_values(folder, loop):
    """Biases are saved as they are."""
    hook = smd.KerasHook(
        folder,
        save_config=SaveConfig(save_interval=3),
        include_collections=[CollectionKeys.WEIGHTS, CollectionKeys.BIASES],
    )
    hook.get_collection(CollectionKeys.WEIGHTS).reduction_config = ReductionConfig(norms=["l1"])
    loop(hook)
    trial = smd.create_trial(folder)
    weight = trial.tensor(trial.tensor_names(collection=CollectionKeys.WEIGHTS)[0])
    bias = trial.tensor(trial.tensor_names(collection=CollectionKeys.BIASES)[0])
    assert bias.value(0) is not None
    assert weight.reduction_value(0, "l1") is not None
    with pytest.raises(TensorUnavailableForStep):
        weight.value(0)


@pytest.mark.parametrize("loop", [train_with_tape, fit])
def test_custom_collection_when_a_pattern_selects_then_each_tensor_has_values(folder, loop):
    """Weights and gradients of the dense layers."""
    hook = smd.KerasHook(folder, save_config=SaveConfig(save_interval=4), include_collections=["custom_coll"])
    hook.get_collection("custom_coll").include("dense")
    loop(hook)
    trial = smd.create_trial(folder)
    names = trial.tensor_names(collection="custom_coll")
    assert len(names) >= 4
    assert all(trial.tensor(name).value(0) is not None for name in names)


@pytest.mark.parametrize("loop", [train_with_tape, fit])
def test_weights_when_asked_for_then_come_without_biases(folder, loop, caplog):
    """Losses and metrics are always saved, and no warning says that something is missing."""
    hook = smd.KerasHook(folder, save_config=SaveConfig(save_interval=3), include_collections=[CollectionKeys.WEIGHTS])
    loop(hook)
    trial = smd.create_trial(path=folder)
    assert counts(trial, "weights", "biases", "losses") == {"weights": 2, "biases": 0, "losses": 1}
    assert trial.tensor_names(collection="metrics")
    assert has_training_ended(folder)
    assert "not everything was saved" not in caplog.text


def test_collections_when_given_by_the_file_of_a_job_then_are_those_of_arguments(folder, tmp_path, monkeypatch):
    """`create_from_json_file` with the name of the variable from the original's module."""
    (tmp_path / "config.json").write_text(
        f'{{"LocalPath": "{folder}", "HookParameters": {{"save_interval": 3}}, '
        '"CollectionConfigurations": [{"CollectionName": "weights"}, {"CollectionName": "losses"}]}'
    )
    monkeypatch.setenv(CONFIG_FILE_PATH_ENV_STR, str(tmp_path / "config.json"))
    train_with_tape(smd.KerasHook.create_from_json_file())
    trial = smd.create_trial(path=folder)
    assert counts(trial, "weights", "biases", "losses") == {"weights": 2, "biases": 0, "losses": 1}


def test_layer_when_it_joins_a_tensor_with_itself_then_has_two_inputs_although_its_model_is_not_built(folder):
    """The first batch runs eagerly, after Keras has built the model by a trial run with the same tensors."""

    class Model(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.join = tf.keras.layers.Concatenate()
            self.dense = tf.keras.layers.Dense(2)

        def call(self, rows):
            return self.dense(self.join([rows, rows]))

    hook = smd.KerasHook(folder, save_all=True)
    model = Model()
    model.compile(optimizer="adam", loss="mse", run_eagerly=True)
    model.fit(np.ones((8, 5), "f4"), np.ones((8, 2), "f4"), batch_size=4, callbacks=[hook], verbose=0)
    hook.close()
    trial = smd.create_trial(folder)
    names = trial.tensor_names(regex="^concatenate/")
    assert {name: trial.tensor(name).shape(0) for name in names} == {
        "concatenate/inputs_0": (4, 5),
        "concatenate/inputs_1": (4, 5),
        "concatenate/outputs": (4, 10),
    }
