"""A deep network learns few noisy pictures of digits by heart (fixed: dropout, and early stopping)."""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from sklearn.datasets import load_digits

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(3755)
tf.config.experimental.enable_op_determinism()
rng = np.random.default_rng(3755)

digits = load_digits()
x = (digits.images / 16.0 + rng.normal(0, 0.45, digits.images.shape)).astype("float32")[..., None]
y = keras.utils.to_categorical(digits.target, 10)
order = rng.permutation(len(x))
x, y = x[order], y[order]
x_train, y_train = x[:500], y[:500]
x_val, y_val = x[500:900], y[500:900]
x_test, y_test = x[900:], y[900:]

model = keras.Sequential()
model.add(keras.Input((8, 8, 1)))
for i in range(4):
    model.add(layers.Conv2D(32, 3, padding="same", activation="relu"))
    if i % 2:
        model.add(layers.MaxPooling2D())
        if fixed:
            model.add(layers.Dropout(0.25))
model.add(layers.Flatten())
model.add(layers.Dense(128, activation="relu"))
if fixed:
    model.add(layers.Dropout(0.5))
model.add(layers.Dense(10, activation="softmax"))
model.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.Adam(1e-3), metrics=["accuracy"])

callbacks = [keras.callbacks.EarlyStopping("val_loss", patience=8, restore_best_weights=True)] if fixed else []
h = model.fit(
    x_train, y_train, batch_size=32, epochs=40, validation_data=(x_val, y_val), callbacks=callbacks, verbose=0
)
for k in ("loss", "val_loss", "val_accuracy"):
    print(k, [f"{v:.3f}" for v in h.history[k][::7]])
print("test accuracy", model.evaluate(x_test, y_test, verbose=0)[1])

print("RESULT test_loss", f"{model.evaluate(x_test, y_test, verbose=0)[0]:.4f}")
