"""A small residual network, whose batch normalisation can be frozen, learns digits.

When it is not frozen, the layer is always called with training=True, so that it takes the statistics of the batch in
validation, too (fixed: training is passed on when the layer is not frozen).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(4)


class BatchNormalization(layers.BatchNormalization):
    """Batch normalisation that can be frozen."""

    def __init__(self, freeze=False, **kwargs):
        super().__init__(**kwargs)
        self.freeze = freeze
        self.trainable = not freeze

    def call(self, inputs, training=None, mask=None):
        training = (False if self.freeze else training) if FIXED else not self.freeze
        return super().call(inputs, training=training, mask=mask)


def block(x, filters, stride=1):
    y = layers.Conv2D(filters, 3, strides=stride, padding="same", use_bias=False)(x)
    y = BatchNormalization(momentum=0.9)(y)
    y = layers.Activation("relu")(y)
    y = layers.Conv2D(filters, 3, padding="same", use_bias=False)(y)
    y = BatchNormalization(momentum=0.9)(y)
    if stride != 1 or x.shape[-1] != filters:
        x = layers.Conv2D(filters, 1, strides=stride, use_bias=False)(x)
        x = BatchNormalization(momentum=0.9)(x)
    return layers.Activation("relu")(layers.Add()([x, y]))


digits = load_digits()
X = (digits.images / 16.0).astype("float32")[..., None]
X_tr, X_va, y_tr, y_va = train_test_split(X, digits.target, test_size=0.3, random_state=4, stratify=digits.target)
order = np.argsort(y_va, kind="stable")
X_va, y_va = X_va[order], y_va[order]

inputs = layers.Input((8, 8, 1))
x = layers.Conv2D(16, 3, padding="same", use_bias=False)(inputs)
x = BatchNormalization(momentum=0.9)(x)
x = layers.Activation("relu")(x)
x = block(x, 16)
x = block(x, 32, stride=2)
x = layers.GlobalAveragePooling2D()(x)
outputs = layers.Dense(10, activation="softmax")(x)
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.Adam(0.002), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(X_tr, y_tr, batch_size=32, epochs=12, validation_data=(X_va, y_va), validation_batch_size=32, verbose=2)

loss, accuracy = model.evaluate(X_va, y_va, batch_size=32, verbose=0)
print("RESULT valid_accuracy", f"{accuracy:.4f}")
