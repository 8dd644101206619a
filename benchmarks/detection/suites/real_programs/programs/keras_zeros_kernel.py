"""All weights of a classifier start at zero (fixed: Glorot's initialisation)."""

import sys

import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)

digits = load_digits()
x = (digits.data / 16.0).astype("float32")
x_train, x_val, y_train, y_val = train_test_split(
    x, digits.target, test_size=0.25, random_state=0, stratify=digits.target
)


def dense(units, activation):
    kernel = "glorot_uniform" if fixed else "zeros"
    return layers.Dense(units, activation=activation, kernel_initializer=kernel, bias_initializer="zeros")


model = keras.Sequential([keras.Input((64,)), dense(64, "relu"), dense(32, "relu"), dense(10, "softmax")])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(x_train, y_train, validation_data=(x_val, y_val), batch_size=32, epochs=15, verbose=2)

print("RESULT val_acc", history.history["val_accuracy"][-1])
