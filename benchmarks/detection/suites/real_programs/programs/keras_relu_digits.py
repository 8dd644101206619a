"""One hidden layer of 100 ReLU units learns pictures of digits, trained by plain SGD.

The pixels of 0 to 255 go in as they are, so that the first updates kill most units (fixed: divided by 255).
"""

import sys

import keras
import numpy as np
from keras.layers import Activation, Dense
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv

keras.utils.set_random_seed(3)

digits = load_digits()
images = np.repeat(np.repeat(digits.images, 3, axis=1), 3, axis=2) * 255 / 16
X = images.reshape(len(images), 24 * 24).astype("float32")
Y = keras.utils.to_categorical(digits.target, 10)
X_train, X_test, Y_train, Y_test = train_test_split(X, Y, test_size=0.25, random_state=1)
if fixed:
    X_train = X_train / 255
    X_test = X_test / 255

batch_size = 100
epochs = 40

model = keras.Sequential()
model.add(keras.Input((24 * 24,)))
model.add(Dense(100))
model.add(Activation("relu"))
model.add(Dense(10))
model.add(Activation("softmax"))
model.compile(loss="categorical_crossentropy", metrics=["accuracy"], optimizer="sgd")
model.fit(X_train, Y_train, batch_size=batch_size, epochs=epochs, verbose=2)
score = model.evaluate(X_test, Y_test, verbose=0)
print("RESULT test_accuracy", f"{score[1]:.4f}")
