"""A head learns new digits on a frozen convolutional base with batch normalisation, trained on others.

The frozen normalisation uses the statistics of the batch in training, but those of the old digits in evaluation, so
that the head meets other features there than it was trained on (fixed: frozen layers use the stored statistics in
training, too).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import tensorflow as tf
from keras import ops
from keras.layers import Activation, Conv2D, Dense, GlobalAveragePooling2D, Input, Layer, MaxPooling2D
from keras.models import Model, Sequential
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

FIXED = "--fixed" in sys.argv
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
keras.utils.set_random_seed(11)


class BatchNorm(Layer):
    """Normalisation over the batch, as in the library, for channels last."""

    def __init__(self, momentum=0.9, epsilon=1e-3, **kwargs):
        super().__init__(**kwargs)
        self.momentum, self.epsilon = momentum, epsilon

    def build(self, shape):
        n = (shape[-1],)
        self.gamma = self.add_weight(shape=n, initializer="ones", name="gamma")
        self.beta = self.add_weight(shape=n, initializer="zeros", name="beta")
        self.moving_mean = self.add_weight(shape=n, initializer="zeros", trainable=False, name="moving_mean")
        self.moving_variance = self.add_weight(shape=n, initializer="ones", trainable=False, name="moving_variance")

    def call(self, x, training=False):
        use_batch = training and (self.trainable or not FIXED)
        if not use_batch:
            mean, variance = self.moving_mean, self.moving_variance
        else:
            mean, variance = ops.mean(x, axis=(0, 1, 2)), ops.var(x, axis=(0, 1, 2))
            if self.trainable:
                self.moving_mean.assign(self.momentum * self.moving_mean + (1 - self.momentum) * mean)
                self.moving_variance.assign(self.momentum * self.moving_variance + (1 - self.momentum) * variance)
        return self.gamma * (x - mean) / ops.sqrt(variance + self.epsilon) + self.beta


images, digits = load_digits(return_X_y=True)
images = images.reshape(-1, 8, 8, 1).astype("float32") / 16
old, new = digits < 5, digits >= 5

base = Sequential(
    [
        Input((8, 8, 1)),
        Conv2D(32, 3, padding="same", use_bias=False),
        BatchNorm(),
        Activation("relu"),
        MaxPooling2D(2),
        Conv2D(64, 3, padding="same", use_bias=False),
        BatchNorm(),
        Activation("relu"),
        GlobalAveragePooling2D(),
    ]
)
pretraining = Sequential([base, Dense(5, activation="softmax")])
pretraining.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
pretraining.fit(images[old], digits[old], epochs=15, batch_size=32, verbose=0)
print(f"pretrained on digits 0 to 4, accuracy {pretraining.evaluate(images[old], digits[old], verbose=0)[1]:.3f}")

# the new pictures come from a scanner with a brighter background
x = 0.35 + 0.65 * images[new]
y = digits[new] - 5
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.3, random_state=0, stratify=y)

for layer in base.layers:
    layer.trainable = False
inputs = Input((8, 8, 1))
hidden = Dense(64, activation="relu")(base(inputs))
predictions = Dense(5, activation="softmax")(hidden)
model = Model(inputs, predictions)
model.compile(optimizer=keras.optimizers.Adam(0.003), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x_train, y_train, epochs=40, batch_size=32, verbose=2)

print("evaluate on the training data:", model.evaluate(x_train, y_train, verbose=0))
_, accuracy = model.evaluate(x_test, y_test, verbose=0)
print("RESULT test_accuracy", f"{accuracy:.4f}")
