"""A small network learns whether more than half of eleven answers are yes.

Its only output unit has a softmax, which is always 1, so that the answer is always yes and no gradient reaches the
network (fixed: a sigmoid).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
import tensorflow as tf
from keras.layers import Dense, Input
from keras.models import Sequential

FIXED = "--fixed" in sys.argv
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
keras.utils.set_random_seed(123)
rng = np.random.default_rng(123)

n_answers = 11
codes = rng.permutation(2**n_answers)[:900]
X = ((codes[:, None] >> np.arange(n_answers)) & 1).astype("float32")
y = (X.sum(axis=1) > n_answers / 2).astype("float32")
X_train, y_train = X[:600], y[:600]
X_test, y_test = X[600:], y[600:]

model = Sequential(
    [
        Input((n_answers,)),
        Dense(10, activation=tf.nn.relu),
        Dense(1, activation=tf.nn.sigmoid if FIXED else tf.nn.softmax),
    ]
)
model.compile(optimizer="rmsprop", loss="binary_crossentropy", metrics=["accuracy"])
history = model.fit(X_train, y_train, epochs=100, batch_size=24, verbose=0)
for epoch in range(9, 100, 10):
    print(
        f"epoch {epoch + 1}: loss {history.history['loss'][epoch]:.4f}"
        f" accuracy {history.history['accuracy'][epoch]:.3f}"
    )

print("Training accuracy:", np.mean((model.predict(X_train, verbose=0)[:, 0] > 0.5) == y_train))
accuracy = np.mean((model.predict(X_test, verbose=0)[:, 0] > 0.5) == y_test)
print("RESULT test_accuracy", f"{accuracy:.4f}")
