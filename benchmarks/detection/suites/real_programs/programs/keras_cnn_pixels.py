"""A convolutional network gets the pixels of digits as 0..255 (fixed: divided by 255)."""

import sys

import keras
import numpy as np
from keras.layers import Conv2D, Dense, Flatten, Input, MaxPooling2D
from keras.models import Sequential
from keras.utils import to_categorical
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(3)

digits = load_digits()
images = np.kron(digits.images, np.ones((2, 2))) * 255 / 16.0  # 16x16, 0..255
images = np.clip(images + np.random.normal(0, 12, images.shape), 0, 255).astype("uint8")
x = images.reshape(-1, 16, 16, 1)
y = to_categorical(digits.target, 10)
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.25, random_state=1)

x_train = x_train.astype("float32")
x_test = x_test.astype("float32")
if fixed:
    x_train /= 255
    x_test /= 255

model = Sequential()
model.add(Input(shape=(16, 16, 1)))
model.add(Conv2D(16, (3, 3), activation="relu"))
model.add(MaxPooling2D((2, 2)))
model.add(Conv2D(32, (3, 3), activation="relu"))
model.add(Flatten())
model.add(Dense(64, activation="relu"))
model.add(Dense(10, activation="softmax"))
sgd = keras.optimizers.SGD(learning_rate=0.02, momentum=0.9)
model.compile(loss="categorical_crossentropy", optimizer=sgd, metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=32, epochs=12, validation_data=(x_test, y_test), verbose=2)

print(model.predict(x_test[:5], verbose=0).round(3))
acc = np.mean(model.predict(x_test, verbose=0).argmax(1) == y_test.argmax(1))
print("RESULT test_accuracy", f"{acc:.4f}")
