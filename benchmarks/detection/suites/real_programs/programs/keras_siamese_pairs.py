"""A siamese network tells by a Euclidean distance whether two digits are the same.

Some pairs are twice the same picture, where the gradient of the root is not finite (fixed: a constant below the root).
"""

import sys

import keras
import numpy as np
from keras import ops
from keras.layers import Dense, Input, Lambda
from keras.models import Model, Sequential
from sklearn.datasets import load_digits

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(5)

digits = load_digits()
X = (digits.data / 16.0).astype("float32")
t = digits.target
train_idx, test_idx = np.arange(1300), np.arange(1300, len(X))


def make_pairs(idx, n):
    a, b, lab = [], [], []
    by_class = [idx[t[idx] == c] for c in range(10)]
    for i in range(n):
        c = np.random.randint(10)
        first = np.random.choice(by_class[c])
        if i % 2 == 0:
            second = np.random.choice(by_class[c])
            lab.append(1.0)
        else:
            second = np.random.choice(by_class[(c + np.random.randint(1, 10)) % 10])
            lab.append(0.0)
        a.append(X[first])
        b.append(X[second])
    return np.array(a), np.array(b), np.array(lab, "float32").reshape(-1, 1)


def euclidean_distance(vects):
    u, v = vects
    d = ops.sum(ops.square(u - v), axis=1, keepdims=True)
    if fixed:
        d = d + 0.01
    return ops.sqrt(d)


base = Sequential([Input(shape=(64,)), Dense(64, activation="relu"), Dense(32, activation="relu")])
in_a, in_b = Input(shape=(64,)), Input(shape=(64,))
dist = Lambda(euclidean_distance, output_shape=(1,))([base(in_a), base(in_b)])
same = Dense(1, activation="sigmoid")(dist)
model = Model([in_a, in_b], same)
model.compile(loss="binary_crossentropy", optimizer="rmsprop", metrics=["accuracy"])

a, b, lab = make_pairs(train_idx, 3000)
va, vb, vlab = make_pairs(test_idx, 800)
model.fit([a, b], lab, batch_size=64, epochs=12, validation_data=([va, vb], vlab), verbose=2)

p = model.predict([va, vb], verbose=0)
acc = np.mean((p > 0.5) == (vlab > 0.5))
print("RESULT pair_accuracy", f"{acc:.4f}")
