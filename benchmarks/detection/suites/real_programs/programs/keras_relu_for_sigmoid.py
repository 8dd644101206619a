"""A network with one hidden layer of relu units reads digits.

The weights and biases keep the standard normal start that suited sigmoid units, and the training keeps the learning
rate of 3.0; both are too large for relu (fixed: start values ten times smaller and a learning rate of 0.1).
"""

import sys

import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(4)

digits = load_digits()
x_train, x_test, y_train, y_test = train_test_split(
    digits.data.astype("float32") / 16.0, digits.target, test_size=0.25, random_state=0, stratify=digits.target
)

start = keras.initializers.RandomNormal(0.0, 0.1 if FIXED else 1.0, seed=2)
learning_rate = 0.1 if FIXED else 3.0


def network(sizes):
    model = keras.Sequential([keras.Input((sizes[0],))])
    for n in sizes[1:-1]:
        model.add(layers.Dense(n, activation="relu", kernel_initializer=start, bias_initializer=start))
    model.add(layers.Dense(sizes[-1], activation="softmax", kernel_initializer=start, bias_initializer=start))
    return model


model = network([64, 30, 10])
model.compile(keras.optimizers.SGD(learning_rate), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=32, epochs=10, validation_data=(x_test, y_test), verbose=2)

correct = (model.predict(x_test, verbose=0).argmax(1) == y_test).mean()
print("RESULT test_accuracy", f"{correct:.4f}")
