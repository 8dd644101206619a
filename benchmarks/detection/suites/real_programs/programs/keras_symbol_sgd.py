"""The learning rate decays at each batch by what is meant for an epoch (fixed: per epoch)."""

import sys

import keras
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(13)

digits = load_digits()
x_train, x_test, y_train, y_test = train_test_split(digits.data, digits.target, test_size=0.25, random_state=1)
scaler = StandardScaler().fit(x_train)
x_train, x_test = scaler.transform(x_train), scaler.transform(x_test)

batch_size = 16
epochs = 8
steps = int(np.ceil(len(x_train) / batch_size))

model = keras.Sequential(
    [
        keras.Input((64,)),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(10, activation="softmax"),
    ]
)
schedule = keras.optimizers.schedules.InverseTimeDecay(0.02, decay_steps=steps if fixed else 1, decay_rate=0.5)
sgd = keras.optimizers.SGD(schedule)
model.compile(loss="sparse_categorical_crossentropy", optimizer=sgd, metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=batch_size, epochs=epochs, validation_data=(x_test, y_test), verbose=2)

print("updates per epoch", steps)
score = model.evaluate(x_test, y_test, verbose=0)
print("test loss and accuracy", score)

print("RESULT test_acc", score[1])
