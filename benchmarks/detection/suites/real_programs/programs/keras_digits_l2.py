"""One hidden layer of 36 sigmoid units learns pictures of digits.

An L2 penalty of 0.01 together with dropout of one half leaves it too little to learn with (fixed: 0.0001, and dropout
of 0.1).
"""

import sys

import keras
import tensorflow as tf
from keras import activations, layers, losses, models, optimizers, regularizers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(9)
tf.config.experimental.enable_op_determinism()

NUM_CLASSES = 10
BATCH_SIZE = 128
EPOCHS = 80
d = load_digits()
X = (d.data / 16.0).astype("float32")
Y = keras.utils.to_categorical(d.target, NUM_CLASSES)
x_train, x_val, y_train, y_val = train_test_split(X, Y, test_size=0.25, random_state=0)

model = models.Sequential(
    [
        layers.Input(shape=x_train.shape[1:]),
        layers.Dense(
            units=36, activation=activations.sigmoid, kernel_regularizer=regularizers.l2(0.0001) if fixed else "l2"
        ),
        layers.Dropout(0.1 if fixed else 0.5),
        layers.Dense(
            units=NUM_CLASSES,
            activation=activations.softmax,
            kernel_regularizer=regularizers.l2(0.0001) if fixed else "l2",
        ),
    ]
)
model.compile(loss=losses.CategoricalCrossentropy(), optimizer=optimizers.RMSprop(0.003), metrics=["accuracy"])
model.fit(x_train, y_train, batch_size=BATCH_SIZE, epochs=EPOCHS, verbose=2, validation_data=(x_val, y_val))
print("RESULT val_accuracy", f"{model.evaluate(x_val, y_val, verbose=0)[1]:.4f}")
