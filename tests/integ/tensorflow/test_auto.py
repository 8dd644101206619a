"""Scripts that know nothing of a hook are captured, and behave as ever."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("tensorflow")

import sagemaker_debug_ext.tensorflow as smd
from sagemaker_debug_ext.rules import evaluate
from sagemaker_debug_ext.rules.causes import likely_causes
from sagemaker_debug_ext.rules.recommended import recommended_rules
from sagemaker_debug_ext.trials import create_trial
from support.scripts import run_captured, run_python, write_hook_file

SCRIPT = """
import sys
import tensorflow as tf

tf.keras.utils.set_random_seed(3)
hidden = tf.keras.layers.Dense(3, activation="relu", name="hid")
layers = [tf.keras.Input((4,)), hidden, tf.keras.layers.Dense(1, name="out")]
model = tf.keras.Sequential(layers)
model.compile("sgd", "mse", jit_compile=False)
x = tf.random.normal((24, 4))
history = model.fit(x, x[:, :1], 8, 2, 0, validation_data=(x[:8], x[:8, :1]))
model.predict(x, verbose=0)
print(sys.argv[1:], __name__, [loss.hex() for loss in history.history["loss"]], model.get_weights()[0].tobytes().hex())
if "--fail" in sys.argv:
    raise ValueError("the script's own")
sys.exit(7)
"""


@pytest.fixture
def script(tmp_path):
    """An ordinary training script."""
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    return path


@pytest.fixture
def configured(monkeypatch, tmp_path):
    """A hook configuration file as SageMaker puts it into the container."""
    write_hook_file(tmp_path / "hook.json", tmp_path / "out", ["weights", "gradients"])
    monkeypatch.setenv("SMDEBUG_CONFIG_FILE_PATH", str(tmp_path / "hook.json"))
    return tmp_path / "out"


def test_run_when_script_is_unchanged_then_is_captured_and_ends_as_ever(script, configured):
    """Output, arguments, exit status and result are those of the script; the trial has its tensors in all modes."""
    alone = run_python(script, "--lr", "3")
    captured = run_captured(script, "--lr", "3")
    assert (captured.returncode, captured.stdout) == (alone.returncode, alone.stdout), captured.stderr
    assert captured.returncode == 7
    trial = create_trial(str(configured))
    assert trial.steps(smd.modes.TRAIN) == list(range(6))
    assert trial.steps(smd.modes.EVAL) == [0, 1]
    assert trial.steps(smd.modes.PREDICT) == [0]
    assert {"loss", "val_loss", "gradients/hid/kernelGrad", "hid/weights/hid/kernel:0"} <= set(trial.tensor_names())


def test_run_when_script_fails_then_so_does_the_command(script, configured):
    """The error is the script's own, and what was saved until then is there."""
    captured = run_captured(script, "--fail")
    assert captured.returncode == 1
    assert "ValueError: the script's own" in captured.stderr
    assert len(create_trial(str(configured)).steps(smd.modes.TRAIN)) == 6


def test_import_when_script_has_a_hook_of_its_own_then_that_one_captures(script, configured, tmp_path):
    """One line at the top of the script does the same; a model that brings a hook gets no second one."""
    own = f"""
import sagemaker_debug_ext.auto
import sagemaker_debug_ext.tensorflow as smd
hook = smd.KerasHook({str(tmp_path / "own")!r}, save_config=smd.SaveConfig(save_interval=1))
"""
    script.write_text(own + SCRIPT.replace("validation_data=", "callbacks=[hook], validation_data="))
    report = run_python(script)
    assert report.returncode == 7, report.stderr
    assert len(create_trial(str(tmp_path / "own")).steps(smd.modes.TRAIN)) == 6
    assert not configured.exists()


BATCHES = """
import tensorflow as tf

tf.keras.utils.set_random_seed(3)
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3), tf.keras.layers.Activation("sigmoid")])
model.compile("sgd", "mse", jit_compile=False)
x = tf.random.normal((24, 4)).numpy()
losses = [float(model.train_on_batch(x[i : i + 8], x[i : i + 8, :3])) for i in (0, 8, 16)]
losses.append(float(model.test_on_batch(x, x[:, :3])))
answers = model.predict_on_batch(x[:1])
print([loss.hex() for loss in losses], model.get_weights()[0].tobytes().hex(), answers.tobytes().hex())
"""


def test_run_when_script_trains_on_single_batches_then_they_are_steps(script, configured, forks):
    """Batches without callbacks are captured, and come out the same."""
    script.write_text(BATCHES)
    alone, captured = forks.run_python(script), forks.run_captured(script)
    assert (captured.returncode, captured.stdout) == (alone.returncode, alone.stdout), captured.stderr
    assert "no training step" not in captured.stderr
    trial = create_trial(str(configured))
    assert trial.steps(smd.modes.TRAIN) == [0, 1, 2]
    assert trial.steps(smd.modes.EVAL) == trial.steps(smd.modes.PREDICT) == [0]
    # each loss is that of its batch alone, not a mean since an epoch began
    assert [trial.tensor("batch").value(step, mode=smd.modes.TRAIN).item() for step in range(3)] == [0, 0, 0]
    assert len(trial.tensor_names(collection="gradients")) == 2


TAPES = """
import tensorflow as tf

tf.keras.utils.set_random_seed(3)
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3, "relu"), tf.keras.layers.Dense(3)])
optimizer = tf.keras.optimizers.SGD(0.1)
x = tf.random.normal((24, 4))

@tf.function
def train(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss

losses = [float(train(x[i : i + 8], x[i : i + 8, :3])) for i in (0, 8, 16)]
print([loss.hex() for loss in losses], model.get_weights()[0].tobytes().hex())
"""


@pytest.mark.parametrize("text", [TAPES, TAPES.replace("@tf.function", "")], ids=["graph", "eager"])
def test_run_when_script_has_a_loop_with_a_tape_then_its_steps_are_captured(text, script, configured, forks):
    """A loop of the script's own comes out the same to the bit."""
    script.write_text(text)
    alone, captured = forks.run_python(script), forks.run_captured(script)
    assert (captured.returncode, captured.stdout) == (alone.returncode, alone.stdout), captured.stderr
    assert "no training step" not in captured.stderr
    trial = create_trial(str(configured))
    assert trial.steps(smd.modes.TRAIN) == [0, 1, 2]
    assert len(trial.tensor_names(collection="gradients")) == 4
    assert {"loss", "weights/dense/kernel:0"} <= set(trial.tensor_names())


NESTED = TAPES.replace("@tf.function", "").replace("x = tf", "model = tf.keras.Sequential([model]); x = tf")


@pytest.mark.parametrize("text", [NESTED, NESTED.replace("    return", "    model(x[:2])\n    return")])
def test_run_when_an_eager_loop_calls_its_model_then_inputs_and_outputs_are_saved(
    text, script, configured, tmp_path, forks
):
    """Those of the whole model, and none of a call for which no tape is open."""
    write_hook_file(tmp_path / "hook.json", configured, ["inputs", "outputs"])
    script.write_text(text)
    alone, captured = forks.run_python(script), forks.run_captured(script)
    assert (captured.returncode, captured.stdout) == (alone.returncode, alone.stdout), captured.stderr
    trial = create_trial(str(configured))
    assert trial.tensor_names(collection="inputs") == ["inputs"]
    assert trial.tensor_names(collection="outputs") == ["predictions"]
    assert [trial.tensor("inputs").value(step).shape for step in trial.steps()] == [(8, 4)] * 3
    assert [trial.tensor("predictions").value(step).shape for step in trial.steps()] == [(8, 3)] * 3


TRACED = """
import sys
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(3)
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(8, "relu"), tf.keras.layers.Dense(3)])
optimizer = tf.keras.optimizers.SGD(0.1)
loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
x, y = tf.random.normal((24, 4)).numpy(), np.arange(24) % 3
whole_x, whole_y = tf.constant(np.repeat(x, 40, 0)), tf.constant(np.repeat(y, 40, 0))

def learn(inputs, labels, loss_of=loss_of):
    with tf.GradientTape() as tape:
        loss = loss_of(labels, model(inputs, training=True))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss

@tf.function
def functional(inputs, labels):
    of_samples = tf.nn.sparse_softmax_cross_entropy_with_logits
    return learn(inputs, labels, lambda labels, logits: tf.reduce_mean(of_samples(labels=labels, logits=logits)))

@tf.function
def difference(inputs, labels):
    return learn(inputs, labels, lambda labels, answers: tf.reduce_mean((answers - tf.one_hot(labels, 3)) ** 2))

class Trainer:
    @tf.function
    def train(self, rate, batch, *, training=True):
        optimizer.learning_rate.assign(rate)
        return learn(tf.cast(batch["x"], tf.float32), batch["y"])

@tf.function
def nested(inputs, labels):
    return tf.function(learn)(inputs, labels)

@tf.function
def epoch(data):
    loss = 0.0
    for inputs, labels in data:
        loss = learn(inputs, labels)
    return loss

function = tf.function(learn)
kinds = {
    "function": lambda x, y: function(x, labels=y),
    "functional": functional,
    "difference": difference,
    "method": lambda x, y: Trainer().train(batch={"y": y, "x": x.astype(np.float64)}, rate=np.float32(0.1)),
    "fixed": lambda x, y: tf.function(lambda: learn(whole_x, whole_y))(),
    "nested": nested,
    "epoch": lambda x, y: epoch(tf.data.Dataset.from_tensor_slices((x, y)).batch(8)),
}
losses = [kind(x[i : i + 8], y[i : i + 8]) for kind in kinds.values() for i in (0, 8, 16)]
print([float(loss).hex() for loss in losses], model.get_weights()[0].tobytes().hex())
np.savez(sys.argv[1], x=x, y=y, kinds=list(kinds))
"""
TOLD = {"function": "xy", "functional": "xy", "difference": "x", "method": "xy", "fixed": "xy"}
"""Kinds of loops of which inputs (x) and labels (y) can be told; the others call functions or loop within a graph."""


def test_run_when_loops_are_traced_then_saves_what_their_functions_get(script, configured, tmp_path, forks):
    """The values of inputs and labels at each step, where they can be told without a change to the graph.

    Beside them are what the model and its layers give for the inputs with the weights of the step, once a function has
    been traced.
    """
    write_hook_file(tmp_path / "hook.json", configured, ["inputs", "outputs", "losses", "layers", "weights", "biases"])
    script.write_text(TRACED)
    alone, captured = (run(script, str(tmp_path / "data.npz")) for run in (forks.run_python, forks.run_captured))
    assert (captured.returncode, captured.stdout) == (alone.returncode, alone.stdout), captured.stderr
    trial, data = create_trial(str(configured)), np.load(tmp_path / "data.npz")
    kinds = data["kinds"].tolist()
    of_layers = {f"{layer}/{kind}" for layer in ("dense", "dense_1") for kind in ("inputs", "outputs")}
    weights = [f"weights/{layer}/{part}:0" for layer in ("dense", "dense_1") for part in ("kernel", "bias")]
    assert set(trial.tensor_names()) == {"loss", "inputs", "labels", "predictions", *weights, *of_layers}
    assert trial.steps() == list(range(3 * len(kinds)))
    for name, part in (("inputs", "x"), ("labels", "y")):
        told = [kind for kind in kinds if part in TOLD.get(kind, "")]
        assert trial.tensor(name).steps() == [3 * kinds.index(kind) + step for kind in told for step in range(3)]
        for step in trial.tensor(name).steps():
            start = 8 * (step % 3)
            is_fixed = kinds[step // 3] == "fixed"
            expected = np.repeat(data[part], 40, 0) if is_fixed else data[part][start : start + 8]
            np.testing.assert_array_equal(trial.tensor(name).value(step), expected)
    computed = [3 * kinds.index(kind) + step for kind in ("function", "functional", "difference") for step in (1, 2)]
    for name in ("predictions", *of_layers):
        assert trial.tensor(name).steps() == computed
    for step in computed:
        inputs, kernel, bias, last_kernel, last_bias = (trial.tensor(n).value(step) for n in ("inputs", *weights))
        hidden = np.maximum(inputs @ kernel + bias, 0)
        np.testing.assert_allclose(trial.tensor("dense/outputs").value(step), hidden, atol=1e-6)
        np.testing.assert_allclose(trial.tensor("predictions").value(step), hidden @ last_kernel + last_bias, atol=1e-6)


OWN_CODE = """
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(3)
layers = tf.keras.layers

class Counting(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.dense, self.num_calls, self.seen = layers.Dense(3), 0, []

    def call(self, x):
        self.num_calls += 1
        self.seen.append(len(self.seen))
        self.last = self.dense(x) * self.num_calls
        print("called", self.num_calls)
        return self.last

class Unhashable(tf.keras.Sequential):
    __hash__ = None

    def __eq__(self, other):
        return self is other

def make(kind=tf.keras.Sequential):
    return kind([tf.keras.Input((4,)), layers.Dense(3)])

def learn(model, x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(y - model(x)))
    for weight, gradient in zip(model.trainable_variables, tape.gradient(loss, model.trainable_variables)):
        weight.assign_sub(0.1 * gradient)
    return loss

@tf.function
def step(model, x, y, before=""):
    if before == "cut":
        x = tf.cast(tf.cast(x, tf.int32), tf.float32)
    elif before == "clip":
        model.trainable_variables[0].assign(tf.clip_by_value(model.trainable_variables[0], -0.1, 0.1))
    return learn(model, x, y)

x, y = 3 * tf.random.normal((12, 4)), tf.random.normal((12, 3))
counting, one, other = Counting(), make(), make()
counting(x)
losses = [step(counting, x[:n], y[:n]) for n in (8, 8, 12, 12, 8)]
losses += [step(model, x, y) for model in (one, other) * 3]
losses += [step(one, x, y, before) for before in ("cut", "clip") * 3]
counting(x)
print([float(loss).hex() for loss in losses], counting.num_calls, counting.seen, float(tf.reduce_sum(counting.last)))
print(float(learn(make(Unhashable), x, y)).hex())
"""


def test_run_when_models_have_code_of_their_own_then_it_runs_as_ever(script, configured, tmp_path, forks):
    """What is computed beside a graph is of the model and the weights of that step, or is not saved."""
    write_hook_file(tmp_path / "hook.json", configured, ["inputs", "outputs", "weights", "biases"])
    script.write_text(OWN_CODE)
    alone, captured = forks.run_python(script), forks.run_captured(script)
    assert (captured.returncode, captured.stdout) == (alone.returncode, alone.stdout), captured.stderr
    trial = create_trial(str(configured))
    assert trial.tensor("predictions").steps() == [1, 2, 3, 4, 7, 8, 9, 10]
    for step in trial.tensor("predictions").steps()[4:]:
        values = {name: trial.tensor(name).value(step) for name in trial.tensor_names(step=step)}
        kernel, bias = (next(v for n, v in values.items() if n.endswith(part)) for part in ("kernel:0", "bias:0"))
        np.testing.assert_allclose(values["predictions"], values["inputs"] @ kernel + bias, atol=1e-6)


CALLS = """
import tensorflow as tf

tf.keras.utils.set_random_seed(3)
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)])
loss_of = tf.keras.losses.BinaryCrossentropy(from_logits=True)

def learn(real, fake, compared):
    with tf.GradientTape() as tape:
        loss = loss_of(tf.ones((8, 1)), model(real)) if compared == "first" else 0.0
        answers = model(fake)
        if compared == "second":
            loss += loss_of(tf.zeros((8, 1)), answers)
        loss += 0.1 * tf.reduce_mean(model(real + fake) ** 2)
    return tape.gradient(loss, model.trainable_variables)

for compared in ("first", "second", "none"):
    learn(tf.ones((8, 4)), tf.zeros((8, 4)), compared)
"""


def test_run_when_an_eager_loop_calls_a_model_often_then_labels_are_those_of_its_inputs(
    script, configured, tmp_path, forks
):
    """The batch of the first loss of Keras; without one, the inputs of the last call, and no labels."""
    write_hook_file(tmp_path / "hook.json", configured, ["inputs", "outputs"])
    script.write_text(CALLS)
    assert forks.run_captured(script).returncode == 0
    trial = create_trial(str(configured))
    assert [trial.tensor("inputs").value(step).mean() for step in range(3)] == [1, 0, 1]
    assert trial.tensor("labels").steps() == [0, 1]
    assert [trial.tensor("labels").value(step).mean() for step in range(2)] == [1, 0]


FAULTY_LOOP = """
import sys
import tensorflow as tf

tf.keras.utils.set_random_seed(3)
layers = tf.keras.layers
model = tf.keras.Sequential([tf.keras.Input((4,)), layers.Dense(8), layers.BatchNormalization(), layers.ReLU()])
model.add(layers.Dense(3, "softmax" if "softmax" in sys.argv else None))
if "pair" in sys.argv:
    model = tf.keras.Model(model.inputs, [model.outputs[0], layers.Softmax()(model.outputs[0])])
optimizer = tf.keras.optimizers.SGD(0.1)
loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits="softmax" not in sys.argv)
x, y = tf.random.normal((48, 4)), tf.constant([0, 1, 2] * 16)

def answer(x, **told):
    answers = model(x, **told)
    return answers["second" in sys.argv] if "pair" in sys.argv else answers

def train(x, y):
    with tf.GradientTape() as tape:
        answers = answer(x) if "idle" in sys.argv else answer(x, training=True)
        if "object" in sys.argv:
            loss = loss_object(y, answers)
        else:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=answers))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss

def look_at_what_matters(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        best = tf.reduce_max(answer(x), axis=1)
    return tape.gradient(best, x)

def validate(x, y):
    return loss_object(y, answer(x, training="always" in sys.argv))

step, check = (tf.function(train), tf.function(validate)) if "graph" in sys.argv else (train, validate)
losses = [float(step(x[i : i + 8], y[i : i + 8])) for i in range(0, 48, 8)]
check(x[:8], y[:8])
look_at_what_matters(x)
print([loss.hex() for loss in losses], float(tf.reduce_sum(answer(x))).hex())
"""


@pytest.mark.parametrize(
    ("arguments", "causes"),
    [
        pytest.param(("graph",), [], id="sound"),
        pytest.param(("graph", "object"), [], id="sound with a loss of Keras"),
        pytest.param(("eager", "object", "softmax"), [], id="sound with probabilities"),
        pytest.param(("graph", "idle"), ["wrong mode"], id="called without training=True"),
        pytest.param(("graph", "always"), ["wrong mode"], id="validated with training=True"),
        pytest.param(("eager", "object", "always"), ["wrong mode"], id="the same in eager code"),
        pytest.param(("graph", "softmax"), ["loss or output"], id="softmax twice"),
        pytest.param(("eager", "softmax", "idle"), ["wrong mode", "loss or output"], id="both, in eager code"),
        pytest.param(("graph", "pair"), [], id="sound with scores and probabilities"),
        pytest.param(("graph", "pair", "second"), ["loss or output"], id="the second of both"),
        pytest.param(("eager", "pair", "second"), ["loss or output"], id="the second in eager code"),
    ],
)
def test_run_when_script_has_a_loop_with_a_fault_then_is_named(arguments, causes, script, configured, forks):
    """From how it calls the model and its loss."""
    script.write_text(FAULTY_LOOP)
    captured = forks.run_captured(script, *arguments)
    assert captured.returncode == 0, captured.stderr
    trial = create_trial(str(configured))
    rules = recommended_rules(trial)
    chosen = {name: rules[name] for name in ("LossInputMismatch", "TrainEvalMixup")}
    assert [cause.name for cause in likely_causes(evaluate(chosen, trial).run())] == causes


OWN_STEP = """
import tensorflow as tf

class Model(tf.keras.Sequential):
    def train_step(self, data):
        x, y = data[:2]
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x, training=True) - y) ** 2)
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return {"loss": loss}

tf.keras.utils.set_random_seed(3)
model = Model([tf.keras.Input((4,)), tf.keras.layers.Dense(3)])
model.compile("sgd", jit_compile=False)
x = tf.random.normal((24, 4)).numpy()
model.fit(x, x[:, :3], 8, verbose=0)
model.train_on_batch(x[:8], x[:8, :3])
"""


def test_run_when_a_model_opens_tapes_in_its_own_step_then_each_step_counts_once(script, configured, forks):
    """Tapes inside `fit` and `train_on_batch` are no loops of the script."""
    script.write_text(OWN_STEP)
    captured = forks.run_captured(script)
    assert captured.returncode == 0, captured.stderr
    assert create_trial(str(configured)).steps(smd.modes.TRAIN) == [0, 1, 2, 3]


SPREAD = """
import sys
import tensorflow as tf

class Model(tf.keras.Sequential):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            answers = self(x, training=True)
            if "flattened" in sys.argv:
                answers = tf.reshape(answers, [-1])
            if "squeezed" in sys.argv:
                answers = tf.squeeze(answers, axis=1)
            if "picked" in sys.argv:
                picked = tf.reduce_sum(answers * x[:, :2], axis=None if "all" in sys.argv else 1)
                loss = tf.reduce_mean((y - picked) ** 2)
            elif not {"pairs", "bins", "kernel"} & set(sys.argv):
                loss = tf.reduce_mean((y - answers) ** 2)
            if "pairs" in sys.argv:
                loss = tf.reduce_mean(tf.square(answers[:, None] - answers - y[:, None] + y))
            if "bins" in sys.argv:
                loss = tf.reduce_mean(tf.exp(tf.constant([[0.0], [1.0], [2.0]]) - answers))
            if "kernel" in sys.argv:
                loss = tf.reduce_mean(tf.exp(-tf.square(y[:, None] - answers)))
            if "function" in sys.argv:
                loss = tf.reduce_mean(tf.math.squared_difference(answers, y))
        self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
        return {"loss": loss}

tf.keras.utils.set_random_seed(3)
model = Model([tf.keras.Input((4,)), tf.keras.layers.Dense(2 if "picked" in sys.argv else 1)])
model.compile("sgd", jit_compile=False, run_eagerly="eager" in sys.argv)
x = tf.random.normal((24, 4))
y = x[:, :1] if "column" in sys.argv else x[:, 0]
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
if "fit" in sys.argv:
    model.fit(data, verbose=0)
else:
    signature = [tf.TensorSpec(None)] * 2 if "unknown" in sys.argv else None
    step = tf.function(lambda x, y: model.train_step((tf.reshape(x, (-1, 4)), y)), signature, reduce_retracing=True)
    for batch in data.batch(1):
        step(*tf.nest.map_structure(lambda part: part[0], batch))
"""


@pytest.mark.parametrize(
    ("arguments", "fires"),
    [
        (("fit",), True),
        (("fit", "column"), False),
        (("loop", "function"), True),
        (("loop", "unknown"), False),
        (("fit", "column", "flattened"), True),
        (("fit", "flattened"), False),
        (("loop", "column", "squeezed"), True),
        (("fit", "column", "flattened", "eager"), True),
        (("fit", "flattened", "pairs"), False),
        (("fit", "flattened", "pairs", "eager"), False),
        (("fit", "flattened", "bins"), False),
        (("fit", "flattened", "kernel"), False),
    ],
    ids=[
        "own step",
        "with a column",
        "loop",
        "targets of unknown axes",
        "flattened",
        "both flat",
        "loop that flattens",
        "eager",
        "pairs of answers",
        "eager pairs of answers",
        "answers and bins",
        "pairs of samples",
    ],
)
def test_run_when_targets_spread_answers_then_is_named(arguments, fires, script, configured, forks):
    """Targets and answers, of shapes (N,) and (N, 1), differ by N × N numbers, which a loss of its own averages."""
    script.write_text(SPREAD)
    captured = forks.run_captured(script, *arguments)
    assert captured.returncode == 0, captured.stderr
    trial = create_trial(str(configured))
    chosen = {"LossInputMismatch": recommended_rules(trial)["LossInputMismatch"]}
    messages = [issue.message for issue in evaluate(chosen, trial).run()]
    assert any("targets are broadcast" in message for message in messages) == fires


@pytest.mark.parametrize(
    ("arguments", "fires"),
    [(("loop", "picked", "all"), True), (("loop", "picked"), False), (("loop", "picked", "all", "unknown"), False)],
    ids=["of all samples", "of each sample", "batch of unknown size"],
)
def test_run_when_answers_of_all_samples_are_summed_then_is_named(arguments, fires, script, configured, forks):
    """A sum over the answers of each sample was meant."""
    script.write_text(SPREAD)
    captured = forks.run_captured(script, *arguments)
    assert captured.returncode == 0, captured.stderr
    trial = create_trial(str(configured))
    chosen = {"LossInputMismatch": recommended_rules(trial)["LossInputMismatch"]}
    messages = [issue.message for issue in evaluate(chosen, trial).run()]
    assert any("summed over all samples" in message for message in messages) == fires


LOOP = """
import tensorflow as tf

weight = tf.Variable(1.0)
weight.assign_sub(0.2 * weight)
print(float(weight))
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (LOOP, "a line above says why, or the script trained in no way that capture sees"),
        (BATCHES.replace("train_on_batch", "test_on_batch"), "only evaluations were seen"),
    ],
)
def test_run_when_no_training_step_was_seen_then_says_so_at_exit(text, told, script, configured, forks):
    """A trial that is missing, or has evaluations only, is no surprise."""
    script.write_text(text)
    captured = forks.run_captured(script)
    assert captured.returncode == 0
    assert f"no training step was captured: {told}. " in captured.stderr
