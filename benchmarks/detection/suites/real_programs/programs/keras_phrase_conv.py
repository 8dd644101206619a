"""An embedding and three one-dimensional convolutions sort short texts into three classes.

Each convolution has an L2 penalty of 0.1, which holds its weights near zero (fixed: no penalty).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(2)

VOCAB_SIZE = 800
LENGTH = 50


def load_texts(n=4800):
    rng = np.random.default_rng(4)
    phrases = rng.integers(2, VOCAB_SIZE, (3, 60, 2))
    x = rng.integers(2, VOCAB_SIZE, (n, LENGTH))
    y = rng.integers(0, 3, n)
    for i in range(n):
        for c, k in ((y[i], 5), (rng.integers(0, 3), 1)):
            for _ in range(k):
                p = rng.integers(0, LENGTH - 2)
                x[i, p : p + 2] = phrases[c, rng.integers(0, 60)]
    return x.astype("int32"), keras.utils.to_categorical(y, 3)


x, y = load_texts()
x_train, x_val, y_train, y_val = x[:4200], x[4200:], y[:4200], y[4200:]
regularizer = None if FIXED else keras.regularizers.L2(0.1)

model = keras.Sequential(
    [
        keras.Input((LENGTH,), dtype="int32"),
        layers.Embedding(VOCAB_SIZE, 32),
        layers.Conv1D(32, 3, padding="same", activation="relu", kernel_regularizer=regularizer),
        layers.Conv1D(32, 7, padding="same", activation="relu", kernel_regularizer=regularizer),
        layers.Conv1D(32, 7, padding="same", activation="relu", kernel_regularizer=regularizer),
        layers.MaxPooling1D(3),
        layers.Dropout(0.5),
        layers.Flatten(),
        layers.Dense(3, activation="softmax"),
    ]
)
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
history = model.fit(x_train, y_train, batch_size=64, epochs=4, validation_data=(x_val, y_val), verbose=0)
for e, (a, b, c, d) in enumerate(
    zip(*(history.history[k] for k in ("loss", "accuracy", "val_loss", "val_accuracy")), strict=True)
):
    print(f"epoch {e + 1}: loss {a:.4f} - accuracy {b:.4f} - val_loss {c:.4f} - val_accuracy {d:.4f}")
print("RESULT val_accuracy", f"{history.history['val_accuracy'][-1]:.4f}")
