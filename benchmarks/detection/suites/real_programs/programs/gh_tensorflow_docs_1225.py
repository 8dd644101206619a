"""Own loop for a model that returns logits, and a loss that expects probabilities (fixed: from_logits=True)."""

import sys

import data
import keras
import tensorflow as tf
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)
(x_train, y_train), (x_test, y_test) = data.digits()
x_train, x_test = x_train.reshape(-1, 64) / 255, x_test.reshape(-1, 64) / 255
inputs = keras.Input((64,), name="digits")
x = layers.Dense(64, activation="relu", name="dense_1")(inputs)
x = layers.Dense(64, activation="relu", name="dense_2")(x)
outputs = layers.Dense(10, name="predictions")(x)
model = keras.Model(inputs=inputs, outputs=outputs)
optimizer = keras.optimizers.SGD(learning_rate=0.1)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=fixed)
train_dataset = tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(1400, seed=1).batch(64)

for epoch in range(6):
    for step, (x_batch_train, y_batch_train) in enumerate(train_dataset):
        with tf.GradientTape() as tape:
            logits = model(x_batch_train)
            loss_value = loss_fn(y_batch_train, logits)
        grads = tape.gradient(loss_value, model.trainable_weights)
        optimizer.apply_gradients(zip(grads, model.trainable_weights, strict=True))
        if step % 20 == 0:
            print(f"Training loss at epoch {epoch}, step {step}: {float(loss_value):.4f}")
accuracy = keras.metrics.SparseCategoricalAccuracy()
accuracy.update_state(y_test, model(x_test))
print("RESULT accuracy", float(accuracy.result()))
