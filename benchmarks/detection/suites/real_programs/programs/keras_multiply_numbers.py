"""Two numbers are to be multiplied by six layers without an activation (fixed: ReLU between them)."""

import sys
from math import sqrt
from random import randint

import keras
from keras.layers import Dense
from numpy import array
from sklearn.metrics import mean_squared_error

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(23)


def random_product_pairs(n_examples, n_numbers, largest):
    x, y = [], []
    for _ in range(n_examples):
        pattern = [randint(1, largest) for _ in range(n_numbers)]
        x.append(pattern)
        y.append(pattern[0] * pattern[1])
    x = array(x).astype("float") / float(largest)
    y = array(y).astype("float") / float(largest**n_numbers)
    return x, y


def invert(value, n_numbers, largest):
    return round(float(value) * float(largest**n_numbers))


n_numbers = 2
largest = 100
n_batch = 100
n_epoch = 120

activation = "relu" if fixed else None
model = keras.Sequential()
model.add(keras.Input((n_numbers,)))
model.add(Dense(20, activation=activation))
model.add(Dense(50, activation=activation))
model.add(Dense(100, activation=activation))
model.add(Dense(50, activation=activation))
model.add(Dense(20, activation=activation))
model.add(Dense(1))
model.compile(loss="mean_squared_error", optimizer="adam")

x, y = random_product_pairs(1000, n_numbers, largest)
model.fit(x, y, epochs=n_epoch, batch_size=n_batch, verbose=0)

x_new, y_new = random_product_pairs(300, n_numbers, largest)
result = model.predict(x_new, batch_size=n_batch, verbose=0)
expected = [invert(v, n_numbers, largest) for v in y_new]
predicted = [invert(v, n_numbers, largest) for v in result[:, 0]]
rmse = sqrt(mean_squared_error(expected, predicted))
print(f"RMSE: {rmse:f}")
for i in range(8):
    print(f"Expected={expected[i]}, Predicted={predicted[i]}")

print("RESULT test_rmse", rmse)
