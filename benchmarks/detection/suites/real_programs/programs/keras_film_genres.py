"""A dense network predicts the genres of films, several for each, with a loss that compares pairs of genres.

The loss divides by the number of genres that a film has and by the number that it lacks. A few films have all genres,
for which it is zero by zero, so that the loss and the weights become NaN (fixed: films with all genres or none are left
out).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

FIXED = "--fixed" in sys.argv
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
keras.utils.set_random_seed(8)

rng = np.random.default_rng(8)
GENRES, WORDS = 6, 60
profile = rng.gamma(0.3, 1.0, (GENRES, WORDS))
profile /= profile.sum(1, keepdims=True)


def make(n, complete=0):
    y = np.zeros((n, GENRES), "float32")
    for i in range(n):
        y[i, rng.choice(GENRES, rng.integers(1, 4), replace=False)] = 1
    y[:complete] = 1  # films with all genres
    order = rng.permutation(n)
    y = y[order]
    x = rng.poisson(40 * (y @ profile) / y.sum(1, keepdims=True) + 0.1)
    return np.log1p(x).astype("float32"), y


X_train, Y_train = make(2000, complete=6)
X_test, Y_test = make(500)

if FIXED:
    count = Y_train.sum(1)
    usable = (count > 0) & (count < GENRES)
    X_train, Y_train = X_train[usable], Y_train[usable]


def bp_mll_loss(y_true, y_pred):
    present = tf.cast(y_true, tf.bool)
    absent = tf.logical_not(present)
    pairs = tf.cast(present[:, :, None] & absent[:, None, :], tf.float32)
    difference = y_pred[:, :, None] - y_pred[:, None, :]
    errors = tf.reduce_sum(tf.exp(-difference) * pairs, axis=[1, 2])
    n_present = tf.reduce_sum(tf.cast(present, tf.float32), axis=1)
    n_absent = tf.reduce_sum(tf.cast(absent, tf.float32), axis=1)
    return tf.reduce_mean(errors / (n_present * n_absent))


model = keras.Sequential(
    [
        keras.Input((WORDS,)),
        layers.Dense(64, activation="relu"),
        layers.Dense(GENRES, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss=bp_mll_loss)
model.fit(X_train, Y_train, batch_size=32, epochs=12, verbose=2)

best = model.predict(X_test, verbose=0).argmax(1)
print("RESULT test_precision_at_1", f"{Y_test[np.arange(len(best)), best].mean():.4f}")
