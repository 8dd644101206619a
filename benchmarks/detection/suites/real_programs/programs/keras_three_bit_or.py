"""A small network is to say whether there is a 1 among three bits, and stays at 87.5 %.

Its only output unit has a softmax, which is always 1, with categorical cross-entropy, which is then always 0
(fixed: a sigmoid and binary cross-entropy).
"""

import sys

import keras
import numpy as np
from keras import layers, models

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(0)

train_bits = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1]]).astype(
    "float32"
)
train_labels = np.array([[0], [1], [1], [1], [1], [1], [1], [1]]).astype("float32")

model = models.Sequential()
model.add(layers.Input((3,)))
model.add(layers.Dense(6, activation="relu"))
model.add(layers.Dense(6, activation="relu"))
model.add(layers.Dense(1, activation="sigmoid" if FIXED else "softmax"))

model.compile(
    optimizer="adam", loss="binary_crossentropy" if FIXED else "categorical_crossentropy", metrics=["accuracy"]
)
for epoch in range(600):
    order = np.random.permutation(8)
    model.reset_metrics()
    for batch in (order[:4], order[4:]):
        loss, accuracy = model.train_on_batch(train_bits[batch], train_labels[batch])
    if epoch % 60 == 0:
        print("epoch", epoch, "loss", float(loss), "accuracy", float(accuracy))

answers = model.predict(train_bits, verbose=0)
print(np.c_[train_bits, answers.round(3)])
accuracy = np.mean((answers > 0.5) == (train_labels > 0.5))
print("RESULT accuracy", f"{accuracy:.4f}")
