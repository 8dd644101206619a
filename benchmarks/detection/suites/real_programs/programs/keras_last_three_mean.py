"""An LSTM is to give the mean of the last three numbers, but sees only the last (fixed: windows of three steps)."""

import sys

import keras
import numpy as np
from keras.layers import LSTM, Dense

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(9)

numbers = np.random.randint(0, 10, size=(3000,)).astype("float32")
means = [numbers[0], (numbers[0] + numbers[1]) / 2]
means += [(numbers[i - 2] + numbers[i - 1] + numbers[i]) / 3 for i in range(2, len(numbers))]
means = np.asarray(means, dtype="float32")

scaled = (numbers - numbers.mean()) / numbers.std()
target = means[2:]
if fixed:
    inputs = np.stack([scaled[i : i + 3] for i in range(len(target))])[..., None]
else:
    inputs = np.reshape(scaled[2:], (len(target), 1, 1))

split = 2400
model = keras.Sequential()
model.add(keras.Input((3 if fixed else 1, 1)))
model.add(LSTM(8))
model.add(Dense(1, activation="linear"))
model.compile(loss="mse", optimizer=keras.optimizers.Adam(learning_rate=0.01))
model.fit(inputs[:split], target[:split], epochs=25, batch_size=16, verbose=2)

print("variance of the target:", target[split:].var())
mse = model.evaluate(inputs[split:], target[split:], verbose=0)
print("test mse:", mse)

print("RESULT test_mse", mse)
