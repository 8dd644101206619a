"""Transfer by an own loop: the model with batch normalisation is called without training=True (fixed: with it)."""

import sys

import data
import keras
import tensorflow as tf
from keras.layers import BatchNormalization, Conv2D, Dense, GlobalAveragePooling2D, ReLU

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)
(x, y), (test_x, test_y) = data.digits()
x, test_x = x[..., None], test_x[..., None]
model = keras.Sequential([keras.Input((8, 8, 1))])
for filters in (16, 32, 32):
    model.add(Conv2D(filters, 3, padding="same", use_bias=False))
    model.add(BatchNormalization())
    model.add(ReLU())
model.add(GlobalAveragePooling2D())
model.add(Dense(10))
loss_object = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = keras.optimizers.Adam(1e-3)
batches = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1400, seed=1).batch(50)


@tf.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        predictions = model(images, training=True) if fixed else model(images)
        loss = loss_object(labels, predictions)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


for _ in range(4):
    for images, labels in batches:
        train_step(images, labels)
print("RESULT loss", float(loss_object(test_y, model(test_x, training=False))))
