"""A custom loop gives logits to a loss that expects probabilities (fixed: ``from_logits=True``)."""

import sys

import keras
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)

x, y = load_digits(return_X_y=True)
x = (x / 16.0).astype("float32")
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.2, random_state=0, stratify=y)

inputs = keras.Input(shape=(64,), name="digits")
hidden = keras.layers.Dense(64, activation="relu", name="dense_1")(inputs)
hidden = keras.layers.Dense(64, activation="relu", name="dense_2")(hidden)
outputs = keras.layers.Dense(10, name="predictions")(hidden)
model = keras.Model(inputs=inputs, outputs=outputs)

optimizer = keras.optimizers.SGD(learning_rate=0.1)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=fixed)
train_acc = keras.metrics.SparseCategoricalAccuracy()
train_dataset = tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(buffer_size=1500).batch(64)


@tf.function
def train_step(x_batch, y_batch):
    with tf.GradientTape() as tape:
        logits = model(x_batch, training=True)
        loss_value = loss_fn(y_batch, logits)
    grads = tape.gradient(loss_value, model.trainable_weights)
    optimizer.apply_gradients(zip(grads, model.trainable_weights, strict=True))
    train_acc.update_state(y_batch, logits)
    return loss_value


for epoch in range(20):
    losses = [float(train_step(x_batch, y_batch)) for x_batch, y_batch in train_dataset]
    print(f"epoch {epoch}  loss {np.mean(losses):.4f}  acc {float(train_acc.result()):.4f}")
    train_acc.reset_state()

predicted = model(x_test, training=False).numpy().argmax(axis=1)
accuracy = (predicted == y_test).mean()
print("test accuracy", accuracy)

print("RESULT test_acc", accuracy)
