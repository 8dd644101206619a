"""A small CNN reads handwritten digits: those of scikit-learn, enlarged to 28 x 28 pixels.

``Conv2D(n, 3, 3)`` was a 3 x 3 kernel in old Keras but now means stride 3, so a single pixel is left before the
dense layers (fixed: ``(3, 3)`` as kernel, with stride 1).
"""

import sys

import keras
import numpy as np
from keras.layers import Activation, Conv2D, Dense, Dropout, Flatten, Input, MaxPooling2D
from keras.models import Sequential
from sklearn.datasets import load_digits

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1337)

d = load_digits()
images = np.kron(d.images / 16.0 * 255.0, np.ones((3, 3)))
images = np.pad(images, ((0, 0), (2, 2), (2, 2))).astype("uint8")
order = np.random.permutation(len(images))
images, target = images[order], d.target[order]
X_train, X_test = images[:1400], images[1400:]
y_train, y_test = target[:1400], target[1400:]

X_train = X_train.reshape(-1, 28, 28, 1).astype("float32") / 255.0
X_test = X_test.reshape(-1, 28, 28, 1).astype("float32") / 255.0
n_classes = 10
y_train = keras.utils.to_categorical(y_train, n_classes)
y_test = keras.utils.to_categorical(y_test, n_classes)

n_filters = 16
kernel_size = (3, 3)
model = Sequential([Input((28, 28, 1))])
if fixed:
    model.add(Conv2D(n_filters, kernel_size, padding="valid"))
    model.add(Activation("relu"))
    model.add(Conv2D(n_filters, kernel_size))
else:
    model.add(Conv2D(n_filters, kernel_size[0], kernel_size[1], padding="valid"))
    model.add(Activation("relu"))
    model.add(Conv2D(n_filters, kernel_size[0], kernel_size[1]))
model.add(Activation("relu"))
model.add(MaxPooling2D(pool_size=(2, 2)))
model.add(Dropout(0.25))
model.add(Flatten())
model.add(Dense(128))
model.add(Activation("relu"))
model.add(Dropout(0.5))
model.add(Dense(n_classes))
model.add(Activation("softmax"))
model.compile(
    loss="categorical_crossentropy", optimizer=keras.optimizers.Adadelta(learning_rate=1.0), metrics=["accuracy"]
)
model.fit(X_train, y_train, batch_size=128, epochs=12, verbose=2, validation_data=(X_test, y_test))
print("RESULT accuracy", f"{model.evaluate(X_test, y_test, verbose=0)[1]:.4f}")
