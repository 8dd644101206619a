"""An LSTM predicts the next price of a share from the last twenty, all unscaled (fixed: scaled to 0..1)."""

import sys

import keras
import numpy as np
from keras.layers import LSTM, Dense, Dropout, Input
from keras.models import Sequential
from sklearn.preprocessing import MinMaxScaler

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(8)

# daily closing prices, some cycles plus a mean reverting walk
days = 900
walk = np.zeros(days)
for i in range(1, days):
    walk[i] = 0.985 * walk[i - 1] + np.random.normal(0, 9)
price = 760 + 70 * np.sin(np.arange(days) / 35.0) + 30 * np.sin(np.arange(days) / 9.0) + walk
price = price.reshape(-1, 1)

if fixed:
    scaler = MinMaxScaler()
    scaler.fit(price[:700])
    series = scaler.transform(price)
else:
    series = price

window = 20
X = np.array([series[i : i + window] for i in range(days - window)])
y = np.array([series[i + window, 0] for i in range(days - window)])
split = 680
X_train, y_train, X_test, y_test = X[:split], y[:split], X[split:], y[split:]

model = Sequential()
model.add(Input(shape=(window, 1)))
model.add(LSTM(32, return_sequences=False))
model.add(Dropout(0.1))
model.add(Dense(16, activation="relu"))
model.add(Dense(1, activation="linear"))
model.compile(loss="mse", optimizer="adam", metrics=["mae"])
model.fit(X_train, y_train, batch_size=32, epochs=20, validation_split=0.1, verbose=2)

pred = model.predict(X_test, verbose=0)
true = y_test.reshape(-1, 1)
if fixed:
    pred, true = scaler.inverse_transform(pred), scaler.inverse_transform(true)
print(pred[:5, 0], true[:5, 0])
r2 = 1 - np.sum((pred - true) ** 2) / np.sum((true - true.mean()) ** 2)
print("RESULT r2", f"{r2:.4f}")
