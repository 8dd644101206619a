"""A deep net of relu whose weights start at normal numbers of 0.05: the loss never changes (fixed: He's start)."""

import sys

import data
import keras
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)
(x, y), (x_test, y_test) = data.digits()
x, x_test = (a[..., None] / 255 for a in (x, x_test))
start = "he_normal" if fixed else keras.initializers.RandomNormal(stddev=0.01)
model = keras.Sequential([keras.Input((8, 8, 1))])
for width in (16, 16, 32, 32):
    model.add(layers.Conv2D(width, 3, padding="same", kernel_initializer=start))
    model.add(layers.Activation("relu"))
model.add(layers.Flatten())
for _ in range(2):
    model.add(layers.Dense(128, kernel_initializer=start))
    model.add(layers.Activation("relu"))
model.add(layers.Dense(10, kernel_initializer=start))
model.add(layers.Activation("softmax"))
model.compile(
    loss="sparse_categorical_crossentropy", optimizer=keras.optimizers.SGD(0.01, momentum=0.9), metrics=["accuracy"]
)
model.fit(x, y, batch_size=32, epochs=4, verbose=0)
print("RESULT accuracy", model.evaluate(x_test, y_test, verbose=0)[1])
