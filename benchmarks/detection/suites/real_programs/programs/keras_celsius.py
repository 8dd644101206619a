"""One unit learns to turn degrees Celsius into Fahrenheit from thirteen examples.

The rate of Adam, 0.01, is far too low for 500 updates to bring weight and bias to 1.8 and 32 (fixed: a rate of 0.5).
"""

import sys

import keras
import numpy as np
from keras.layers import Dense
from keras.models import Sequential
from keras.optimizers import Adam

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(3)

celsius = np.array([-40, -25, -17, -10, -5, 0, 4, 8, 15, 22, 30, 38, 45], dtype="float32").reshape(-1, 1)
fahrenheit = celsius * 1.8 + 32

model = Sequential([keras.Input((1,)), Dense(1)])
model.compile(loss="mean_squared_error", optimizer=Adam(0.5 if fixed else 0.01))
for epoch in range(500):
    loss = model.train_on_batch(celsius, fahrenheit)
    if epoch % 100 == 0:
        print("epoch", epoch, "loss", round(float(loss), 3))

w, b = model.get_weights()
print("weight", float(w[0, 0]), "bias", float(b[0]))
grid = np.linspace(-40, 100, 29, dtype="float32").reshape(-1, 1)
err = float(np.abs(model.predict(grid, verbose=0) - (grid * 1.8 + 32)).mean())
print("RESULT mean_abs_error", round(err, 4))
