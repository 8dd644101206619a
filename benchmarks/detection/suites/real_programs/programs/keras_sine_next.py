"""An LSTM learns a sine and predicts the next point of the series.

Its sequences have one time step, so it sees no past and cannot know whether the sine goes up or down (fixed: 25 time
steps).
"""

import sys

import keras
import numpy as np
from keras.layers import LSTM, Dense, Input
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(5)

series = np.sin(np.arange(0, 1500) * 2 * np.pi / 25 * 0.97).astype("float32")
train, test = series[:1000], series[1000:]
look_back = 25 if fixed else 1


def create_dataset(data, look_back):
    data_x, data_y = [], []
    for i in range(len(data) - look_back):
        data_x.append(data[i : i + look_back])
        data_y.append(data[i + look_back])
    return np.array(data_x).reshape(-1, look_back, 1), np.array(data_y)


x_train, y_train = create_dataset(train, look_back)
x_test, y_test = create_dataset(test, look_back)

model = Sequential()
model.add(Input(shape=(look_back, 1)))
model.add(LSTM(32))
model.add(Dense(1))
model.compile(loss="mean_squared_error", optimizer=keras.optimizers.Adam(0.003))
history = model.fit(x_train, y_train, epochs=30, batch_size=32, verbose=0, validation_data=(x_test, y_test))
for e in (0, 4, 14, 29):
    print("epoch", e + 1, "loss", history.history["loss"][e], "val_loss", history.history["val_loss"][e])

pred = model.predict(x_test, verbose=0)[:, 0]
print("RESULT rmse", round(float(np.sqrt(np.mean((pred - y_test) ** 2))), 5))
