"""An LSTM predicts the next five days of a share price from the last twenty days.

Early stopping with a patience of 3 looks at a single validation sample, and ends the training long before the prices
are learnt (fixed: 110 epochs without it).
"""

import sys

import keras
import numpy as np
from keras.callbacks import EarlyStopping
from keras.layers import LSTM, Dense, Input
from keras.models import Sequential
from sklearn.preprocessing import MinMaxScaler

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(11)
rng = np.random.default_rng(11)

look_back, days = 20, 5
n = 396 + 1 + look_back + days - 1
t = np.arange(n)
price = 140 + 0.15 * t + 18 * np.sin(t / 23.0) + 9 * np.sin(t / 7.3 + 1) + np.cumsum(rng.normal(0, 0.9, n))
volume = 3e7 + 6e6 * np.sin(t / 11.0) + rng.normal(0, 2e6, n)
table = np.stack([price, volume], axis=1)
scaler = MinMaxScaler()
data = scaler.fit_transform(table).astype("float32")

x = np.stack([data[i : i + look_back] for i in range(397)])
y = np.stack([data[i + look_back : i + look_back + days, 0] for i in range(397)])
x_train, x_test, y_train, y_test = x[:-1], x[-1:], y[:-1], y[-1:]

model = Sequential([Input(x_train.shape[1:]), LSTM(32), Dense(days)])
model.compile(optimizer="adam", loss="mse")
if fixed:
    model.fit(x_train, y_train, batch_size=64, epochs=110, validation_data=(x_test, y_test), verbose=2)
else:
    es = EarlyStopping(monitor="val_loss", patience=3, restore_best_weights=True)
    model.fit(x_train, y_train, batch_size=64, epochs=25, validation_data=(x_test, y_test), callbacks=[es], verbose=2)

# back to prices, over the days that the model was trained with
span = scaler.data_range_[0]
error = (model.predict(x_train, verbose=0) - y_train) * span
print("RESULT rmse_price", f"{float(np.sqrt((error**2).mean())):.4f}")
