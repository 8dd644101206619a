"""A small VGG tells pictures of ten kinds apart, trained by SGD with momentum.

A learning rate of 0.1 is too high for it (fixed: learning rate 0.01).
"""

import sys

import keras
import numpy as np
from keras import layers, regularizers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(40)
rng = np.random.default_rng(40)

SAMPLES, SIZE = 1600, 16
prototypes = rng.normal(0, 1, (10, 4, 4, 3))
labels = rng.integers(0, 10, SAMPLES)
pictures = np.kron(prototypes[labels], np.ones((1, 4, 4, 1))) * 26 + 120
for i in range(SAMPLES):
    pictures[i] = np.roll(pictures[i], rng.integers(-2, 3, 2), (0, 1))
pictures = np.clip(pictures + rng.normal(0, 38, pictures.shape), 0, 255).astype("float32")
x_train, y_train, x_test, y_test = pictures[:1300], labels[:1300], pictures[1300:], labels[1300:]
mean, std = x_train.mean(), x_train.std()
x_train, x_test = (x_train - mean) / (std + 1e-7), (x_test - mean) / (std + 1e-7)
y_train, y_test = keras.utils.to_categorical(y_train, 10), keras.utils.to_categorical(y_test, 10)

weight_decay = 0.0005
model = keras.Sequential([layers.Input((SIZE, SIZE, 3))])
for filters in (16, 32, 64):
    for _ in range(2):
        model.add(
            layers.Conv2D(
                filters,
                (3, 3),
                padding="same",
                kernel_initializer="he_normal",
                kernel_regularizer=regularizers.l2(weight_decay),
            )
        )
        model.add(layers.Activation("relu"))
    model.add(layers.MaxPooling2D((2, 2)))
model.add(layers.Flatten())
model.add(layers.Dense(128, kernel_initializer="he_normal", kernel_regularizer=regularizers.l2(weight_decay)))
model.add(layers.Activation("relu"))
model.add(layers.Dropout(0.5))
model.add(layers.Dense(10))
model.add(layers.Activation("softmax"))

learning_rate = 0.01 if fixed else 0.1
lr_drop = 10
sgd = keras.optimizers.SGD(learning_rate=learning_rate, momentum=0.9, nesterov=True)
model.compile(loss="categorical_crossentropy", optimizer=sgd, metrics=["accuracy"])
reduce_lr = keras.callbacks.LearningRateScheduler(lambda epoch: learning_rate * (0.5 ** (epoch // lr_drop)))
model.fit(
    x_train, y_train, batch_size=64, epochs=16, validation_data=(x_test, y_test), callbacks=[reduce_lr], verbose=2
)
print("RESULT test_accuracy", f"{model.evaluate(x_test, y_test, verbose=0)[1]:.4f}")
