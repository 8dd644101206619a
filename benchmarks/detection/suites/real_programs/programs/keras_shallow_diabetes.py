"""A regression has two ReLU units before its output, which die, so all predictions are the same (fixed: tanh)."""

import sys

import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(4)

X, y = load_diabetes(return_X_y=True)
X = ((X - X.min(0)) / (X.max(0) - X.min(0))).astype("float32")
y = ((y - y.mean()) / y.std()).astype("float32")[:, None]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=1)

model = keras.Sequential()
model.add(layers.Input((X.shape[1],)))
model.add(layers.Dense(2, activation="tanh" if fixed else "relu"))
model.add(layers.Dense(1))
model.compile(loss="mse", optimizer=keras.optimizers.SGD(learning_rate=0.05, momentum=0.9))
reduce = keras.callbacks.ReduceLROnPlateau(monitor="loss", factor=0.5, patience=5)
model.fit(X_train, y_train, epochs=40, batch_size=16, callbacks=[reduce], validation_data=(X_test, y_test), verbose=2)

p = model.predict(X_test, verbose=0)
print("predictions:", p[:6, 0], f"standard deviation {p.std():.4f}")

print("RESULT r2", f"{1 - np.mean((p - y_test) ** 2) / y_test.var():.4f}")
