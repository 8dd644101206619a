"""A small network with two hidden layers of ReLU is to learn y = 2x - 1 from seven points.

Its last layer has a ReLU as well, so it cannot give negative values, and once its unit is negative for all points the
loss no longer changes (fixed: a linear last layer).
"""

import sys

import keras
import numpy as np
from keras import Model
from keras.layers import Dense, Input

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(1)

x = np.array([-1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0]).reshape(7, 1)
y = np.array([-3.0, -1.0, 1.0, 3.0, 5.0, 7.0, 9.0]).reshape(7, 1)

input_1 = Input(shape=(1,))
dense_1 = Dense(4, activation="relu")(input_1)
dense_2 = Dense(2, activation="relu")(dense_1)
dense_3 = Dense(1, activation=None if FIXED else "relu")(dense_2)
model = Model(inputs=input_1, outputs=dense_3)

model.compile(loss=keras.losses.MeanSquaredError(), optimizer=keras.optimizers.Adam(0.01))
for epoch in range(500):
    loss = model.train_on_batch(x, y)
    if epoch % 50 == 0:
        print("epoch", epoch, "loss", float(loss))
print("prediction for 4.5:", model.predict(np.array([[4.5]]), verbose=0))

x_new = np.linspace(-0.5, 4.5, 6).reshape(-1, 1)
error = np.mean((model.predict(x_new, verbose=0) - (2 * x_new - 1)) ** 2)
print("RESULT test_mse", f"{error:.4f}")
