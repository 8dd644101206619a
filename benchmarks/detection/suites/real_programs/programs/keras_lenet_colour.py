"""Three columns of pixels are standardised, not the three colours, so most stay at 0 to 255 (fixed: the colours)."""

import sys

import keras
import numpy as np
from keras import optimizers
from keras.callbacks import LearningRateScheduler
from keras.layers import Conv2D, Dense, Flatten, Input, MaxPooling2D
from keras.models import Sequential

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(6)
rng = np.random.default_rng(6)

batch_size = 128
epochs = 14
num_classes = 10

yy, xx = np.mgrid[:32, :32]
palette = rng.integers(60, 200, (num_classes, 3))


def load_data(n):
    y = rng.integers(0, num_classes, n)
    x = rng.integers(40, 200, (n, 1, 1, 3)) + rng.normal(0, 20, (n, 32, 32, 3))
    for k in range(n):
        cy, cx, r = rng.uniform(11, 21), rng.uniform(11, 21), rng.uniform(7, 10)
        square, disc = (np.abs(yy - cy) < r) & (np.abs(xx - cx) < r), (yy - cy) ** 2 + (xx - cx) ** 2 < r**2
        mask = square if y[k] % 2 else disc
        x[k][mask] = palette[y[k]] + rng.normal(0, 25, (mask.sum(), 3))
    return np.clip(x, 0, 255).astype("uint8"), y


(x_train, y_train), (x_test, y_test) = load_data(3000), load_data(600)
y_train = keras.utils.to_categorical(y_train, num_classes)
y_test = keras.utils.to_categorical(y_test, num_classes)
x_train = x_train.astype("float32")
x_test = x_test.astype("float32")

mean = [125.307, 122.95, 113.865]
std = [62.9932, 62.0887, 66.7048]
for i in range(3):
    if fixed:
        x_train[:, :, :, i] = (x_train[:, :, :, i] - mean[i]) / std[i]
        x_test[:, :, :, i] = (x_test[:, :, :, i] - mean[i]) / std[i]
    else:
        x_train[:, :, i] = (x_train[:, :, i] - mean[i]) / std[i]
        x_test[:, :, i] = (x_test[:, :, i] - mean[i]) / std[i]


def build_model():
    model = Sequential()
    model.add(Input((32, 32, 3)))
    model.add(Conv2D(6, (5, 5), padding="valid", activation="relu", kernel_initializer="he_normal"))
    model.add(MaxPooling2D((2, 2), strides=(2, 2)))
    model.add(Conv2D(16, (5, 5), padding="valid", activation="relu", kernel_initializer="he_normal"))
    model.add(MaxPooling2D((2, 2), strides=(2, 2)))
    model.add(Flatten())
    model.add(Dense(120, activation="relu", kernel_initializer="he_normal"))
    model.add(Dense(84, activation="relu", kernel_initializer="he_normal"))
    model.add(Dense(num_classes, activation="softmax", kernel_initializer="he_normal"))
    sgd = optimizers.SGD(learning_rate=0.1, momentum=0.9, nesterov=True)
    model.compile(loss="categorical_crossentropy", optimizer=sgd, metrics=["accuracy"])
    return model


def scheduler(epoch):
    if epoch < 8:
        return 0.01
    if epoch < 12:
        return 0.005
    return 0.001


model = build_model()
model.fit(
    x_train,
    y_train,
    batch_size=batch_size,
    epochs=epochs,
    verbose=2,
    callbacks=[LearningRateScheduler(scheduler)],
    validation_data=(x_test, y_test),
    shuffle=True,
)
score = model.evaluate(x_test, y_test, verbose=0)
print("test loss, accuracy:", score)

print("RESULT test_acc", score[1])
