"""A small convolutional network reads scanned digits, and the test generator counts how many it recognises.

The test generator is made without shuffle=False, so predict() sees the scans in a random order, while the classes that
its answers are compared with keep the order of the data (fixed: shuffle=False for the test generator).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from sklearn.datasets import load_digits
from sklearn.metrics import confusion_matrix

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(5)
ImageDataGenerator = tf.keras.preprocessing.image.ImageDataGenerator

images, labels = load_digits(return_X_y=True)
order = np.random.default_rng(5).permutation(len(images))
x = np.kron(images.reshape(-1, 8, 8), np.ones((1, 2, 2)))[order, ..., None] * 15.9
y = labels[order]
x_train, y_train = x[:1100], y[:1100]
x_val, y_val = x[1100:1400], y[1100:1400]
x_test, y_test = x[1400:], y[1400:]

train_datagen = ImageDataGenerator(rescale=1.0 / 255, width_shift_range=0.05, height_shift_range=0.05)
test_datagen = ImageDataGenerator(rescale=1.0 / 255)
train_generator = train_datagen.flow(x_train, keras.utils.to_categorical(y_train, 10), batch_size=32, seed=5)
validation_generator = test_datagen.flow(x_val, keras.utils.to_categorical(y_val, 10), batch_size=32)

model = keras.Sequential(
    [
        keras.Input((16, 16, 1)),
        layers.Conv2D(16, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(32, 3, activation="relu"),
        layers.Flatten(),
        layers.Dense(64, activation="relu"),
        layers.Dropout(0.3),
        layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])
model.fit(train_generator, validation_data=validation_generator, epochs=10, verbose=2)

if FIXED:
    test_generator = test_datagen.flow(x_test, keras.utils.to_categorical(y_test, 10), batch_size=32, shuffle=False)
else:
    test_generator = test_datagen.flow(x_test, keras.utils.to_categorical(y_test, 10), batch_size=32)
print("evaluate", model.evaluate(test_generator, verbose=0))

test_generator.reset()
ypred = model.predict(test_generator, verbose=0).argmax(axis=1)
ytest = y_test
print(confusion_matrix(ytest, ypred))
print("RESULT accuracy", f"{float(np.mean(ypred == ytest)):.4f}")
