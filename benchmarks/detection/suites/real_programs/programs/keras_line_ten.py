"""A first model: one unit learns y = 10 x from ten points and predicts the next three.

RMSprop with a rate of 0.005 makes only 100 updates, so training ends long before the weight is near 10 (fixed: a rate
of 0.05 and 400 epochs).
"""

import sys

import keras
import numpy as np
from keras.layers import Dense, Input
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(3)

x = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], dtype="float32").reshape(-1, 1)
y = np.array([10, 20, 30, 40, 50, 60, 70, 80, 90, 100], dtype="float32").reshape(-1, 1)

model = Sequential()
model.add(Input(shape=(1,)))
model.add(Dense(units=1))
rate, epochs = (0.05, 400) if fixed else (0.005, 100)
model.compile(optimizer=keras.optimizers.RMSprop(learning_rate=rate), loss="mse")
history = model.fit(x, y, epochs=epochs, verbose=0)
print("loss of the first and the last epoch", history.history["loss"][0], history.history["loss"][-1])

x1 = np.array([11, 12, 13], dtype="float32").reshape(-1, 1)
predy = model.predict(x1, verbose=0)
print(predy)
print("RESULT mean_abs_error", round(float(np.mean(np.abs(predy - 10 * x1))), 4))
