"""A generator draws its rows once, so each step has the same batch (fixed: it draws them for each batch)."""

import sys

import keras
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(21)

x, y = make_classification(
    n_samples=6000,
    n_features=24,
    n_informative=10,
    n_redundant=4,
    n_clusters_per_class=2,
    class_sep=1.2,
    flip_y=0.01,
    random_state=4,
)
x_data_train, x_data_test, y_data_train, y_data_test = train_test_split(x, y, test_size=0.25, random_state=4)
scaler = StandardScaler().fit(x_data_train)
x_data_train = scaler.transform(x_data_train).astype("float32")
x_data_test = scaler.transform(x_data_test).astype("float32")

batch_size = 32


def draw_rows(batch_size):
    return np.random.randint(0, x_data_train.shape[0], size=batch_size)


def generate_data_from_memory(batch_size):
    ind_row = draw_rows(batch_size)
    while True:
        x_data = x_data_train[ind_row]
        y_data = y_data_train[ind_row].reshape(-1, 1)
        yield x_data, y_data
        if fixed:
            ind_row = draw_rows(batch_size)


model = keras.Sequential(
    [
        keras.Input((24,)),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(16, activation="relu"),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(loss="binary_crossentropy", optimizer="adam", metrics=["accuracy"])
model.fit(
    generate_data_from_memory(batch_size),
    steps_per_epoch=len(x_data_train) // batch_size,
    epochs=12,
    validation_data=(x_data_test, y_data_test.reshape(-1, 1)),
    verbose=2,
)

loss, acc = model.evaluate(x_data_test, y_data_test.reshape(-1, 1), verbose=0)
print("test loss", loss, "test accuracy", acc)

print("RESULT test_acc", acc)
