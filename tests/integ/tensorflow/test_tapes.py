"""Loops of the script's own, in eager code and in graphs."""

from __future__ import annotations

import logging

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

import sagemaker_debug_ext.tensorflow as smd  # noqa: E402
from sagemaker_debug_ext.errors import SMDebugTypeError  # noqa: E402

EVERYTHING = ["weights", "biases", "gradients", "losses", "layers", "inputs", "outputs", "optimizer_variables"]
LOSS = keras.losses.SparseCategoricalCrossentropy()
PATHS = ("hid/bias", "hid/kernel", "out/bias", "out/kernel")


def train(build, data, hook=None, way="eager", after=None):
    """Train for six batches in a loop."""
    model = build()
    optimizer = model.optimizer
    if hook is not None:
        hook.register_model(model)
        optimizer = hook.wrap_optimizer(optimizer)
    optimizer.build(model.trainable_variables)

    def step(x, y):
        tape = tf.GradientTape()
        with tape if hook is None else hook.wrap_tape(tape):
            loss = LOSS(y, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        if after is not None:
            after(loss)
        return loss

    dataset = tf.data.Dataset.from_tensor_slices(data).batch(8)
    if way == "loop":

        @tf.function
        def loop(batches):
            for x, y in batches:
                step(x, y)

        loop(dataset)
        return model
    if way != "eager":
        step = tf.function(step, jit_compile=way == "compiled")
    for x, y in dataset:
        step(x, y)
    return model


def assert_same(model, other):
    for left, right in zip(model.get_weights(), other.get_weights(), strict=True):
        assert left.tobytes() == right.tobytes()


@pytest.mark.parametrize("way", ["eager", "graph", "loop"])
def test_tape_when_wrapped_then_saves_all_and_changes_nothing(way, build, data, make_hook, open_trial):
    """All collections are filled at the steps that are due, and the weights are those of training without the hook."""
    plain = train(build, data, way=way)
    hook = make_hook(include_collections=EVERYTHING, save_config=smd.SaveConfig(save_interval=2))
    numbers = []
    model = train(build, data, hook, way, after=lambda loss: (hook.save_scalar("number", loss), numbers.append(loss)))
    assert_same(model, plain)
    trial = open_trial(hook)
    saved = [0, 2, 4]
    assert trial.tensor("scalar/number").steps(smd.modes.TRAIN) == list(range(6))
    for collection, names in {
        "weights": ["weights/hid/kernel:0", "weights/out/kernel:0"],
        "biases": ["weights/hid/bias:0", "weights/out/bias:0"],
        "gradients": [f"gradients/{path}Grad" for path in PATHS],
        "losses": ["loss"],
        "layers": ["hid/inputs", "hid/outputs", "out/inputs", "out/outputs"],
        "inputs": ["inputs"],
        "outputs": ["predictions"],
    }.items():
        assert trial.tensor_names(collection=collection) == names
        for name in names:
            assert trial.tensor(name).steps(smd.modes.TRAIN) == saved, name
    optimizer = trial.tensor_names(collection="optimizer_variables")
    assert {"Adam/iter:0", "Adam/learning_rate:0", "Adam/hid/kernel/momentum:0"} <= set(optimizer)
    for step in saved:
        assert trial.tensor("scalar/number").value(step) == trial.tensor("loss").value(step)
        assert trial.tensor("Adam/iter:0").value(step) == step + 1
    with tf.GradientTape() as tape:
        reference = build()
        loss = LOSS(data[1][:8], reference(data[0][:8], training=True))
    expected = tape.gradient(loss, reference.trainable_variables)
    for name, gradient, weight in zip(("hid/kernel", "hid/bias"), expected, reference.get_weights(), strict=False):
        np.testing.assert_allclose(trial.tensor(f"gradients/{name}Grad").value(0), gradient, rtol=1e-5, atol=1e-7)
        np.testing.assert_array_equal(trial.tensor(f"weights/{name}:0").value(0), weight)
    for name in ("inputs", "hid/inputs"):
        np.testing.assert_array_equal(trial.tensor(name).value(2), data[0][16:24])


def test_tape_when_graph_is_compiled_then_training_goes_on_and_a_warning_says_so(build, data, make_hook, caplog):
    """Compiled code cannot tell of itself; it runs as without the hook."""
    plain = train(build, data, way="compiled")
    hook = make_hook(include_collections=EVERYTHING)
    with caplog.at_level(logging.WARNING):
        model = train(build, data, hook, "compiled")
    assert_same(model, plain)
    assert hook.failure is None
    assert [record.message for record in caplog.records if "jit_compile" in record.message]


def test_tape_when_hook_is_closed_then_loop_goes_on(build, data, make_hook, open_trial):
    """Graphs that were made with the hook run on without it, and so do models and optimizers."""
    hook = make_hook(include_collections=EVERYTHING)
    model = build()
    hook.register_model(model)
    optimizer = hook.wrap_optimizer(model.optimizer)

    @tf.function
    def step(x, y):
        with hook.wrap_tape(tf.GradientTape()) as tape:
            loss = LOSS(y, model(x))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))

    step(*data)
    trial = open_trial(hook)
    step(*data)
    assert trial.steps() == [0]
    assert hook.failure is None
    assert "call" not in vars(model.get_layer("hid"))
    assert "apply" not in vars(optimizer)


def test_tape_when_two_are_open_then_they_share_a_step(build, data, make_hook, open_trial):
    """Two tapes around one batch, as adversarial training uses them, are one step."""
    hook = make_hook(include_collections=["gradients", "losses"])
    one, two = build(), build(seed=12)
    for _ in range(2):
        with hook.wrap_tape(tf.GradientTape()) as left, hook.wrap_tape(tf.GradientTape()) as right:
            first, second = LOSS(data[1], one(data[0])), LOSS(data[1], two(data[0]))
        left.gradient(first, one.trainable_variables)
        right.gradient(second, two.trainable_variables)
    trial = open_trial(hook)
    assert trial.steps(smd.modes.TRAIN) == [0, 1]


def test_tape_when_variables_are_plain_then_have_their_names(make_hook, open_trial):
    """No model is needed: variables of TensorFlow are captured under their own names."""
    hook = make_hook(include_collections=["gradients", "losses", "weights"])
    slope = tf.Variable([1.0, 2.0], name="slope")
    with hook.wrap_tape(tf.GradientTape(persistent=True)) as tape:
        loss = tf.reduce_sum(slope * slope)
    assert isinstance(tape, tf.GradientTape)
    gradient = tape.gradient(loss, slope)
    slope.assign_sub(0.1 * gradient)
    trial = open_trial(hook)
    assert trial.tensor("gradients/slopeGrad").value(0).tolist() == [2.0, 4.0]
    assert trial.tensor("weights/slope:0").value(0).tolist() == [1.0, 2.0]
    assert trial.tensor("loss").value(0).tolist() == [5.0]


@pytest.mark.parametrize("trace", [lambda function: function, tf.function], ids=["eager", "traced"])
def test_tape_when_variables_have_no_names_then_each_has_a_number(trace, make_hook, open_trial):
    """TensorFlow calls all of them ``Variable``; a number is free again when its variable is gone."""
    hook = make_hook(include_collections=["gradients"])
    variables = [tf.Variable([1.0 + number, 2.0]) for number in range(3)]

    @trace
    def learn():
        with hook.wrap_tape(tf.GradientTape()) as tape:
            loss = tf.add_n([tf.reduce_sum(variable * variable) for variable in variables])
        return tape.gradient(loss, variables)

    for _ in range(2):
        learn()
    if trace is not tf.function:
        variables[1] = tf.Variable([9.0, 9.0])
        learn()
    trial = open_trial(hook)
    names = ["VariableGrad", "Variable_1Grad", "Variable_2Grad"]
    assert set(trial.tensor_names()) == {f"gradients/{name}" for name in names} | {"loss"}
    for step in trial.steps():
        firsts = [trial.tensor(f"gradients/{name}").value(step)[0] for name in names]
        assert firsts == [2.0, 18.0 if step == 2 else 4.0, 6.0]


def test_tape_when_model_has_replicas_then_first_one_is_captured(build, data, make_hook, open_trial):
    """A step that runs on two replicas is one step."""
    hook = make_hook(include_collections=["gradients", "losses"])
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        model = build()
        model.optimizer.build(model.trainable_variables)

    @tf.function
    def step(x, y):
        with hook.wrap_tape(tf.GradientTape()) as tape:
            loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(y, model(x, training=True)))
        gradients = tape.gradient(loss, model.trainable_variables)
        model.optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))

    dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(data).batch(16))
    for x, y in dataset:
        strategy.run(step, args=(x, y))
    trial = open_trial(hook)
    assert trial.steps(smd.modes.TRAIN) == [0, 1, 2]
    assert trial.tensor_names(collection="gradients") == [f"gradients/{path}Grad" for path in PATHS]


def test_tensor_when_saved_in_a_graph_then_belongs_to_its_step(build, data, make_hook, open_trial):
    """save_tensor before the gradients belongs to the step, and is saved in the collections named."""
    hook = make_hook(include_collections=["gradients", "mine"])
    hook.get_collection("mine").include("doubled")
    model = build()

    @tf.function
    def step(x, y):
        with hook.wrap_tape(tf.GradientTape()) as tape:
            loss = LOSS(y, model(x))
            hook.save_tensor("doubled", 2 * loss, ["mine", "losses"])
        return loss, tape.gradient(loss, model.trainable_variables)

    losses = [step(data[0][start : start + 8], data[1][start : start + 8])[0] for start in (0, 8, 16)]
    trial = open_trial(hook)
    for number, loss in enumerate(losses):
        assert trial.tensor("doubled").value(number) == 2 * loss.numpy()
    assert "doubled" in trial.tensor_names(collection="losses")


def test_variable_when_saved_then_has_the_value_it_had(build, data, make_hook, open_trial, recwarn):
    """A `tf.Variable` is copied without a warning of NumPy, which the hook would take for a failure if it is raised."""
    hook = make_hook(include_collections=["gradients", "mine"])
    hook.get_collection("mine").include("rate")
    model, rate = build(), tf.Variable([1.0, 2.0])
    with hook.wrap_tape(tf.GradientTape()) as tape:
        loss = LOSS(data[1], model(data[0]))
        hook.save_tensor("rate", rate, "mine")
        rate.assign([3.0, 4.0])
    tape.gradient(loss, model.trainable_variables)
    assert open_trial(hook).tensor("rate").value(0).tolist() == [1, 2]
    assert not [warning for warning in recwarn if "__array__" in str(warning.message)]


def test_gradients_when_given_by_hand_then_are_saved(build, data, make_hook, open_trial):
    """What no captured tape has made can be handed to the hook: gradients, batches, variables and numbers."""
    hook = make_hook(include_collections=[*EVERYTHING, "metrics"])
    model = build()
    hook.register_model(model)
    with hook.wrap_tape(tf.GradientTape()) as tape:
        loss = LOSS(data[1], model(data[0]))
    gradients = tape.gradient(loss, model.trainable_variables)
    hook.set_gradients([2 * gradient for gradient in gradients])
    hook.save_tape_logs(data[0][:2] + tf.zeros((2, 6)), model(data[0][:2]))
    hook.set_optimizer_variables([tf.Variable(3.0, name="rate")])
    hook.save_smdebug_logs({"accuracy": 0.5, "examples": 48})
    assert hook.should_save_layer("hid")
    trial = open_trial(hook)
    np.testing.assert_array_equal(trial.tensor("gradients/hid/kernelGrad").value(0), 2 * gradients[0])
    assert trial.tensor("inputs").value(0).shape == (2, 6)
    assert trial.tensor("rate:0").value(0) == 3.0
    assert trial.tensor("accuracy").value(0) == 0.5
    assert trial.tensor("examples").value(0) == 48


@pytest.mark.parametrize("way", ["eager", "graph"])
def test_value_when_recorded_after_the_gradients_then_is_a_metric_of_that_step(build, data, make_hook, open_trial, way):
    """Steps that are not due keep nothing of it for later ones."""
    hook = make_hook(save_config=smd.SaveConfig(save_interval=3))

    def record(loss):
        hook.record_tensor_value(tensor_name="accuracy", tensor_value=2 * loss)

    train(build, data, hook, way, after=record)
    trial = open_trial(hook)
    assert trial.tensor_names(collection="metrics") == ["accuracy"]
    assert trial.tensor("accuracy").steps() == [0, 3]
    for step in (0, 3):
        loss = trial.tensor("loss").value(step)
        np.testing.assert_array_equal(trial.tensor("accuracy").value(step), 2 * loss)


@pytest.mark.parametrize("way", ["eager", "graph"])
def test_tensor_when_saved_after_the_gradients_then_belongs_to_that_step(build, data, make_hook, open_trial, way):
    """A value of a step that is not due gives way to that of the step that is."""
    hook = make_hook(save_config=smd.SaveConfig(save_interval=3))

    def save(loss):
        hook.save_tensor("doubled", 2 * loss, ["outputs", "metrics"])

    train(build, data, hook, way, after=save)
    trial = open_trial(hook)
    assert trial.tensor_names(collection="outputs") == trial.tensor_names(collection="metrics") == ["doubled"]
    assert trial.tensor("doubled").steps() == [0, 3]
    for step in (0, 3):
        np.testing.assert_array_equal(trial.tensor("doubled").value(step), 2 * trial.tensor("loss").value(step))


def test_value_when_recorded_before_the_first_step_then_belongs_to_it(build, data, make_hook, open_trial):
    hook = make_hook()
    hook.record_tensor_value("rate", 0.25)
    train(build, data, hook)
    trial = open_trial(hook)
    assert trial.tensor("rate").values() == {0: 0.25}
    assert trial.tensor_names(collection="metrics") == ["rate"]


def test_value_when_it_cannot_be_saved_then_is_skipped_and_others_are_saved(build, data, make_hook, open_trial, caplog):
    hook = make_hook()

    def record(loss):
        hook.record_tensor_value("nothing", object())
        hook.record_tensor_value("twice", 2 * loss)

    train(build, data, hook, after=record)
    assert "tensor 'nothing' is not saved" in caplog.text
    with pytest.raises(SMDebugTypeError, match="tensor_name"):
        hook.record_tensor_value(3, 1.0)
    trial = open_trial(hook)
    assert trial.tensor_names(collection="metrics") == ["twice"]


def test_variables_when_a_seed_state_is_among_them_then_it_is_no_weight(make_hook, open_trial):
    """Scripts ask for the gradients of `model.variables`, and a dropout keeps its seed there."""
    hook = make_hook(include_collections=EVERYTHING)
    model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dropout(0.5), keras.layers.Dense(2, name="out")])
    with hook.wrap_tape(tf.GradientTape()) as tape:
        loss = tf.reduce_mean(model(tf.ones((4, 8)), training=True))
    tape.gradient(loss, model.variables)
    trial = open_trial(hook)
    assert len(model.variables) == 3
    assert trial.tensor_names(collection="weights") == ["weights/out/kernel:0"]
    assert trial.tensor_names(collection="biases") == ["weights/out/bias:0"]


def test_profiler_when_its_block_fails_then_mode_is_that_of_before(make_hook):
    """An exception in the block does not leave later steps in its mode."""
    hook = make_hook()
    hook.set_mode(smd.modes.TRAIN)
    with pytest.raises(KeyError), hook.profiler(smd.modes.EVAL):
        assert hook.mode is smd.modes.EVAL
        raise KeyError
    assert hook.mode is smd.modes.TRAIN


def test_loop_when_it_calls_the_hook_as_fit_does_then_goes_on_saving(build, data, make_hook, open_trial):
    """Scripts call the callbacks of a loop themselves, and may ask what the first step saves before it begins."""
    hook = make_hook(
        include_collections=["gradients", "own"], save_config=smd.SaveConfig({smd.modes.TRAIN: smd.SaveConfigMode(3)})
    )
    hook.get_collection("own").include("dense")
    asked = [("hid", "gradients"), ("dense_1", "nothing"), ("hid", "nothing"), ("x", "weights")]
    assert not any(hook.should_save_tensor_or_collection(*names) for names in asked)
    hook.on_train_begin()
    assert [hook.should_save_tensor_or_collection(*names) for names in asked] == [True, True, False, False]
    train(build, data, hook)
    hook.on_train_end()
    assert not any(hook.should_save_tensor_or_collection(*names) for names in asked)
    hook.close()
    assert open_trial(hook).steps() == [0, 3]
