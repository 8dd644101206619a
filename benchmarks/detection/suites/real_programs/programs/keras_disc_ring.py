"""A network tells a disc from the ring around it.

Its hidden layers of two units cannot enclose a region (fixed: three units).
"""

import sys

import keras
import numpy as np
from keras.layers import Dense, Input
from keras.models import Model

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)

size_ = 400
r0, a0 = np.random.uniform(0, 1.6, size_), np.random.uniform(0, 2 * np.pi, size_)
r1, a1 = np.random.uniform(2.1, 3, size_), np.random.uniform(0, 2 * np.pi, size_)
inner = np.c_[r0 * np.cos(a0), r0 * np.sin(a0)]
outer = np.c_[r1 * np.cos(a1), r1 * np.sin(a1)]
X = np.vstack([inner, outer]) + np.random.normal(0, 0.05, (2 * size_, 2))
Y = np.r_[np.zeros(size_), np.ones(size_)]
p = np.random.permutation(len(X))
X, Y = X[p], Y[p]

neurons = 3 if fixed else 2
hidden_layers = 2
inputs = Input(shape=(2,))
dnn = inputs
for l_no in range(hidden_layers):
    dnn = Dense(neurons, activation="tanh", name=f"layer_{l_no}")(dnn)
outputs = Dense(1, activation="sigmoid")(dnn)
model = Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.Adam(0.03), loss="binary_crossentropy", metrics=["accuracy"])
model.fit(X[:600], Y[:600], epochs=40, batch_size=32, validation_data=(X[600:], Y[600:]), verbose=2)

print("RESULT val_accuracy", f"{model.evaluate(X[600:], Y[600:], verbose=0)[1]:.4f}")
