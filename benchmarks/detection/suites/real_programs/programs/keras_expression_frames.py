"""Channels are brought to the front by a reshape, which scrambles the pixels (fixed: by a transpose)."""

import sys

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(9)

n_exp, timesteps, r, w, channel = 6, 4, 24, 24, 3


def make_videos(count):
    yy, xx = np.mgrid[0:r, 0:w]
    videos = np.zeros((count, timesteps, r, w, channel), dtype="float32")
    labels = np.random.randint(0, n_exp, size=count)
    for v in range(count):
        angle = np.pi * labels[v] / n_exp + 0.08 * np.random.randn()
        phase = np.random.uniform(0, 2 * np.pi)
        freq = np.random.uniform(0.9, 1.3)
        colour = np.random.uniform(0.4, 1.0, size=channel)
        for t in range(timesteps):
            wave = 0.5 + 0.5 * np.sin(freq * (np.cos(angle) * xx + np.sin(angle) * yy) + phase + 0.6 * t)
            videos[v, t] = wave[..., None] * colour
    videos += 0.15 * np.random.randn(*videos.shape)
    return videos.clip(0, 1).astype("float32"), keras.utils.to_categorical(labels, n_exp)


def restructure_data(videos, labels):
    spatial = videos.reshape(videos.shape[0] * timesteps, r, w, channel)
    labels = np.repeat(labels, timesteps, axis=0)
    frames = np.transpose(spatial, (0, 3, 1, 2)) if fixed else spatial.reshape(spatial.shape[0], channel, r, w)
    return frames, labels


train_videos, train_labels = make_videos(300)
test_videos, test_labels = make_videos(100)
x_train, y_train = restructure_data(train_videos, train_labels)
x_test, y_test = restructure_data(test_videos, test_labels)

model = keras.Sequential(
    [
        keras.Input((channel, r, w)),
        layers.Conv2D(8, 3, activation="relu", padding="same", data_format="channels_first"),
        layers.MaxPooling2D(2, data_format="channels_first"),
        layers.Conv2D(16, 3, activation="relu", padding="same", data_format="channels_first"),
        layers.MaxPooling2D(2, data_format="channels_first"),
        layers.Conv2D(16, 3, activation="relu", padding="same", data_format="channels_first"),
        layers.GlobalAveragePooling2D(data_format="channels_first"),
        layers.Dense(n_exp, activation="softmax"),
    ]
)
model.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.Adam(2e-3), metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=32, epochs=6, validation_data=(x_test, y_test), verbose=2)

accuracy = model.evaluate(x_test, y_test, verbose=0)[1]
print("test accuracy", accuracy)

print("RESULT test_acc", accuracy)
