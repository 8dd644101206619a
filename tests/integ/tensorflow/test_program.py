"""The record of a Keras program, and what the rules make of it."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

from sagemaker_debug_ext.hooks.keras.wrapped_steps import Phase  # noqa: E402
from sagemaker_debug_ext.rules import create_rule, evaluate  # noqa: E402

RANDOM = np.random.default_rng(1)
INPUTS = RANDOM.normal(size=(48, 6)).astype("float32")
CLASSES = RANDOM.integers(0, 3, 48)
ONE_HOT = np.eye(3, dtype="float32")[CLASSES]
QUANTITY = RANDOM.normal(size=(48, 1)).astype("float32") * 20


def record_of(model, make_hook, open_trial, targets=CLASSES, name="out"):
    hook = make_hook(name, include_collections=["losses", "inputs", "outputs"])
    model.fit(INPUTS, targets, batch_size=8, verbose=0, callbacks=[hook])
    return open_trial(hook)


def sequential(*layers, loss, optimizer="adam"):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((6,)), *layers])
    model.compile(optimizer, loss)
    return model


def test_record_when_model_is_sequential_then_has_loss_layers_and_optimizer(make_hook, open_trial):
    """What was given to `compile` is there with its arguments."""
    dense = keras.layers.Dense
    layers = [dense(5, activation="relu", name="hid"), dense(3, name="out"), keras.layers.Softmax(name="soft")]
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=False)
    program = record_of(
        sequential(*layers, loss=loss, optimizer=keras.optimizers.SGD(0.25, momentum=0.5)), make_hook, open_trial
    ).program
    assert (program.framework, program.framework_version, program.unknown) == ("Keras", keras.__version__, ())
    assert [(layer.name, layer.type, layer.activation, layer.units) for layer in program.layers] == [
        ("hid", "Dense", "relu", 5),
        ("out", "Dense", "linear", 3),
        ("soft", "Softmax", "softmax", 3),
    ]
    (found,) = program.losses
    assert (found.name, found.type, found.arguments["from_logits"]) == (
        "predictions",
        "sparse_categorical_crossentropy",
        False,
    )
    assert [layer.name for layer in found.tail] == ["soft", "out"]
    (optimizer,) = program.optimizers
    assert (optimizer.type, optimizer.numbers["learning_rate"], optimizer.numbers["momentum"]) == ("SGD", 0.25, 0.5)


@pytest.mark.parametrize(
    ("loss", "targets", "dtype"),
    [
        ("sparse_categorical_crossentropy", CLASSES.astype("int32"), "int32"),
        ("categorical_crossentropy", ONE_HOT, "float32"),
    ],
)
def test_record_when_batches_are_recorded_then_has_their_dtypes(make_hook, open_trial, loss, targets, dtype):
    """Inputs and targets have the dtypes in which the model gets them, after a second run as well."""
    model = sequential(keras.layers.Dense(3, activation="softmax"), loss=loss)
    hook = make_hook("out", include_collections=["losses", "inputs", "outputs"])
    for _ in range(2):
        model.fit(INPUTS, targets, batch_size=8, verbose=0, callbacks=[hook])
    program = open_trial(hook).program
    assert (program.input_dtypes, [loss.target_dtype for loss in program.losses]) == (("float32",), [dtype])


def test_record_when_no_batch_is_recorded_then_dtypes_are_unknown(make_hook, open_trial):
    """The hook builds no graph only to learn dtypes."""
    model = sequential(keras.layers.Dense(3, activation="softmax"), loss="sparse_categorical_crossentropy")
    hook = make_hook("out", include_collections=["losses"])
    model.fit(INPUTS, CLASSES, batch_size=8, verbose=0, callbacks=[hook])
    program = open_trial(hook).program
    assert (program.input_dtypes, [loss.target_dtype for loss in program.losses]) == ((), [None])


@pytest.mark.parametrize(("names", "turns"), [(("one", "two", "one"), ("one", "two")), (("one", "one"), ())])
def test_record_when_models_are_trained_in_turn_then_names_them(make_hook, open_trial, names, turns):
    """Models that share names of tensors are known by single batches; a single model is not one of several."""
    models = {name: sequential(keras.layers.Dense(1), loss="mse") for name in ("one", "two")}
    hook = make_hook("out", include_collections=["losses"])
    for name, model in models.items():
        model.name = name
        model.make_train_function()
    for name in names:
        hook.join_batch(models[name], Phase.TRAIN)
        models[name].train_on_batch(INPUTS, QUANTITY)
    assert open_trial(hook).program.turns == turns


def test_record_when_model_has_several_outputs_then_each_has_its_loss_and_tail(make_hook, open_trial):
    """The layers before an output are found through the graph of the model."""
    inputs = keras.Input((6,))
    hidden = keras.layers.Dense(4)(inputs)
    first = keras.layers.Dense(3, activation="softmax", name="one")(hidden)
    second = keras.layers.Activation("tanh", name="act")(keras.layers.Dense(1, name="two")(hidden))
    model = keras.Model(inputs, [first, second])
    model.compile("sgd", ["categorical_crossentropy", "mse"])
    losses = record_of(model, make_hook, open_trial, [ONE_HOT, QUANTITY]).program.losses
    assert [(loss.name, loss.type, [layer.name for layer in loss.tail]) for loss in losses] == [
        ("predictions_0", "categorical_crossentropy", ["one"]),
        ("predictions_1", "mean_squared_error", ["act", "two"]),
    ]


@pytest.mark.parametrize("form", [list, dict])
def test_record_when_losses_are_named_by_output_then_each_belongs_to_its_output(make_hook, open_trial, form):
    """Outputs keep their order, whatever the order of names in `compile` and `fit`."""
    inputs = keras.Input((6,))
    outputs = {name: keras.layers.Dense(size, name=name)(inputs) for name, size in (("z", 1), ("m", 2), ("a", 3))}
    model = keras.Model(inputs, outputs if form is dict else list(outputs.values()))
    model.compile("sgd", {"a": keras.losses.CategoricalCrossentropy(from_logits=True), "m": "mae", "z": "mse"})
    hook = make_hook("out", include_collections=["losses", "inputs", "outputs"])
    model.fit(INPUTS, {"a": ONE_HOT, "m": ONE_HOT[:, :2], "z": QUANTITY}, batch_size=48, verbose=0, callbacks=[hook])
    trial = open_trial(hook)
    losses = [(loss.name, loss.type, loss.tail[0].name) for loss in trial.program.losses]
    assert losses == [
        ("predictions_0", "mean_squared_error", "z"),
        ("predictions_1", "mean_absolute_error", "m"),
        ("predictions_2", "categorical_crossentropy", "a"),
    ]
    for kind in ("labels", "predictions"):
        assert [trial.tensor(f"{kind}_{number}").shape(0)[-1] for number in range(3)] == [1, 2, 3]


def test_record_when_batches_are_normalised_then_has_how_far_averages_move(make_hook, open_trial):
    """Keras gives the part that stays; averages of frozen layers do not move."""
    layers = [keras.layers.BatchNormalization(momentum=0.75), keras.layers.BatchNormalization(trainable=False)]
    model = sequential(*layers, keras.layers.Dense(3, activation="softmax"), loss="sparse_categorical_crossentropy")
    trial = record_of(model, make_hook, open_trial)
    assert [layer.moving_share for layer in trial.program.layers] == [0.25, None, None]


def test_record_when_steps_of_time_are_normalised_then_has_how_far_averages_move(make_hook, open_trial):
    """The layer is within another one."""
    layers = [
        keras.layers.Reshape((3, -1)),
        keras.layers.TimeDistributed(keras.layers.BatchNormalization(momentum=0.75)),
    ]
    layers += [keras.layers.Flatten(), keras.layers.Dense(3, activation="softmax")]
    trial = record_of(sequential(*layers, loss="sparse_categorical_crossentropy"), make_hook, open_trial)
    assert [layer.moving_share for layer in trial.program.layers] == [None, 0.25, None, None]


@pytest.mark.parametrize("has_own_step", [False, True])
def test_record_when_model_has_its_own_step_then_tells_so(make_hook, open_trial, has_own_step):
    """Keras does not tell the layers of such a model to train."""

    class Own(keras.Sequential):
        def train_step(self, data):
            return super().train_step(data)

    model = (Own if has_own_step else keras.Sequential)([keras.Input((6,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    assert record_of(model, make_hook, open_trial, QUANTITY).program.has_own_step == has_own_step


@pytest.mark.parametrize("weights", [None, {0: 1.0, 1: 2.0, 2: 0.5}])
def test_record_when_classes_have_weights_then_tells_so(make_hook, open_trial, weights):
    """Losses of training are then not on the scale of those of validation; the weights are saved with the inputs."""
    model = sequential(keras.layers.Dense(3, activation="softmax"), loss="sparse_categorical_crossentropy")
    hook = make_hook("out", include_collections=["losses", "inputs"])
    model.fit(INPUTS, CLASSES, batch_size=48, verbose=0, callbacks=[hook], class_weight=weights)
    trial = open_trial(hook)
    assert trial.program.is_weighted == (weights is not None)
    assert trial.has_tensor("sample_weights") == (weights is not None)


def test_record_when_model_or_loss_is_the_scripts_own_then_says_what_is_unknown(make_hook, open_trial):
    """What cannot be inspected is no error."""

    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.out = keras.layers.Dense(1)

        def call(self, inputs):
            return self.out(inputs)

    model = Own()
    model.compile("sgd", lambda y, found: keras.ops.mean((y - found) ** 2))
    program = record_of(model, make_hook, open_trial, QUANTITY).program
    assert [text.partition(":")[0] for text in program.unknown] == ["tail", "loss"]
    assert [loss.type for loss in program.losses] == [""]


DENSE = keras.layers.Dense
PAIRS = {
    "relu before cross entropy": ((DENSE(3, activation="relu"),), "categorical_crossentropy", ONE_HOT, "probabilities"),
    "softmax on one unit": ((DENSE(1, activation="softmax"),), "mse", QUANTITY, "always 1"),
    "sigmoid for a quantity": ((DENSE(1), keras.layers.Activation("sigmoid")), "mse", QUANTITY, "cannot reach"),
    "binary cross entropy of a quantity": (
        (DENSE(1, activation="sigmoid"),),
        "binary_crossentropy",
        QUANTITY,
        "from 0 to 1",
    ),
    "dropout before softmax": (
        (DENSE(3), keras.layers.Dropout(0.4), keras.layers.Softmax()),
        "sparse_categorical_crossentropy",
        CLASSES,
        "dropout",
    ),
    "sound classifier": ((DENSE(3, activation="softmax"),), "sparse_categorical_crossentropy", CLASSES, ""),
    "sound regression": ((DENSE(1),), "mse", QUANTITY, ""),
    "dropout before the last layer": (
        (keras.layers.Dropout(0.4), DENSE(3, activation="softmax")),
        "categorical_crossentropy",
        ONE_HOT,
        "",
    ),
    "positive quantity with relu": ((DENSE(1, activation="relu"),), "mse", np.abs(QUANTITY), ""),
}


@pytest.mark.filterwarnings("ignore::UserWarning")  # Keras itself warns of one of them
@pytest.mark.parametrize("kind", PAIRS)
def test_rule_when_program_is_known_then_judges_at_the_first_step(kind, make_hook, open_trial):
    """Faulty pairings are named before anything follows from them, sound ones never."""
    layers, loss, targets, text = PAIRS[kind]
    model = sequential(*(type(layer).from_config(layer.get_config()) for layer in layers), loss=loss)
    trial = record_of(model, make_hook, open_trial, targets)
    evaluation = evaluate({"LossInputMismatch": create_rule("LossInputMismatch", trial)}, trial)
    issues = list(evaluation)
    if text:
        assert issues[0].step == 0
        assert text in issues[0].message
    else:
        assert issues == []


@pytest.mark.parametrize("has_other_loss", [False, True])
def test_record_when_another_model_follows_then_holds_from_its_first_step_on(make_hook, open_trial, has_other_loss):
    """Rules would take the loss of the second model for that of the first."""
    hook = make_hook("out", include_collections=["losses"])
    models = [sequential(keras.layers.Dense(3, name="out"), loss=loss) for loss in ("mse", "mae")]
    for number in (0, int(has_other_loss)):
        models[number].fit(INPUTS, ONE_HOT, batch_size=24, epochs=2, verbose=0, callbacks=[hook])
    program = open_trial(hook).program
    assert (program.losses[0].type, program.since_step) == (
        ("mean_absolute_error", 4) if has_other_loss else ("mean_squared_error", 0)
    )


def test_record_when_models_are_nested_then_has_their_layers(make_hook, open_trial):
    """A model that was trained before is often a layer of the next."""
    base = keras.Sequential([keras.Input((6,)), keras.layers.Dense(4, name="inner"), keras.layers.ReLU(name="act")])
    model = keras.Sequential([base, keras.layers.Dense(3, activation="softmax", name="out")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    layers = record_of(model, make_hook, open_trial).program.layers
    assert [(layer.name, layer.type, layer.units) for layer in layers] == [
        ("inner", "Dense", 4),
        ("act", "ReLU", 4),
        ("out", "Dense", 3),
    ]


@pytest.mark.parametrize("compiles", [True, False])
def test_record_when_layers_are_set_to_train_then_names_those_that_were_not_compiled_so(
    make_hook, open_trial, compiles
):
    """Keras trains what was set to train when it traced the step, until the model is compiled anew."""
    base, head = keras.layers.Dense(5, name="base"), keras.layers.Dense(3, activation="softmax", name="head")
    base.trainable = False
    model = sequential(base, head, loss="sparse_categorical_crossentropy")
    hook = make_hook("out", include_collections=["losses", "weights"])
    fit = {"batch_size": 8, "verbose": 0, "callbacks": [hook]}
    model.fit(INPUTS, CLASSES, **fit)
    before = base.get_weights()[0]
    base.trainable = True
    if compiles:
        model.compile("adam", "sparse_categorical_crossentropy")
    model.fit(INPUTS, CLASSES, **fit)
    assert np.array_equal(base.get_weights()[0], before) != compiles
    expected = () if compiles else ("base/kernel", "base/bias")
    assert [path.removeprefix(f"{model.name}/") for path in open_trial(hook).program.not_compiled] == list(expected)


def test_record_when_a_model_is_built_by_its_first_step_then_has_all_its_variables(make_hook, open_trial):
    """It has none when training begins."""
    model = keras.Sequential([keras.layers.Dense(3, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy")
    hook = make_hook("out", include_collections=["losses", "weights"])
    for _ in range(2):
        model.fit(INPUTS, CLASSES, batch_size=8, verbose=0, callbacks=[hook])
    assert open_trial(hook).program.not_compiled == ()
