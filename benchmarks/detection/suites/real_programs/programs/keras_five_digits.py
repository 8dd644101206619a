"""A small dense network learns the digits 0 to 4 and is validated on a fifth of them.

The samples are sorted by class, and validation_split takes the last ones, which are all of a class that training never
sees (fixed: a stratified split is passed as validation_data).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(6)


def load_folders():
    x, y = load_digits(n_class=5, return_X_y=True)
    files = [x[y == c] for c in range(5)]
    labels = np.concatenate([np.full(len(f), c) for c, f in enumerate(files)])
    return np.concatenate(files).astype("float32") / 16.0, keras.utils.to_categorical(labels, 5)


x, y = load_folders()
model = keras.Sequential(
    [
        keras.Input((64,)),
        layers.Dense(32, activation="relu"),
        layers.Dropout(0.2),
        layers.Dense(5, activation="softmax"),
    ]
)
model.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.Adam(0.002), metrics=["accuracy"])
if FIXED:
    x_train, x_val, y_train, y_val = train_test_split(x, y, test_size=0.2, stratify=y.argmax(1), random_state=0)
    history = model.fit(x_train, y_train, batch_size=32, epochs=15, validation_data=(x_val, y_val), verbose=0)
else:
    history = model.fit(x, y, batch_size=32, epochs=15, validation_split=0.2, verbose=0)
for e, (a, b, c, d) in enumerate(
    zip(*(history.history[k] for k in ("loss", "accuracy", "val_loss", "val_accuracy")), strict=True)
):
    print(f"epoch {e + 1}: loss {a:.4f} - accuracy {b:.4f} - val_loss {c:.4f} - val_accuracy {d:.4f}")
print("RESULT val_accuracy", f"{history.history['val_accuracy'][-1]:.4f}")
