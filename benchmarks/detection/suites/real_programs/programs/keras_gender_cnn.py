"""A small CNN with one output unit tells two kinds of portraits apart.

The softmax over the single unit is always 1 (fixed: a sigmoid).
"""

import sys

import numpy as np
import tensorflow as tf
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
tf.keras.utils.set_random_seed(7)
rng = np.random.default_rng(7)

SIZE = 28


def draw(kind):
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    cx, cy = 14 + rng.normal(0, 1.5), 14 + rng.normal(0, 1.5)
    img = np.full((SIZE, SIZE), 0.3) + rng.normal(0, 0.12, (SIZE, SIZE))
    hair_len = rng.normal(13, 1.5) if kind else rng.normal(4, 1.5)
    hair = (abs(xx - cx) < 9) & (yy > cy - 10) & (yy < cy - 10 + hair_len)
    img[hair] -= 0.25
    face = ((xx - cx) / 6.5) ** 2 + ((yy - cy) / 8.5) ** 2 < 1
    img[face] = 0.75 + rng.normal(0, 0.12, face.sum())
    return np.clip(img * rng.uniform(0.8, 1.2), 0, 1)


y = rng.integers(0, 2, 900)
X = np.stack([draw(k) for k in y])[..., None].astype("float32")
xtrain, xval, ytrain, yval = train_test_split(X, y, test_size=0.25, random_state=1)

model = tf.keras.Sequential()
model.add(tf.keras.Input(shape=X.shape[1:]))
model.add(tf.keras.layers.Conv2D(12, (3, 3), activation="relu"))
model.add(tf.keras.layers.MaxPooling2D((2, 2)))
model.add(tf.keras.layers.BatchNormalization())
model.add(tf.keras.layers.Conv2D(16, (3, 3), activation="relu"))
model.add(tf.keras.layers.MaxPooling2D((2, 2)))
model.add(tf.keras.layers.BatchNormalization())
model.add(tf.keras.layers.Flatten())
model.add(tf.keras.layers.Dense(32))
model.add(tf.keras.layers.Dense(1, activation="sigmoid" if fixed else "softmax"))
model.compile(loss="binary_crossentropy", optimizer="adam", metrics=["accuracy"])

stop = tf.keras.callbacks.EarlyStopping(min_delta=0.001, patience=30, restore_best_weights=True)
model.fit(xtrain, ytrain, validation_data=(xval, yval), batch_size=16, epochs=14, callbacks=[stop], verbose=2)
acc = model.evaluate(xval, yval, verbose=0)[1]
print("RESULT val_accuracy", round(float(acc), 4))
