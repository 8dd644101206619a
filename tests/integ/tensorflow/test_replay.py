"""Tensors of layers are computed beside the graph that trains, so that they never change how it rounds."""

from __future__ import annotations

import logging

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

from sagemaker_debug_ext.hooks.keras.replay import Replay  # noqa: E402

COLLECTIONS = ["weights", "biases", "gradients", "layers", "inputs", "outputs", "optimizer_variables"]


def fused():
    """Make a model whose layers TensorFlow fuses with the activations that follow, unless their outputs are wanted."""
    layers = keras.layers
    return keras.Sequential(
        [
            keras.Input((1,)),
            layers.Dense(5),
            layers.Activation("sigmoid"),
            layers.Dropout(0.2, name="drop"),
            layers.BatchNormalization(),
            layers.Dense(1),
            layers.Activation("sigmoid"),
        ]
    )


def train(make_model, hook=None, **settings):
    """Train on a quantity and evaluate; return the digests of all variables, and the history."""
    keras.utils.set_random_seed(7)
    model = make_model()
    model.compile("sgd", "mse", **settings)
    x = np.linspace(-10, 10, 150, dtype="float32")[:, None]
    history = model.fit(
        x, x**2 + 3, epochs=12, batch_size=64, validation_split=0.2, verbose=0, callbacks=[hook] if hook else []
    )
    return [
        np.asarray(variable).tobytes() for variable in (*model.variables, *model.optimizer.variables)
    ], history.history


@pytest.mark.parametrize("settings", [{}, {"jit_compile": True}, {"steps_per_execution": 2}, {"run_eagerly": True}])
def test_training_when_layers_are_fused_then_is_bit_identical_with_everything(settings, make_hook):
    """Seeds, moving means, optimizer variables, losses and metrics are those of training without the hook."""
    assert train(fused, make_hook(save_all=True), **settings) == train(fused, **settings)


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_training_when_one_collection_is_saved_then_is_bit_identical(collection, make_hook):
    """No collection by itself changes the result either."""
    assert train(fused, make_hook(include_collections=[collection])) == train(fused)


def test_tensors_when_replayed_then_are_those_of_the_step(make_hook, open_trial):
    """What a layer gives out is computed from the weights before the update, with the mask of the step."""
    hook = make_hook(save_all=True)
    train(fused, hook)
    trial = open_trial(hook)
    masks = [trial.tensor("drop/outputs").value(step) == 0 for step in (0, 1)]
    assert 0 < masks[0].mean() < 0.5
    assert not np.array_equal(*masks)
    predictions, labels = (trial.tensor(name).value(0) for name in ("predictions", "labels"))
    np.testing.assert_allclose(trial.tensor("loss").value(0), np.mean((predictions - labels) ** 2), rtol=1e-5)


class Adversaries(keras.Model):
    """Two optimizers, where the second loss is computed after the first update."""

    def __init__(self, effect=lambda loss: loss):
        super().__init__()
        self.one, self.two = keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(1)
        self.second = keras.optimizers.SGD(0.01)
        self.effect = effect

    def call(self, inputs):
        return self.two(self.one(inputs))

    def train_step(self, data):
        x, y = data
        for optimizer, layer in ((self.optimizer, self.one), (self.second, self.two)):
            with tf.GradientTape() as tape:
                loss = self.effect(tf.reduce_mean((self(x, training=True) - y[:, :1]) ** 2))
            weights = layer.trainable_weights
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return {"loss": loss}


def test_training_when_a_step_has_two_updates_then_is_bit_identical(make_hook, open_trial):
    """Updates that a replay needs are undone after it."""
    hook = make_hook(save_all=True)
    assert train(Adversaries, hook, jit_compile=False) == train(Adversaries, jit_compile=False)
    assert len(open_trial(hook).tensor_names(collection="gradients")) == 4


def test_training_when_a_step_has_effects_then_they_take_place_once_and_the_hook_says_so(make_hook, open_trial, caplog):
    """A step that calls Python is not run twice; its tensors come from the graph that trains."""
    seen = []

    def note(loss):
        seen.append(float(loss))
        return loss

    def make_model():
        return Adversaries(lambda loss: tf.ensure_shape(tf.py_function(note, [loss], tf.float32), ()))

    train(make_model, jit_compile=False)
    expected = list(seen)
    seen.clear()
    hook = make_hook(save_all=True)
    with caplog.at_level(logging.WARNING):
        train(make_model, hook, jit_compile=False)
    assert len(seen) == len(expected)
    assert "EagerPyFunc" in caplog.text
    assert len(open_trial(hook).tensor_names(collection="gradients")) == 4


def test_batches_when_alike_then_share_one_graph():
    """Arrays, as of `train_on_batch`, are no new graph at each step; batches with weights have a graph of their own."""
    num_graphs = 0

    def record(data):
        nonlocal num_graphs
        num_graphs += 1
        return {"twice": data[0] * 2}

    replay = Replay(record)
    for size, weights, expected in [(4, None, 1), (4, None, 1), (4, 1, 2), (3, None, 3), (2, None, 3), (4, 1, 3)]:
        batch = np.arange(size, dtype="float32")
        given = (batch, batch, None if weights is None else batch)
        assert replay(given)["twice"].numpy().tolist() == (batch * 2).tolist()
        assert num_graphs == expected
    assert replay((batch, batch))["twice"].numpy().tolist() == (batch * 2).tolist()
