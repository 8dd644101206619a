"""Several tags of a picture hold at once, but a softmax shares out one (fixed: a sigmoid for each)."""

import sys

import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)

digits = load_digits()
x = (digits.data / 16.0).astype("float32")
groups = {
    "even": [0, 2, 4, 6, 8],
    "large": [5, 6, 7, 8, 9],
    "prime": [2, 3, 5, 7],
    "loop": [0, 6, 8, 9],
    "triple": [0, 3, 6, 9],
}
y = np.stack([np.isin(digits.target, members) for members in groups.values()], axis=1).astype("float32")
used = y.sum(axis=1) > 0
x_train, x_val, y_train, y_val = train_test_split(x[used], y[used], test_size=0.25, random_state=0)

model = keras.Sequential(
    [
        keras.Input((64,)),
        layers.Dense(64, activation="relu"),
        layers.Dense(len(groups), activation="sigmoid" if fixed else "softmax"),
    ]
)
model.compile(
    optimizer=keras.optimizers.Adam(2e-3), loss="binary_crossentropy" if fixed else "categorical_crossentropy"
)
model.fit(x_train, y_train, validation_data=(x_val, y_val), batch_size=32, epochs=20, verbose=2)

tags = (model.predict(x_val, verbose=0) > 0.5).astype(int)
print("RESULT val_micro_f1", f1_score(y_val.astype(int), tags, average="micro"))
