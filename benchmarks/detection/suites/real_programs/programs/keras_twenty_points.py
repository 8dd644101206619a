"""A dense unit fits a straight line to twenty points by plain SGD.

With inputs from 1 to 20, the default rate of 0.01 is too large, so that every update overshoots and the loss grows
without bound (fixed: a rate of 0.0001).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import keras
import numpy as np

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(7)

rng = np.random.default_rng(7)
xs = np.arange(1.0, 21.0).reshape(-1, 1)
ys = 0.5 * xs + rng.normal(0, 0.1, xs.shape)
x_new = np.array([[2.5], [7.5], [12.5], [17.5], [22.0], [25.0]])
y_new = 0.5 * x_new

model = keras.Sequential([keras.layers.Input((1,)), keras.layers.Dense(units=1)])
optimizer = keras.optimizers.SGD(learning_rate=0.0001) if FIXED else "sgd"
model.compile(optimizer=optimizer, loss="mean_squared_error")
history = model.fit(xs, ys, epochs=200, verbose=0)
losses = history.history["loss"]
for epoch in list(range(20)) + list(range(39, 200, 20)):
    print(f"Epoch {epoch + 1}/200 - loss: {losses[epoch]:.4f}")
print("prediction for 25:", model.predict(np.array([[25.0]]), verbose=0))
print("RESULT test_mse", f"{model.evaluate(x_new, y_new, verbose=0):.4f}")
