"""XOR by a linear layer and two of ReLU, with a squared error (fixed: ReLU, a sigmoid, cross-entropy, 30 epochs)."""

import sys

import keras
import numpy as np
from keras.layers import Dense

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)

# noisy bits, a quarter of the samples at each corner
x = np.zeros((2000, 2))
x[500:1000, 1] += 1
x[1000:1500, 0] += 1
x[1500:, :] += 1
np.random.shuffle(x)
y = np.array([int(a) ^ int(b) for a, b in x])
x = x + np.random.normal(0, 0.08, x.shape)

x_train, y_train = x[:1500], y[:1500]
x_test, y_test = x[1500:], y[1500:]

model = keras.Sequential(
    [
        keras.Input((2,)),
        Dense(4, activation="relu" if fixed else None),
        Dense(4, activation="relu"),
        Dense(1, activation="sigmoid" if fixed else "relu"),
    ]
)
loss = "binary_crossentropy" if fixed else "mean_squared_error"
model.compile(optimizer=keras.optimizers.SGD(learning_rate=0.1), loss=loss)
model.fit(x_train, y_train, epochs=30 if fixed else 5, verbose=2)

print("test loss", model.evaluate(x_test, y_test, verbose=0))
predicted = (model.predict(x_test, verbose=0).ravel() > 0.5).astype(int)
accuracy = (predicted == y_test).mean()
print("test accuracy", accuracy)

print("RESULT test_acc", accuracy)
