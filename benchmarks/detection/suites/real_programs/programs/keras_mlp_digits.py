"""Pixels of 0 to 255 are given to a network with dropout as they are (fixed: divided by 255)."""

import sys

import keras
import numpy as np
from keras.layers import Dense, Dropout, Input
from keras.models import Sequential
from keras.optimizers import RMSprop
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)

batch_size = 128
num_classes = 10
epochs = 20

digits = load_digits()
pixels = np.kron(digits.images, np.ones((3, 3)))
pixels = np.pad(pixels, ((0, 0), (2, 2), (2, 2)))
paper = np.random.randint(0, 110, pixels.shape)
x = np.maximum(pixels * 255 / 16, paper).reshape(len(pixels), 784)
x_train, x_test, y_train, y_test = train_test_split(x, digits.target, test_size=0.2, random_state=0)

x_train = x_train.astype("float32")
x_test = x_test.astype("float32")
if fixed:
    x_train /= 255
    x_test /= 255

y_train = keras.utils.to_categorical(y_train, num_classes)
y_test = keras.utils.to_categorical(y_test, num_classes)

model = Sequential()
model.add(Input((784,)))
model.add(Dense(512, activation="relu"))
model.add(Dropout(0.2))
model.add(Dense(512, activation="relu"))
model.add(Dropout(0.2))
model.add(Dense(num_classes, activation="softmax"))

model.compile(loss="categorical_crossentropy", optimizer=RMSprop(), metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=batch_size, epochs=epochs, verbose=2, validation_data=(x_test, y_test))
score = model.evaluate(x_test, y_test, verbose=0)
print("Test loss:", score[0])
print("Test accuracy:", score[1])

print("RESULT test_acc", score[1])
