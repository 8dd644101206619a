"""A network from a tutorial on classification predicts the prices of used cars from a small table.

It ends in a sigmoid with binary cross-entropy, although a price is no probability: targets above 1 make the loss fall
far below zero, and the output becomes 1 for every car (fixed: a linear output and the mean squared error).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import pandas as pd
import tensorflow as tf
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from tensorflow.keras.layers import Dense, Input
from tensorflow.keras.models import Sequential

FIXED = "--fixed" in sys.argv
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
tf.keras.utils.set_random_seed(3)

rng = np.random.default_rng(3)
n = 2500
cars = pd.DataFrame(
    {
        "year": rng.integers(2002, 2021, n),
        "km": rng.gamma(4.0, 25000.0, n),
        "engine_cc": rng.choice([1000, 1200, 1500, 2000, 2500], n),
        "power": rng.normal(95, 25, n).clip(40, 220),
        "seats": rng.choice([4, 5, 7], n, p=[0.1, 0.75, 0.15]),
        "diesel": rng.integers(0, 2, n),
    }
)
new_price = 4 + 0.14 * cars["power"] + 0.003 * cars["engine_cc"] + 1.2 * (cars["seats"] == 7) + 1.5 * cars["diesel"]
cars["price"] = new_price * np.exp(-0.09 * (2021 - cars["year"])) * np.exp(-cars["km"] / 400000)
cars["price"] += rng.normal(0, 0.4, n)  # thousands

X = cars.drop(columns="price").values.astype("float32")
y = cars["price"].values.astype("float32")
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

model = Sequential()
model.add(Input((X.shape[1],)))
model.add(Dense(32, activation="relu"))
model.add(Dense(32, activation="relu"))
if FIXED:
    model.add(Dense(1))
    model.compile(loss="mse", optimizer="adam", metrics=["mae"])
else:
    model.add(Dense(1, activation="sigmoid"))
    model.compile(loss="binary_crossentropy", optimizer="adam", metrics=["accuracy"])

model.fit(X_train, y_train, epochs=25, batch_size=32, validation_split=0.1, verbose=2)

predicted = model.predict(X_test, verbose=0)[:, 0]
print("RESULT test_mae", f"{np.abs(predicted - y_test).mean():.4f}")
