"""A small convolutional network recognises handwritten digits.

It is compiled with TensorFlow's softmax cross-entropy in place of the one of Keras. The last layer has a softmax
already and the loss applies another one, so the gradient almost vanishes and the loss hardly moves (fixed: the
categorical cross-entropy of Keras, which takes probabilities).
"""

import sys

import keras
import tensorflow as tf
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(11)

digits = load_digits()
images = (digits.images / 16.0).astype("float32")[..., None]
labels = keras.utils.to_categorical(digits.target, 10)
x_train, x_test, y_train, y_test = train_test_split(
    images, labels, test_size=0.25, random_state=0, stratify=digits.target
)


def softmax_cross_entropy(y_true, y_pred):
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y_true, logits=y_pred))


model = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        layers.Conv2D(32, (3, 3), activation="relu", padding="same"),
        layers.Conv2D(64, (3, 3), activation="relu"),
        layers.MaxPooling2D((2, 2)),
        layers.Dropout(0.25),
        layers.Flatten(),
        layers.Dense(128, activation="relu"),
        layers.Dropout(0.5),
        layers.Dense(10, activation="softmax"),
    ]
)
model.compile(
    optimizer=keras.optimizers.SGD(learning_rate=0.05),
    loss=keras.losses.categorical_crossentropy if FIXED else softmax_cross_entropy,
    metrics=["accuracy"],
)
model.fit(x_train, y_train, batch_size=64, epochs=30, validation_split=0.1, verbose=2)
loss, acc = model.evaluate(x_test, y_test, verbose=0)
print("test loss", loss)
print("RESULT test_accuracy", f"{acc:.4f}")
