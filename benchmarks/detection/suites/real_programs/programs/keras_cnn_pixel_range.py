"""A convolutional network reads grey values of 0 to 255 as they are (fixed: divided by 255)."""

import sys

import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)

digits = load_digits()
images = np.round(digits.images * 255 / 16).astype("uint8")
x_train, x_test, y_train, y_test = train_test_split(
    images, digits.target, test_size=0.2, random_state=1, stratify=digits.target
)
x_train = x_train.reshape(-1, 8, 8, 1).astype("float32")
x_test = x_test.reshape(-1, 8, 8, 1).astype("float32")
if fixed:
    x_train, x_test = x_train / 255, x_test / 255
y_train = keras.utils.to_categorical(y_train, 10)
y_test = keras.utils.to_categorical(y_test, 10)

model = keras.Sequential()
model.add(keras.Input((8, 8, 1)))
model.add(layers.Conv2D(32, (3, 3), activation="relu"))
model.add(layers.Conv2D(32, (3, 3), activation="relu"))
model.add(layers.MaxPooling2D((2, 2)))
model.add(layers.Flatten())
model.add(layers.Dense(64, activation="relu"))
model.add(layers.Dense(10, activation="softmax"))

sgd = keras.optimizers.SGD(learning_rate=0.02, momentum=0.9)
model.compile(loss="categorical_crossentropy", optimizer=sgd, metrics=["accuracy"])
history = model.fit(x_train, y_train, batch_size=32, epochs=12, validation_data=(x_test, y_test), verbose=2)

predicted = model.predict(x_test, verbose=0)
print(predicted[:3].round(3))
print("predicted classes", np.bincount(predicted.argmax(axis=1), minlength=10))

print("RESULT val_acc", history.history["val_accuracy"][-1])
