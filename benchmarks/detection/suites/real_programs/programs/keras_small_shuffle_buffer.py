"""Samples in the order of their classes are shuffled in a buffer of 100 (fixed: in one of all samples)."""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)

x, y = make_classification(
    n_samples=10000,
    n_features=20,
    n_informative=12,
    n_classes=6,
    n_clusters_per_class=1,
    class_sep=1.5,
    flip_y=0.0,
    random_state=0,
)
x_train, x_val, y_train, y_val = train_test_split(x, y, test_size=0.25, random_state=0, stratify=y)
scaler = StandardScaler().fit(x_train)
x_train, x_val = scaler.transform(x_train).astype("float32"), scaler.transform(x_val).astype("float32")

shards = [np.flatnonzero(y_train == label) for label in range(6)]
order = np.concatenate(shards)
train_ds = tf.data.Dataset.from_tensor_slices((x_train[order], y_train[order]))
train_ds = train_ds.shuffle(len(order) if fixed else 100, seed=0).batch(32).prefetch(1)
val_ds = tf.data.Dataset.from_tensor_slices((x_val, y_val)).batch(256)

model = keras.Sequential(
    [
        keras.Input((20,)),
        layers.Dense(64, activation="relu"),
        layers.Dense(6, activation="softmax"),
    ]
)
model.compile(
    optimizer=keras.optimizers.SGD(0.05, momentum=0.9), loss="sparse_categorical_crossentropy", metrics=["accuracy"]
)
history = model.fit(train_ds, validation_data=val_ds, epochs=8, verbose=2)

print("RESULT val_acc", history.history["val_accuracy"][-1])
