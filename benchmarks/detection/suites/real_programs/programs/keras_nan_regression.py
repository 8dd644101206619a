"""A network with two hidden layers and dropout predicts one value from standardised columns, trained by SGD.

The value lies around 500, so the gradients of the squared error explode and the loss becomes NaN
(fixed: Adam, which scales its updates).
"""

import sys

import keras
import numpy as np
from keras import optimizers
from keras.layers import Activation, Dense, Dropout

fixed = "--fixed" in sys.argv

keras.utils.set_random_seed(4)
rng = np.random.default_rng(4)

n, n_features = 1600, 20
X = rng.normal(0, 1, (n, n_features))
w = rng.normal(0, 25, n_features)
y = 500 + X @ w + 40 * np.maximum(X[:, 0] * X[:, 1], 0) + rng.normal(0, 5, n)
X_train, X_test = X[:1200], X[1200:]
y_train, y_test = y[:1200], y[1200:]

model = keras.Sequential()
model.add(keras.Input((n_features,)))
model.add(Dense(128))
model.add(Activation("relu"))
model.add(Dropout(0.1))
model.add(Dense(128))
model.add(Activation("relu"))
model.add(Dropout(0.1))
model.add(Dense(1))

optimizer = optimizers.Adam(learning_rate=0.005) if fixed else optimizers.SGD(learning_rate=0.01, nesterov=True)
model.compile(loss="mean_squared_error", optimizer=optimizer)
model.fit(X_train, y_train, validation_data=(X_test, y_test), batch_size=32, epochs=25, verbose=2)
print("RESULT test_mae", f"{np.abs(model.predict(X_test, verbose=0)[:, 0] - y_test).mean():.3f}")
