"""A generator of digits takes the length of a tuple for that of the data: always one batch (fixed: length of data)."""

import sys

import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)
batch_size, nb_classes = 32, 10


def data_generator_digits(is_train=True, batch_size=100):
    d = load_digits()
    x_train, x_test, y_train, y_test = train_test_split(d.data, d.target, test_size=397, random_state=0)
    x_train = x_train.astype("float32") / 16
    x_test = x_test.astype("float32") / 16
    y_train = keras.utils.to_categorical(y_train, nb_classes)
    y_test = keras.utils.to_categorical(y_test, nb_classes)
    dataset = (x_train, y_train) if is_train else (x_test, y_test)

    if fixed:
        dataset_size = len(dataset[0])
        i = 0
        while True:
            yield dataset[0][i : i + batch_size], dataset[1][i : i + batch_size]
            i += batch_size
            if i + batch_size > dataset_size:
                i = 0
    else:
        dataset_size = len(dataset)
        while True:
            i = 0
            yield dataset[0][i : i + batch_size], dataset[1][i : i + batch_size]
            i += batch_size
            if i + batch_size > dataset_size:
                i = 0


model = keras.Sequential(
    [
        keras.Input((64,)),
        layers.Dense(256),
        layers.Activation("relu"),
        layers.Dropout(0.2),
        layers.Dense(256),
        layers.Activation("relu"),
        layers.Dropout(0.2),
        layers.Dense(nb_classes),
        layers.Activation("softmax"),
    ]
)
model.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.RMSprop(), metrics=["accuracy"])
model.fit(data_generator_digits(True, batch_size), steps_per_epoch=43, epochs=15, verbose=2)

d = load_digits()
_, X_test, _, y_test = train_test_split(d.data, d.target, test_size=397, random_state=0)
loss, acc = model.evaluate(X_test.astype("float32") / 16, keras.utils.to_categorical(y_test, nb_classes), verbose=0)

print("RESULT test_accuracy", f"{acc:.4f}")
