"""A deep network, trained on six of the ten digits, is trained on as a whole for the other four.

The default rate of Adam, 0.001, is too high for its 40 trained layers (fixed: 0.0001).
"""

import sys

import keras
from keras import layers
from keras.optimizers import Adam
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(12)

d = load_digits()
x, y = (d.data / 16).astype("float32"), d.target

base = keras.Sequential(
    [keras.Input((64,))] + [layers.Dense(320, activation="relu", kernel_initializer="he_normal") for _ in range(40)]
)
old = keras.Sequential([base, layers.Dense(6, activation="softmax")])
old.compile(optimizer=Adam(learning_rate=0.0001), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
first = y < 6
old.fit(x[first], y[first], epochs=4, batch_size=32, verbose=2)

new = y >= 6
x_train, x_val, y_train, y_val = train_test_split(
    x[new], keras.utils.to_categorical(y[new] - 6, 4), test_size=0.3, random_state=0
)
model = keras.Sequential([base, layers.Dense(4, activation="softmax")])
adam_opti = Adam(learning_rate=0.0001) if fixed else Adam()
model.compile(optimizer=adam_opti, loss="categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, epochs=8, batch_size=32, validation_data=(x_val, y_val), verbose=2)
print("RESULT val_accuracy", f"{model.evaluate(x_val, y_val, verbose=0)[1]:.4f}")
