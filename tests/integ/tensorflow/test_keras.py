"""What the hook captures of `fit`, `evaluate` and `predict`, and that training is none the wiser."""

from __future__ import annotations

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

import sagemaker_debug_ext.tensorflow as smd  # noqa: E402
from sagemaker_debug_ext.trials import create_trial  # noqa: E402

EVERYTHING = ["weights", "biases", "gradients", "layers", "inputs", "outputs", "optimizer_variables"]
TRAIN, EVAL, PREDICT = smd.modes.TRAIN, smd.modes.EVAL, smd.modes.PREDICT
WAYS = {"graph": {}, "compiled": {"jit_compile": True}, "eager": {"run_eagerly": True}}


def assert_same(model, other):
    for left, right in zip(model.get_weights(), other.get_weights(), strict=True):
        assert left.tobytes() == right.tobytes()


def assert_same_histories(history, other):
    assert history.history == other.history


class Snapshots(keras.callbacks.Callback):
    """What the weights are after each training step."""

    def __init__(self):
        super().__init__()
        self.weights = []

    def on_train_batch_end(self, batch, logs=None):
        self.weights.append([np.array(weight) for weight in self.model.get_weights()])


@pytest.mark.parametrize("way", WAYS)
def test_training_when_everything_is_saved_then_is_bit_identical(way, build, fit, make_hook, open_trial, data):
    """Weights and history are those of training without the hook, and all collections are filled in all modes."""
    plain = build(**WAYS[way])
    history = fit(plain)
    model = build(**WAYS[way])
    hook = make_hook(include_collections=EVERYTHING, save_config=smd.SaveConfig(save_interval=2))
    assert_same_histories(fit(model, hook), history)
    assert_same(model, plain)
    expected = plain.predict(data[0][:8], verbose=0)
    assert model.predict(data[0][:8], verbose=0, callbacks=[hook]).tobytes() == expected.tobytes()
    trial = open_trial(hook)
    assert trial.steps(TRAIN) == [0, 2, 4, 6, 8, 10]
    assert trial.steps(PREDICT) == [0]
    assert trial.tensor_names(collection="weights") == ["hid/weights/hid/kernel:0", "out/weights/out/kernel:0"]
    assert trial.tensor_names(collection="biases") == ["hid/weights/hid/bias:0", "out/weights/out/bias:0"]
    paths = ("hid/bias", "hid/kernel", "out/bias", "out/kernel")
    assert trial.tensor_names(collection="gradients") == [f"gradients/{path}Grad" for path in paths]
    assert trial.tensor_names(collection="layers") == ["hid/inputs", "hid/outputs", "out/inputs", "out/outputs"]
    assert trial.tensor_names(collection="inputs") == ["inputs"]
    assert trial.tensor_names(collection="outputs") == ["labels", "predictions"]
    assert trial.tensor_names(collection="losses") == ["loss", "val_loss"]
    assert trial.tensor_names(collection="metrics") == ["accuracy", "batch", "val_accuracy"]
    assert "Adam/hid/kernel/momentum:0" in trial.tensor_names(collection="optimizer_variables")
    assert trial.tensor("hid/outputs").steps(EVAL) == trial.tensor("predictions").steps(EVAL) == [0, 2]
    assert trial.tensor("gradients/hid/kernelGrad").steps(EVAL) == []
    np.testing.assert_array_equal(trial.tensor("predictions").value(0, PREDICT), expected)
    np.testing.assert_array_equal(trial.tensor("inputs").value(0, TRAIN), data[0][:8])
    np.testing.assert_array_equal(trial.tensor("labels").value(0, TRAIN).reshape(-1), data[1][:8])


def layered(kind):
    """Make models of layers that have state, draw random numbers, or hold further layers."""
    layers = keras.layers
    if kind == "images":
        return keras.Sequential(
            [
                keras.Input((6,)),
                layers.Reshape((3, 2, 1)),
                layers.Conv2D(4, 2, padding="same", activation="relu"),
                layers.BatchNormalization(),
                layers.Dropout(0.3),
                layers.Flatten(),
                layers.Dense(3, activation="softmax"),
            ]
        )
    inputs = keras.Input((6,))
    hidden = layers.Dense(8)(layers.Reshape((6, 1))(inputs))
    hidden = layers.LayerNormalization()(
        hidden + layers.MultiHeadAttention(2, 4, dropout=0.1, name="mha")(hidden, hidden)
    )
    hidden = layers.LSTM(4)(hidden)
    return keras.Model(inputs, layers.Dense(3, activation="softmax")(hidden))


@pytest.mark.parametrize("kind", ["images", "sequences"])
def test_training_when_layers_are_of_all_kinds_then_is_bit_identical(kind, fit, make_hook, open_trial):
    """State, random numbers and compiled code come out the same; a step in two is captured."""

    def train(hook=None):
        keras.utils.set_random_seed(2)
        model = layered(kind)
        model.compile(keras.optimizers.AdamW(0.01, clipnorm=1.0), "sparse_categorical_crossentropy", jit_compile="auto")
        return model, fit(model, hook)

    plain, history = train()
    hook = make_hook(save_all=True, save_config=smd.SaveConfig(save_interval=2))
    model, captured_history = train(hook)
    assert_same(model, plain)
    assert_same_histories(captured_history, history)
    names = open_trial(hook).tensor_names()
    assert len(names) > 40
    if kind == "sequences":
        assert {"mha/query/outputs", "gradients/mha/query/kernelGrad", "mha/weights/mha/query/kernel:0"} <= set(names)


class Unusual(keras.Model):
    """Two optimizers, noise that the graph draws itself, and logs within logs."""

    def __init__(self):
        super().__init__()
        self.hid = keras.layers.Dense(5, activation="relu", name="hid")
        self.out = keras.layers.Dense(3, activation="softmax", name="out")
        self.second = keras.optimizers.SGD(0.1)

    def call(self, inputs):
        return self.out(self.hid(inputs))

    def train_step(self, data):
        x, y = data
        x = x + 0.1 * tf.random.normal(tf.shape(x))
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x, y, self(x, training=True))
        weights = self.trainable_weights
        gradients = tape.gradient(loss, weights)
        self.optimizer.apply_gradients(zip(gradients[:2], weights[:2], strict=True))
        self.second.apply_gradients(zip(gradients[2:], weights[2:], strict=True))
        return {"loss": loss, "more": {"double": 2 * loss}}


@pytest.mark.parametrize("start", [0, 3])
def test_training_when_step_is_custom_then_is_bit_identical(start, fit, make_hook, open_trial):
    """A train_step of the model's own is captured, and its random numbers are the same, whenever saving begins."""

    def train(hook=None):
        keras.utils.set_random_seed(2)
        model = Unusual()
        model.compile("adam", "sparse_categorical_crossentropy", jit_compile=False)
        return model, fit(model, hook, validation_data=None)

    plain, history = train()
    config = smd.SaveConfig(save_interval=3, start_step=start)
    hook = make_hook(include_collections=EVERYTHING, save_config=config)
    model, captured_history = train(hook)
    assert_same(model, plain)
    assert_same_histories(captured_history, history)
    trial = open_trial(hook)
    gradients = trial.tensor_names(collection="gradients")
    assert [name.rpartition("/")[0].rpartition("/")[2] for name in gradients] == ["hid", "hid", "out", "out"]
    assert trial.tensor(gradients[0]).steps(TRAIN) == [step for step in (0, 3, 6, 9) if step >= start]
    assert {"double", "Adam/iter:0", "SGD/iter:0", "hid/outputs", "predictions"} <= set(trial.tensor_names())
    assert np.float32(2) * trial.tensor("loss").value(6, TRAIN) == trial.tensor("double").value(6, TRAIN)


def test_values_when_saved_every_step_then_are_those_of_the_step(build, fit, make_hook, open_trial, data):
    """Weights are those after the step, however many updates follow; gradients are those a tape gives."""
    snapshots = Snapshots()
    model, reference = build(), build()
    hook = make_hook(include_collections=EVERYTHING)
    x, y = data
    model.fit(x, y, batch_size=8, epochs=2, verbose=0, shuffle=False, callbacks=[snapshots, hook])
    with tf.GradientTape() as tape:
        loss = keras.losses.SparseCategoricalCrossentropy()(y[:8], reference(x[:8], training=True))
    expected = tape.gradient(loss, reference.trainable_variables)
    trial = open_trial(hook)
    for step, weights in enumerate(snapshots.weights):
        found = [
            trial.tensor(f"{name}:0").value(step, TRAIN) for name in ("hid/weights/hid/kernel", "hid/weights/hid/bias")
        ]
        np.testing.assert_array_equal(found[0], weights[0])
        np.testing.assert_array_equal(found[1], weights[1])
    for name, gradient in zip(("hid/kernel", "hid/bias", "out/kernel", "out/bias"), expected, strict=True):
        np.testing.assert_allclose(trial.tensor(f"gradients/{name}Grad").value(0), gradient, rtol=1e-5, atol=1e-7)


def test_gradients_when_precision_is_mixed_then_are_without_the_scale(fit, make_hook, open_trial):
    """What is saved are the gradients themselves; training goes on as without the hook."""

    def train(hook=None):
        keras.utils.set_random_seed(4)
        policy = keras.DTypePolicy("mixed_float16")
        hidden = keras.layers.Dense(5, dtype=policy, name="hidden")
        model = keras.Sequential([keras.Input((6,)), hidden, keras.layers.Dense(3, activation="softmax", name="last")])
        optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1))
        model.compile(optimizer, "sparse_categorical_crossentropy", jit_compile=False)
        fit(model, hook, validation_data=None)
        return model

    plain = train()
    hook = make_hook(include_collections=["gradients", "weights", "layers", "optimizer_variables"])
    model = train(hook)
    assert_same(model, plain)
    trial = open_trial(hook)
    (name,) = [name for name in trial.tensor_names(collection="weights") if name.startswith("hidden")]
    path = name.partition("/weights/")[2].removesuffix(":0")
    before, after = trial.tensor(name).value(0, TRAIN), trial.tensor(name).value(1, TRAIN)
    gradient = trial.tensor(f"gradients/{path}Grad").value(1, TRAIN)
    np.testing.assert_allclose(after, before - 0.1 * gradient, rtol=1e-5, atol=1e-6)
    assert {"LossScaleOptimizer/dynamic_scale:0", "SGD/iter:0", "SGD/learning_rate:0"} <= set(trial.tensor_names())
    assert trial.tensor(f"{path.partition('/')[0]}/outputs").value(0).dtype == np.float16


@pytest.mark.parametrize("is_scaled", [False, True])
def test_optimizer_when_its_loss_is_scaled_then_its_momenta_have_the_usual_names(fit, make_hook, open_trial, is_scaled):
    """The names are those of the same optimizer without a scaled loss."""
    optimizer = keras.optimizers.RMSprop()
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(3, activation="softmax", name="last")])
    model.compile(
        keras.optimizers.LossScaleOptimizer(optimizer) if is_scaled else optimizer, "sparse_categorical_crossentropy"
    )
    hook = make_hook(include_collections=["optimizer_variables"])
    fit(model, hook, validation_data=None)
    names = {name for name in open_trial(hook).tensor_names() if name.startswith("RMSprop/last")}
    assert names == {"RMSprop/last/bias/velocity:0", "RMSprop/last/kernel/velocity:0"}


def test_training_when_model_has_replicas_then_is_bit_identical_and_joined(build, fit, make_hook, open_trial, data):
    """Gradients are added up over the replicas, tensors of layers hold the whole batch."""
    # What tunes data sleeps for up to a minute, and data end only when it wakes up: here nothing does, on no device.
    options, placed = tf.data.Options(), tf.distribute.InputOptions(experimental_fetch_to_device=False)
    options.autotune.enabled = False
    batches = tf.data.Dataset.from_tensor_slices(data).batch(8).with_options(options)

    def train(hook=None):
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
        with strategy.scope():
            model = build()
        seen, unseen = (strategy.experimental_distribute_dataset(some, placed) for some in (batches, batches.take(2)))
        return model, fit(model, hook, x=seen, y=None, batch_size=None, validation_data=unseen)

    plain, history = train()
    hook = make_hook(include_collections=EVERYTHING, save_config=smd.SaveConfig(save_interval=2))
    model, captured_history = train(hook)
    assert_same(model, plain)
    assert_same_histories(captured_history, history)
    model.predict(data[0][:8], verbose=0, callbacks=[hook])
    trial = open_trial(hook)
    assert trial.steps(TRAIN) == [0, 2, 4, 6, 8, 10]
    assert trial.tensor("hid/outputs").value(0, TRAIN).shape == (8, 5)
    assert trial.tensor("predictions").value(0, PREDICT).shape == (8, 3)
    np.testing.assert_array_equal(trial.tensor("inputs").value(0, TRAIN), data[0][:8])
    with tf.GradientTape() as tape:
        reference = build()
        loss = keras.losses.SparseCategoricalCrossentropy()(data[1][:8], reference(data[0][:8], training=True))
    gradient = tape.gradient(loss, reference.trainable_variables)[0]
    np.testing.assert_allclose(trial.tensor("gradients/hid/kernelGrad").value(0), gradient, rtol=1e-4, atol=1e-6)


@pytest.mark.filterwarnings("ignore:Your input ran out of data:UserWarning")  # Keras says so of any such data
def test_steps_when_length_of_data_is_unknown_then_are_those_that_took_place(build, make_hook, open_trial, data):
    """The attempt that finds no batch any more is no step, and numbers go on without a gap."""
    dataset = tf.data.Dataset.from_tensor_slices(data).batch(8).filter(lambda x, _: tf.shape(x)[0] > 0)
    hook = make_hook(include_collections=["gradients"])
    build().fit(dataset, epochs=2, validation_data=dataset, verbose=0, shuffle=False, callbacks=[hook])
    trial = open_trial(hook)
    assert trial.steps(TRAIN) == list(range(12))
    assert trial.steps(EVAL) == list(range(12))
    assert trial.steps() == list(range(24))
    assert trial.tensor("val_loss").steps(EVAL) == [5, 11]


def test_steps_when_several_batches_run_at_once_then_are_one(build, fit, make_hook, open_trial):
    """With steps_per_execution a step is what Keras calls callbacks for, and holds the last batch."""
    plain = build(steps_per_execution=3)
    fit(plain)
    model = build(steps_per_execution=3)
    hook = make_hook(include_collections=EVERYTHING)
    fit(model, hook)
    assert_same(model, plain)
    trial = open_trial(hook)
    assert trial.steps(TRAIN) == [0, 1, 2, 3]
    assert trial.tensor("gradients/hid/kernelGrad").steps(TRAIN) == [0, 1, 2, 3]


def test_graph_when_steps_are_not_saved_then_is_made_twice_at_most(build, fit, make_hook, data):
    """One graph for steps that save something recorded, one for all others, in every phase."""
    traces = []

    class Counting(keras.layers.Layer):
        def call(self, inputs):
            traces.append(1)
            return inputs

    def num_traces(hook):
        traces.clear()
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.Input((6,)), Counting(), keras.layers.Dense(3, activation="softmax")])
        model.compile("sgd", "sparse_categorical_crossentropy", jit_compile=False)
        built = len(traces)
        fit(model, hook, epochs=4, validation_data=None)
        return len(traces) - built

    plain = num_traces(None)
    config = {TRAIN: smd.SaveConfigMode(save_interval=2)}
    hook = make_hook(include_collections=["gradients", "layers"], save_config=config)
    assert num_traces(hook) <= 2 * plain
    hook = make_hook("other", include_collections=["weights"], save_config=config)
    assert num_traces(hook) == plain


def test_graph_when_only_numbers_are_saved_then_is_keras_own(build, fit, make_hook):
    """By default the function that Keras runs is called as it is, and is given back afterwards."""
    model = build()
    hook = make_hook()
    made = []
    plain_make = model.make_train_function
    model.make_train_function = lambda force=False: (made.append(force), plain_make(force=force))[1]
    fit(model, hook)
    assert made == [False]
    assert not isinstance(model.train_function, type(hook))
    assert type(model.train_function).__module__ == "builtins"


def test_collection_when_by_pattern_layer_or_variable_then_has_those(build, fit, make_hook, open_trial):
    """Collections are filled by regular expression, by layers and by variables, in any combination."""
    model = build()
    hook = make_hook(include_collections=["relu", "of_layer", "of_variable"], include_regex=["gradients/out/bias"])
    hook.get_collection("relu").include("hid/outputs")
    hook.get_collection("of_layer").add_keras_layer(model.get_layer("out"), inputs=True, outputs=True)
    hook.get_collection("of_variable").add([model.get_layer("out").kernel])
    hook.add_to_collection("of_variable", model.get_layer("hid").bias)
    fit(model, hook, validation_data=None)
    trial = open_trial(hook)
    assert trial.tensor_names(collection="relu") == ["hid/outputs"]
    assert trial.tensor_names(collection="of_layer") == ["out/inputs", "out/outputs"]
    assert trial.tensor_names(collection="of_variable") == ["hid/weights/hid/bias:0", "out/weights/out/kernel:0"]
    assert trial.tensor_names(collection="default") == ["gradients/out/biasGrad"]
    assert set(trial.tensor_names(mode=TRAIN)) == {
        *trial.tensor_names(collection="relu"),
        *trial.tensor_names(collection="of_layer"),
        *trial.tensor_names(collection="of_variable"),
        *("gradients/out/biasGrad", "loss", "accuracy", "batch"),
    }


@pytest.mark.parametrize("collections", [["weights"], ["all"]])
def test_weights_when_a_layer_is_set_to_train_later_then_are_there_from_then_on(
    build, fit, make_hook, open_trial, collections
):
    """Weights are what is trained, and a hook may follow several trainings of a model."""
    model = build()
    hook = make_hook(include_collections=collections)
    model.get_layer("hid").trainable = False
    model.compile("adam", model.loss)
    fit(model, hook)
    model.get_layer("hid").trainable = True
    model.compile("adam", model.loss)
    fit(model, hook)
    trial = open_trial(hook)
    expected = ["hid/weights/hid/kernel:0", "out/weights/out/kernel:0"]
    assert trial.tensor_names(collection="weights") == expected
    assert trial.tensor_names(regex="^hid/weights/.*kernel", mode=TRAIN) == expected[:1]


@pytest.mark.parametrize("pattern", ["^hid$", "^hid/"])
def test_layers_and_gradients_when_given_patterns_then_only_those_are_saved(build, fit, make_hook, open_trial, pattern):
    """Patterns of these two choose among what they hold, as in the original; variables do not join them."""
    hook = make_hook(include_collections=["layers", "gradients"], save_config=smd.SaveConfig(save_interval=4))
    hook.get_collection("layers").include(pattern)
    hook.get_collection("gradients").include("gradients/out")
    fit(build(), hook)
    trial = open_trial(hook)
    assert trial.tensor_names(collection="layers") == ["hid/inputs", "hid/outputs"]
    assert trial.tensor_names(collection="gradients") == ["gradients/out/biasGrad", "gradients/out/kernelGrad"]
    logs = {"accuracy", "batch", "loss", "val_accuracy", "val_loss"}
    assert len(set(trial.tensor_names()) - logs) == 4


def test_reductions_when_asked_for_then_are_those_of_numpy(build, fit, make_hook, open_trial):
    """Reductions are made of what would have been saved."""
    config = smd.ReductionConfig(reductions=["mean", "std"], norms=["l2"], save_raw_tensor=True, save_shape=True)
    hook = make_hook(include_collections=["weights", "gradients", "layers"], reduction_config=config)
    fit(build(), hook)
    trial = open_trial(hook)
    for name in ("hid/weights/hid/kernel:0", "gradients/hid/kernelGrad", "hid/outputs"):
        value = trial.tensor(name).value(3, TRAIN)
        saved = trial.tensor(name).reduction_values(3, TRAIN)
        assert saved["mean", False] == pytest.approx(value.mean(), rel=1e-5, abs=1e-7)
        assert saved["std", False] == pytest.approx(value.std(), rel=1e-5)
        assert saved["l2", False] == pytest.approx(np.sqrt((value**2).sum()), rel=1e-5)
        assert trial.tensor(name).shape(3, TRAIN) == value.shape


def test_model_when_it_has_several_inputs_and_outputs_then_they_are_numbered(make_hook, open_trial, data):
    """Inputs, labels, predictions and a layer that is called twice have numbers."""
    keras.utils.set_random_seed(0)
    left, right = keras.Input((6,)), keras.Input((6,))
    shared = keras.layers.Dense(4, name="shared")
    outputs = [keras.layers.Dense(3, name="one")(shared(left)), keras.layers.Dense(1, name="two")(shared(right))]
    model = keras.Model([left, right], outputs)
    model.compile("sgd", ["sparse_categorical_crossentropy", "mse"], jit_compile=False)
    hook = make_hook(include_collections=["layers", "inputs", "outputs"])
    x, y = data
    model.fit([x, x], [y, y.astype("float32")], batch_size=24, verbose=0, callbacks=[hook])
    trial = open_trial(hook)
    assert trial.tensor_names(collection="inputs") == ["inputs_0", "inputs_1"]
    assert trial.tensor_names(collection="outputs") == ["labels_0", "labels_1", "predictions_0", "predictions_1"]
    shared_names = ["shared/inputs_0", "shared/inputs_1", "shared/outputs_0", "shared/outputs_1"]
    assert trial.tensor_names(regex="^shared/(in|out)puts") == shared_names
    assert trial.tensor_names(collection="losses") == ["loss", "one_loss", "two_loss"]


def test_model_when_it_is_built_by_training_then_is_captured_from_the_first_step(make_hook, open_trial, data):
    """A model without an input shape has its variables named as any other."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.layers.Dense(4, name="a"), keras.layers.Dense(3, activation="softmax", name="b")])
    model.compile("adam", "sparse_categorical_crossentropy", jit_compile=False)
    hook = make_hook(include_collections=EVERYTHING)
    model.fit(*data, batch_size=24, verbose=0, callbacks=[hook])
    trial = open_trial(hook)
    for name in ("gradients/a/kernelGrad", "a/weights/a/kernel:0", "b/outputs", "Adam/a/kernel/momentum:0"):
        assert trial.tensor(name).steps(TRAIN) == [0, 1], name


def test_layers_when_models_are_nested_then_have_their_own_names(make_hook, open_trial, data):
    """Layers of a model inside a model are captured, those of one name told apart."""
    keras.utils.set_random_seed(0)
    inner = keras.Sequential([keras.Input((6,)), keras.layers.Dense(4, name="dense")], name="inner")
    model = keras.Sequential([keras.Input((6,)), inner, keras.layers.Dense(3, activation="softmax", name="dense")])
    model.compile("sgd", "sparse_categorical_crossentropy", jit_compile=False)
    hook = make_hook(include_collections=["layers", "weights", "gradients"])
    model.fit(*data, batch_size=24, verbose=0, callbacks=[hook])
    trial = open_trial(hook)
    names = ["dense/inputs", "dense/outputs", "dense_1/inputs", "dense_1/outputs", "inner/inputs", "inner/outputs"]
    assert trial.tensor_names(collection="layers") == names
    assert len(trial.tensor_names(collection="weights")) == 2
    assert len(trial.tensor_names(collection="gradients")) == 4


def test_layers_when_functions_use_them_then_those_that_keras_does_not_know_are_saved_too(make_hook, open_trial, data):
    """With the layer that uses them; layers of the model stay themselves, and other models are none of its parts."""

    def made():
        keras.utils.set_random_seed(1)
        inner, tied = keras.layers.Dense(4, name="inner"), keras.layers.Dense(4, name="tied")
        other = keras.Sequential([keras.Input((4,)), keras.layers.Dense(4, name="elsewhere")])
        inner.build((None, 4))
        inputs = keras.Input((4,))
        answers = keras.layers.Lambda(lambda x: other(inner(x)) + tied(x), output_shape=(4,), name="own")(tied(inputs))
        model = keras.Model(inputs, answers)
        model.compile("sgd", "mse", jit_compile=False)
        return model

    plain, model = made(), made()
    numbers = data[0][:, :4]
    plain.fit(numbers, numbers, shuffle=False, verbose=0)
    hook = make_hook(include_collections=["weights", "gradients"])
    model.fit(numbers, numbers, shuffle=False, verbose=0, callbacks=[hook])
    assert_same(model, plain)
    trial = open_trial(hook)
    assert trial.tensor_names(collection="weights") == ["own/weights/inner/kernel:0", "tied/weights/tied/kernel:0"]
    assert trial.tensor_names(collection="gradients") == ["gradients/tied/biasGrad", "gradients/tied/kernelGrad"]


def test_hook_when_used_for_several_runs_then_goes_on_counting(build, fit, make_hook, open_trial, data):
    """The same hook captures training, further training, evaluation and prediction, one after the other."""
    model = build()
    hook = make_hook(include_collections=["gradients", "outputs"])
    fit(model, hook, epochs=1)
    fit(model, hook, epochs=1)
    model.evaluate(*data, batch_size=24, verbose=0, callbacks=[hook])
    model.predict(data[0], batch_size=24, verbose=0, callbacks=[hook])
    trial = open_trial(hook)
    assert (trial.steps(TRAIN), trial.steps(EVAL), trial.steps(PREDICT)) == (list(range(12)), list(range(6)), [0, 1])
    assert trial.tensor("gradients/hid/kernelGrad").steps(TRAIN) == list(range(12))


def test_hook_when_another_model_runs_in_between_then_each_has_its_own(build, data, make_hook, open_trial):
    """What a callback predicts with another model, captured too, changes nothing of the training around it."""
    model, other = build(), keras.Sequential([keras.Input((6,)), keras.layers.Dense(2, name="other")])
    hook = make_hook(include_collections=["weights"])

    class Predict(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 1:
                other.predict(data[0], batch_size=48, verbose=0, callbacks=[hook])

        def on_epoch_end(self, epoch, logs=None):
            other.predict(data[0], batch_size=48, verbose=0, callbacks=[hook])

    for _ in range(2):
        model.fit(*data, batch_size=16, verbose=0, callbacks=[hook, Predict()])
        assert type(model.train_function).__name__ != "WrappedFunction"
    trial = open_trial(hook)
    assert (trial.steps(TRAIN), trial.steps(PREDICT)) == (list(range(6)), list(range(4)))
    for step in trial.steps(TRAIN):
        assert trial.tensor("batch").value(step, mode=TRAIN) == step % 3
        assert "hid/weights/hid/kernel:0" in trial.tensor_names(step=step, mode=TRAIN)
        assert "other/weights/other/kernel:0" not in trial.tensor_names(step=step, mode=TRAIN)
    assert trial.tensor("other/weights/other/kernel:0").steps(PREDICT) == list(range(4))


def test_scalar_when_another_callback_saves_it_then_has_the_step_of_its_batch(build, fit, make_hook, open_trial):
    """A callback after a batch saves into the step of that batch."""
    hook = make_hook()
    callback = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: hook.save_scalar("number", batch))
    model = build()
    x = np.zeros((24, 6), "float32")
    model.fit(x, np.zeros(24), batch_size=8, verbose=0, callbacks=[hook, callback])
    trial = open_trial(hook)
    assert {step: int(value[0]) for step, value in trial.tensor("scalar/number").values(TRAIN).items()} == {
        0: 0,
        1: 1,
        2: 2,
    }


def test_configuration_when_from_a_file_then_is_followed(build, fit, tmp_path):
    """A hook made from the job's configuration file saves what that says, and epochs end metrics that have ended."""
    path = tmp_path / "hook.json"
    text = """{"LocalPath": "OUT", "HookParameters": {"train.save_interval": "4", "eval.save_interval": "1"},
        "CollectionConfigurations": [{"CollectionName": "gradients"},
        {"CollectionName": "metrics", "CollectionParameters": {"end_step": "0"}},
        {"CollectionName": "relu", "CollectionParameters": {"include_regex": "hid/outputs", "reductions": "max"}}]}"""
    path.write_text(text.replace("OUT", str(tmp_path / "out")))
    with smd.KerasHook.create_from_json_file(str(path)) as hook:
        hook.strict = True
        assert smd.get_hook("keras") is hook
        fit(build(), hook)
    trial = create_trial(hook.out_dir)
    assert trial.tensor("gradients/out/kernelGrad").steps(TRAIN) == [0, 4, 8]
    assert trial.tensor("hid/outputs").reduction_values(1, EVAL).keys() == {("max", False)}
    assert trial.tensor_names(collection="metrics") == []
    assert trial.tensor("val_loss").steps(EVAL) == [1, 3]


def test_fit_when_a_rule_of_a_self_managed_job_asks_to_stop_then_ends_early(build, fit, make_hook):
    """The script needs no line for it."""
    hook = make_hook(include_collections=["weights"])
    hook._watcher.should_stop = True
    assert len(fit(build(), hook, epochs=5).epoch) == 1
