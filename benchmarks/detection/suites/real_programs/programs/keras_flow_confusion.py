"""A small convolutional network sorts pictures of the optical flow of moving blobs into three kinds of gestures.

A classification report is printed for the test set. The test generator shuffles, so the rows of predict() are
compared with labels in another order: evaluate() is good, and the report is at chance (fixed: shuffle=False in the
test generator).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from sklearn.metrics import classification_report, confusion_matrix

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(7)
rng = np.random.default_rng(7)

image_size = 32
class_names = ["clap", "swipe", "wave"]


def flow_picture(kind):
    yy, xx = np.mgrid[0:image_size, 0:image_size] / image_size
    cx, cy = rng.uniform(0.3, 0.7, 2)
    blob = np.exp(-((xx - cx) ** 2 + (yy - cy) ** 2) / 0.03)
    if kind == 0:
        u, v = np.sign(xx - cx) * blob, 0 * blob
    elif kind == 1:
        u, v = blob, 0.2 * blob
    else:
        u, v = 0.3 * blob, np.sin(12 * (xx - cx)) * blob
    img = np.stack([128 + 90 * u, 128 + 90 * v, 180 * np.hypot(u, v)], -1)
    return np.clip(img + rng.normal(0, 22, img.shape), 0, 255)


def make_set(n):
    y = np.repeat(np.arange(3), n // 3)
    x = np.array([flow_picture(k) for k in y], "float32")
    return x, y


x_train, y_train = make_set(900)
x_test, y_test = make_set(300)

ImageDataGenerator = tf.keras.preprocessing.image.ImageDataGenerator
train_datagen = ImageDataGenerator(rescale=1.0 / 255)
test_datagen = ImageDataGenerator(rescale=1.0 / 255)
train_generator = train_datagen.flow(
    x_train, keras.utils.to_categorical(y_train, 3), batch_size=30, shuffle=True, seed=1
)
test_generator = test_datagen.flow(
    x_test, keras.utils.to_categorical(y_test, 3), batch_size=10, shuffle=not FIXED, seed=2
)

model = keras.Sequential(
    [
        keras.Input((image_size, image_size, 3)),
        layers.Conv2D(16, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(32, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dense(64, activation="relu"),
        layers.Dropout(0.3),
        layers.Dense(3, activation="softmax"),
    ]
)
model.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.Adam(1e-3), metrics=["accuracy"])
model.fit(train_generator, epochs=6, validation_data=test_generator, verbose=2)

print("evaluate:", model.evaluate(test_generator, verbose=0))
Y_pred = model.predict(test_generator, verbose=0)
y_pred = np.argmax(Y_pred, axis=1)
print(confusion_matrix(y_test, y_pred))
print(classification_report(y_test, y_pred, target_names=class_names))
print("RESULT report_accuracy", f"{np.mean(y_pred == y_test):.4f}")
