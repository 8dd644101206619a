"""Twin networks whose contrastive loss takes 1 for different digits, while pairs of the same digit are labelled 1.

Equal digits are pushed apart, and different ones pulled together (fixed: the two terms of the loss swapped).
"""

import random
import sys

import keras
import numpy as np
from keras import layers, ops
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1337)


def create_pairs(x, indices):
    pairs, labels = [], []
    n = min(len(ix) for ix in indices) - 1
    for d in range(10):
        for i in range(n):
            pairs.append([x[indices[d][i]], x[indices[d][i + 1]]])
            other = (d + random.randrange(1, 10)) % 10
            pairs.append([x[indices[d][i]], x[indices[other][i]]])
            labels += [1, 0]
    return np.array(pairs), np.array(labels, dtype="float32")


def contrastive_loss(y_true, y_pred):
    margin = 1.0
    near = ops.square(y_pred)
    far = ops.square(ops.maximum(margin - y_pred, 0.0))
    if fixed:
        return ops.mean(y_true * near + (1 - y_true) * far)
    return ops.mean((1 - y_true) * near + y_true * far)


digits = load_digits()
x = (digits.data / 16.0).astype("float32")
x_tr, x_te, y_tr, y_te = train_test_split(x, digits.target, test_size=0.3, random_state=0, stratify=digits.target)
tr_pairs, tr_y = create_pairs(x_tr, [np.where(y_tr == i)[0] for i in range(10)])
te_pairs, te_y = create_pairs(x_te, [np.where(y_te == i)[0] for i in range(10)])

base = keras.Sequential(
    [
        keras.Input((64,)),
        layers.Dense(128, activation="relu"),
        layers.Dropout(0.1),
        layers.Dense(128, activation="relu"),
        layers.Dropout(0.1),
        layers.Dense(128, activation="relu"),
    ]
)
a, b = keras.Input((64,)), keras.Input((64,))
distance = layers.Lambda(
    lambda v: ops.sqrt(ops.maximum(ops.sum(ops.square(v[0] - v[1]), axis=1, keepdims=True), 1e-7)), output_shape=(1,)
)([base(a), base(b)])
model = keras.Model([a, b], distance)
model.compile(loss=contrastive_loss, optimizer=keras.optimizers.RMSprop(1e-3))
model.fit(
    [tr_pairs[:, 0], tr_pairs[:, 1]],
    tr_y,
    batch_size=64,
    epochs=20,
    validation_data=([te_pairs[:, 0], te_pairs[:, 1]], te_y),
    verbose=2,
)

p = model.predict([te_pairs[:, 0], te_pairs[:, 1]], verbose=0).ravel()
print("RESULT accuracy", f"{np.mean((p < 0.5) == (te_y == 1)):.4f}")
