"""Each pass shuffles the validation data, so a report pairs predictions with other labels (fixed: not shuffled)."""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(3)

digits = load_digits()
images = (digits.images / 16.0).astype("float32")[..., None]
x_train, x_val, y_train, y_val = train_test_split(images, digits.target, test_size=0.25, random_state=3)


def make_dataset(x, y, batch_size=32, shuffle=True):
    dataset = tf.data.Dataset.from_tensor_slices((x, y))
    if shuffle:
        dataset = dataset.shuffle(2000)
    return dataset.batch(batch_size).prefetch(tf.data.AUTOTUNE)


train_data = make_dataset(x_train, y_train)
val_data = make_dataset(x_val, y_val, shuffle=not fixed)

model = keras.Sequential(
    [
        keras.Input(shape=(8, 8, 1)),
        layers.Conv2D(16, 3, padding="same", activation="relu"),
        layers.Conv2D(32, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dropout(0.2),
        layers.Dense(10),
    ]
)
model.compile(optimizer="adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(train_data, validation_data=val_data, epochs=8, verbose=2)
print("evaluate", model.evaluate(val_data, verbose=0)[1])

predicted = np.argmax(model.predict(val_data, verbose=0), axis=1)
expected = np.concatenate([labels.numpy() for _, labels in val_data])
print("RESULT report_acc", np.mean(expected == predicted))
