"""A line with values of both signs is learnt by a network that ends with a ReLU (fixed: no activation)."""

import sys

import keras
import numpy as np
from keras.layers import Dense

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(5)

x = np.random.uniform(-1.0, 5.0, size=(400, 1))
y = 2 * x - 1
x_test = np.linspace(-0.95, 4.95, 25).reshape(-1, 1)
y_test = 2 * x_test - 1

input_1 = keras.Input(shape=(1,))
dense_1 = Dense(8, activation="relu")(input_1)
dense_2 = Dense(4, activation="relu")(dense_1)
dense_3 = Dense(1, activation=None if fixed else "relu")(dense_2)

model = keras.Model(inputs=input_1, outputs=dense_3)
model.compile(loss=keras.losses.MeanSquaredError(), optimizer=keras.optimizers.Adam(0.003))
model.fit(x, y, epochs=30, batch_size=8, verbose=2)

test_loss = model.evaluate(x_test, y_test, verbose=0)
print("test loss", test_loss)
print(np.c_[x_test, y_test, model.predict(x_test, verbose=0)][::4])

print("RESULT test_mse", test_loss)
