"""RMSprop's default rate is too low to reach coefficients of up to 100 (fixed: targets are standardised)."""

import sys

import keras
import numpy as np
from sklearn.datasets import make_regression
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)

X, y = make_regression(n_samples=5000, n_features=100, n_informative=100, n_targets=1, noise=100, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0)

model = keras.Sequential(
    [
        keras.Input((100,)),
        keras.layers.Dense(1),
    ]
)
model.compile(loss="mse", optimizer="rmsprop")
y_mean, y_std = (y_train.mean(), y_train.std()) if fixed else (0.0, 1.0)
model.fit(
    X_train,
    (y_train - y_mean) / y_std,
    epochs=10,
    batch_size=16,
    validation_data=(X_test, (y_test - y_mean) / y_std),
    verbose=2,
)

pred = model.predict(X_test, verbose=0).ravel() * y_std + y_mean
reference = LinearRegression().fit(X_train, y_train).predict(X_test)
print("keras predictions from", pred.min(), "to", pred.max())
print("sklearn predictions from", reference.min(), "to", reference.max())
print("targets from", y_test.min(), "to", y_test.max())
r2 = 1 - np.mean((pred - y_test) ** 2) / np.var(y_test)
print("r2", r2)

print("RESULT test_r2", r2)
