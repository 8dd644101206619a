"""The same model, trained with the same configuration, leaves a trial of the same structure as the original's hook."""

from __future__ import annotations

import pytest

tf = pytest.importorskip("tensorflow")

import sagemaker_debug_ext.tensorflow as smd  # noqa: E402

NOT_ANY_MORE = {
    "Adam/decay:0": "Keras 3 has schedules in its place",
    "val_batch": "the number of a batch is no number of an epoch",
}
"""What the original saved and this package does not, and why."""

NEW = {
    "Adam/hid/bias/momentum:0",
    "Adam/hid/bias/velocity:0",
    "Adam/hid/kernel/momentum:0",
    "Adam/hid/kernel/velocity:0",
    "Adam/out/bias/momentum:0",
    "Adam/out/bias/velocity:0",
    "Adam/out/kernel/momentum:0",
    "Adam/out/kernel/velocity:0",
}
"""What the original did not save: the state that the optimizer keeps for each variable."""


OTHER_PATTERNS = {"^(?!gradient).*bias": "^(?!gradient).*bias[^/]*$"}
"""Patterns that differ, so that what the optimizer keeps for a bias is none."""


def run_keras(make_hook, build, fit, data):
    hook = make_hook(
        save_config=smd.SaveConfig(save_interval=3),
        include_collections=["weights", "biases", "losses", "metrics", "optimizer_variables"],
    )
    model = build()
    fit(model, hook)
    model.predict(data[0][:8], verbose=0, callbacks=[hook])
    return hook


def run_tape(make_hook, build, data):
    hook = make_hook(
        save_config=smd.SaveConfig(save_interval=3),
        include_collections=["weights", "biases", "gradients", "losses"],
    )
    model = build()
    loss_function = tf.keras.losses.SparseCategoricalCrossentropy()
    for x, y in tf.data.Dataset.from_tensor_slices(data).repeat(2).batch(8).take(8):
        with hook.wrap_tape(tf.GradientTape()) as tape:
            loss = loss_function(y, model(x, training=True))
            hook.save_tensor("mean_loss", loss, collections_to_write="losses")
        gradients = tape.gradient(loss, model.trainable_variables)
        model.optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return hook


@pytest.fixture(params=["keras", "keras_tape"])
def pair(request, make_hook, build, fit, data, golden, open_trial):
    """Our trial and what the original's reader said of its own."""
    hook = run_keras(make_hook, build, fit, data) if request.param == "keras" else run_tape(make_hook, build, data)
    return open_trial(hook), golden(request.param)


def test_structure_when_model_is_the_same_then_names_and_steps_are(pair):
    """Which tensors exist at which steps is the original's, but for what is listed above."""
    trial, expected = pair
    names = set(trial.tensor_names())
    is_fit = "batch" in expected["tensor_names"]
    assert names - set(expected["tensor_names"]) == (NEW if is_fit else set())
    assert set(expected["tensor_names"]) - names == (set(NOT_ANY_MORE) if is_fit else set())
    assert trial.workers() == expected["workers"]
    assert sorted(mode.name for mode in trial.modes()) == sorted(expected["modes"])
    for mode in smd.modes:
        assert trial.steps(mode) == expected["steps"].get(mode.name, []), mode
    for name in names & set(expected["tensor_names"]):
        for mode in smd.modes:
            assert trial.tensor(name).steps(mode) == expected["tensors"][name]["steps"].get(mode.name, []), (name, mode)


def test_structure_when_model_is_the_same_then_shapes_and_dtypes_are(pair):
    """Values have the shapes of the original's, and its dtypes."""
    trial, expected = pair
    for name in set(trial.tensor_names()) & set(expected["tensor_names"]):
        for entry in expected["tensors"][name]["entries"]:
            value = trial.tensor(name).value(entry["step"], smd.modes[entry["mode"]])
            assert list(value.shape) == entry["value"]["shape"], (name, entry)
            assert value.dtype.name == entry["value"]["dtype"], (name, entry)


def test_structure_when_model_is_the_same_then_collections_are(pair):
    """Collections agree in members, patterns and settings; those saved late are listed as well."""
    trial, expected = pair
    collections = trial.collections()
    assert sorted(collections) == sorted(expected["collections"])
    known = set(expected["tensor_names"])
    for name, wanted in expected["collections"].items():
        found = collections[name].to_json_dict()
        for key in ("save_config", "reduction_config", "save_histogram"):
            assert found[key] == wanted[key], (name, key)
        assert found["include_regex"] == [
            OTHER_PATTERNS.get(pattern, pattern) for pattern in wanted["include_regex"]
        ], name
        members = set(found["tensor_names"]) - NEW - {"val_accuracy", "val_loss"}
        assert members == (set(wanted["tensor_names_in_file"]) & known) - set(NOT_ANY_MORE), name
