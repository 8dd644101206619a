"""A convolutional network tells six states of pumps apart by their vibrations, from a stream of records.

The dataset that shuffle() returns is not assigned, so the records come in the order in which they were written, one
state after the other (fixed: dataset = dataset.shuffle(...)).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(8)
rng = np.random.default_rng(8)
LENGTH, STATES = 96, 6
t = np.arange(LENGTH) / LENGTH


def vibration(state):
    phase = rng.uniform(0, 2 * np.pi, 3)
    tones = [(5, 1.0)] + [
        [],
        [(11, 0.9)],
        [(17, 0.9)],
        [(11, 0.6), (23, 0.7)],
        [(29, 0.8)],
        [(17, 0.6), (29, 0.6)],
    ][state]
    wave = sum(a * rng.uniform(0.8, 1.2) * np.sin(2 * np.pi * f * t + phase[i]) for i, (f, a) in enumerate(tones))
    return wave + rng.normal(0, 0.35, LENGTH)


def write_records(per_state):
    waves = [vibration(s) for s in range(STATES) for _ in range(per_state)]
    states = [s for s in range(STATES) for _ in range(per_state)]
    return np.array(waves, "float32")[..., None], np.array(states)


def build_dataset(records, batch_size, shuffle_buffer_size=None):
    dataset = tf.data.Dataset.from_tensor_slices(records)
    if shuffle_buffer_size:
        if FIXED:
            dataset = dataset.shuffle(shuffle_buffer_size)
        else:
            dataset.shuffle(shuffle_buffer_size)
    return dataset.batch(batch_size).prefetch(tf.data.AUTOTUNE)


train = build_dataset(write_records(320), batch_size=32, shuffle_buffer_size=2000)
test = build_dataset(write_records(100), batch_size=100)

model = keras.Sequential(
    [
        keras.Input((LENGTH, 1)),
        layers.Conv1D(16, 9, strides=2, activation="relu"),
        layers.Conv1D(32, 7, strides=2, activation="relu"),
        layers.GlobalAveragePooling1D(),
        layers.Dense(32, activation="relu"),
        layers.Dense(STATES, activation="softmax"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(0.003), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(train, epochs=6, verbose=2)

acc = model.evaluate(test, verbose=0)[1]
print("RESULT test_accuracy", f"{acc:.4f}")
