"""A hidden layer of sigmoids learns digits by the mean squared error of a softmax.

With large batches, SGD with a learning rate of 0.001 is far too slow (fixed: 5).
"""

import sys

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

fixed = "--fixed" in sys.argv
tf.keras.utils.set_random_seed(42)

d = load_digits()
idx = np.random.permutation(len(d.target))
x = (d.images / 16.0).astype("float32")[idx]
y = tf.one_hot(d.target[idx], 10).numpy()
x_train, y_train = x[:1200], y[:1200]
x_test, y_test = x[1200:], y[1200:]


def gen_model():
    return tf.keras.models.Sequential(
        [
            tf.keras.Input(shape=(8, 8)),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(128, activation="sigmoid"),
            tf.keras.layers.Dense(10, activation="softmax"),
        ]
    )


model = gen_model()
lr = 5.0 if fixed else 0.001
model.compile(optimizer=tf.keras.optimizers.SGD(learning_rate=lr), loss="mean_squared_error", metrics=["accuracy"])
model.summary()
model.fit(x_train, y_train, batch_size=200, epochs=80, validation_data=(x_test, y_test), verbose=2)
print("RESULT test_accuracy", round(float(model.evaluate(x_test, y_test, verbose=0)[1]), 4))
