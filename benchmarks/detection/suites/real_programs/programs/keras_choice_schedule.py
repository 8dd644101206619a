"""A scoring network learns which of seven hotels a customer chooses, under a schedule of the learning rate.

The rate is to be multiplied by 0.9 every five epochs. The scheduler multiplies the rate that it has lowered already
by 0.9 ** floor((epoch + 1) / 5) in every epoch, so the rate falls to nothing long before the network is trained
(fixed: lowered only in the epochs in which a drop is due).
"""

import math
import sys

import keras
import numpy as np
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)

n_objects, n_features = 7, 6
n_train, n_test = 1500, 600
X = rng.normal(size=(n_train + n_test, n_objects, n_features)).astype("float32")
utility = (
    1.5 * np.sin(2.0 * X[..., 0])
    + X[..., 1] * X[..., 2]
    - 0.8 * np.abs(X[..., 3])
    + 0.7 * X[..., 4] * np.tanh(2 * X[..., 5])
)
choice = utility.argmax(1)
Y = keras.utils.to_categorical(choice, n_objects)
X_train, X_test, Y_train, Y_test = X[:n_train], X[n_train:], Y[:n_train], Y[n_train:]


class LRScheduler(keras.callbacks.LearningRateScheduler):
    def __init__(self, epochs_drop=5, drop=0.9, verbose=0):
        self.epochs_drop = epochs_drop
        self.drop = drop
        super().__init__(self.step_decay, verbose=verbose)

    def step_decay(self, epoch, lr):
        if FIXED:
            if epoch > 0 and epoch % self.epochs_drop == 0:
                return lr * self.drop
            return lr
        step = math.floor((1 + epoch) / self.epochs_drop)
        return lr * math.pow(self.drop, step)


objects = keras.Input((n_objects, n_features))
h = layers.Dense(64, activation="relu")(objects)
h = layers.Dense(64, activation="relu")(h)
scores = layers.Dense(1)(h)
out = layers.Softmax()(layers.Flatten()(scores))
model = keras.Model(objects, out)
model.compile(
    optimizer=keras.optimizers.SGD(learning_rate=0.015, momentum=0.9, nesterov=True),
    loss="categorical_crossentropy",
    metrics=["categorical_accuracy"],
)
history = model.fit(
    X_train,
    Y_train,
    batch_size=128,
    epochs=70,
    validation_split=0.1,
    callbacks=[LRScheduler(epochs_drop=5, drop=0.9)],
    verbose=0,
)
for e in range(0, 70, 7):
    print(e, {k: round(float(v[e]), 5) for k, v in history.history.items()})
loss, acc = model.evaluate(X_test, Y_test, verbose=0)
print("RESULT test_choice_accuracy", f"{acc:.4f}")
