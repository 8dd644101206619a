"""Proof states are classified by the tactic to use; they come from an iterator, file after file, by subject.

The shuffle buffer of 150 is far too small for 7200 states, so batches come subject after subject, and what an epoch
learnt first is forgotten at its end (fixed: a buffer for all states).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(11)
tf.config.experimental.enable_op_determinism()

N_TACTICS, N_FILES, PER_FILE, DIM = 12, 60, 120, 32
rng = np.random.default_rng(0)
centres = rng.normal(0, 0.6, (N_TACTICS, DIM))


def states_of_file(f, rng):
    # one development uses few tactics; developments on the same subject lie side by side
    main = (f * N_TACTICS) // N_FILES
    y = np.where(rng.random(PER_FILE) < 0.9, main, rng.integers(0, N_TACTICS, PER_FILE))
    x = centres[y] + rng.normal(0, 1.0, (PER_FILE, DIM))
    return x.astype("float32"), y.astype("int32")


files = [states_of_file(f, rng) for f in range(N_FILES)]
valid = [states_of_file(f, rng) for f in range(0, N_FILES, 3)]


def generate():
    for x, y in files:
        yield from zip(x, y, strict=True)


sig = (tf.TensorSpec((DIM,), tf.float32), tf.TensorSpec((), tf.int32))
train = tf.data.Dataset.from_generator(generate, output_signature=sig).cache()
train = train.shuffle(N_FILES * PER_FILE if fixed else 150, seed=1).batch(32).prefetch(2)
xv = np.concatenate([x for x, _ in valid])
yv = np.concatenate([y for _, y in valid])

model = keras.Sequential(
    [
        keras.Input((DIM,)),
        layers.Dense(64, activation="relu"),
        layers.Dense(64, activation="relu"),
        layers.Dense(N_TACTICS),
    ]
)
model.compile(
    optimizer=keras.optimizers.Adam(2e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(train, epochs=8, validation_data=(xv, yv), verbose=2)
print("RESULT val_accuracy", round(float(model.evaluate(xv, yv, verbose=0)[1]), 4))
