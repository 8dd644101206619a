"""A small Keras model, data for it, and `fit` in batches of eight."""

from __future__ import annotations

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf

import sagemaker_debug_ext.tensorflow as smd

tf.config.threading.set_intra_op_parallelism_threads(1)  # the models are tiny
tf.config.threading.set_inter_op_parallelism_threads(1)
tf.config.set_logical_device_configuration(  # two, so that a model can have replicas
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
)
tf.get_logger().setLevel("ERROR")  # short runs of many small models look to TensorFlow as if one was traced often

RANDOM = np.random.default_rng(5)
INPUTS = RANDOM.normal(size=(48, 6)).astype("float32")
LABELS = RANDOM.integers(0, 3, 48)
BATCH_SIZE = 8


def make_model(seed=11, optimizer=None, **settings):
    """Make the model that the golden trials were made of."""
    keras.utils.set_random_seed(seed)
    layers = [
        keras.Input((6,)),
        keras.layers.Dense(5, activation="relu", name="hid"),
        keras.layers.Dense(3, activation="softmax", name="out"),
    ]
    model = keras.Sequential(layers)
    settings.setdefault("jit_compile", False)
    settings.setdefault("metrics", ["accuracy"])
    optimizer = keras.optimizers.Adam(0.01) if optimizer is None else optimizer
    model.compile(optimizer, "sparse_categorical_crossentropy", **settings)
    return model


class Trainer:
    """Trains and evaluates the usual model with the first batches of the data."""

    hook_class = smd.KerasHook

    def __init__(self, hook=None):
        self.model = make_model()
        self.hook = hook
        self.histories = []

    def attach(self, hook):
        self.hook = hook

    def train(self, steps, after_step=None):
        hooks = [] if self.hook is None else [self.hook]
        if after_step is not None:
            hooks.append(keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: after_step()))
        x, y = (np.resize(array, (steps * BATCH_SIZE, *array.shape[1:])) for array in (INPUTS, LABELS))
        history = self.model.fit(x, y, batch_size=BATCH_SIZE, verbose=0, shuffle=False, callbacks=hooks)
        self.histories.append(history.history)
        return self

    def evaluate(self, steps):
        hooks = [] if self.hook is None else [self.hook]
        size = steps * BATCH_SIZE
        found = self.model.evaluate(INPUTS[:size], LABELS[:size], batch_size=BATCH_SIZE, verbose=0, callbacks=hooks)
        self.histories.append(found)
        return self

    @property
    def parameter(self):
        return tf.identity(self.model.get_layer("out").kernel)

    def spoil(self):
        """Make every loss to come NaN."""
        self.model.get_layer("out").bias.assign([np.nan] * 3)

    def result(self):
        """Return all that training leaves as bytes: weights, optimizer, histories, and the next random numbers."""
        values = [*self.model.get_weights(), *(np.asarray(variable) for variable in self.model.optimizer.variables)]
        values.append(np.asarray(keras.random.uniform((3,))))
        return b"".join(value.tobytes() for value in values) + repr(self.histories).encode()

    def attachments(self):
        """Return the functions that Keras runs, and the names of attributes of model, layers and optimizer."""
        functions = [type(getattr(self.model, f"{kind}_function")) for kind in ("train", "test", "predict")]
        parts = [*self.model.layers, self.model.optimizer]
        return functions, [sorted(set(vars(part)) & {"call", "apply", "train_step"}) for part in [self.model, *parts]]
