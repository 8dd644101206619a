"""A custom loop compares predictions (N, 1) with targets (N,), each with each (fixed: targets (N, 1))."""

import sys

import keras
import numpy as np
import tensorflow as tf

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)

lower = np.array([0, 0], dtype="float32")
upper = np.array([1, 1], dtype="float32")
samples = 4096


def inside_disc(points):
    centre = 0.5 * (lower + upper)
    radius = 0.3 * np.min(upper - lower)
    squared = np.sum((points - centre) * (points - centre), axis=1)
    return np.where(squared <= radius * radius, 1.0, 0.0).astype("float32")


def init_model(num_hidden_layers=2, num_neurons_per_layer=64):
    model = keras.Sequential()
    model.add(keras.Input(shape=(2,)))
    model.add(keras.layers.Rescaling(scale=2.0, offset=-1.0))
    for _ in range(num_hidden_layers):
        model.add(keras.layers.Dense(num_neurons_per_layer, "leaky_relu", kernel_initializer="glorot_uniform"))
    model.add(keras.layers.Dense(1))
    return model


x_train = np.random.uniform(lower, upper, size=(samples, 2)).astype("float32")
u_train = inside_disc(x_train)
x_test = np.random.uniform(lower, upper, size=(1000, 2)).astype("float32")
u_test = inside_disc(x_test)

model = init_model()
optimizer = keras.optimizers.Adam(learning_rate=0.003)
data = tf.data.Dataset.from_tensor_slices((x_train, u_train)).shuffle(samples).batch(128)


@tf.function
def train_step(x, u):
    with tf.GradientTape() as tape:
        u_pred = model(x, training=True)
        loss = tf.reduce_mean(tf.square((u[:, None] if fixed else u) - u_pred))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
    return loss


for epoch in range(25):
    loss = np.mean([float(train_step(x, u)) for x, u in data])
    print(f"epoch {epoch} loss {loss:.5f}")

predicted = model.predict(x_test, verbose=0).ravel()
mse = np.mean((predicted - u_test) ** 2)
print("prediction min/max", predicted.min(), predicted.max())
print("test mse", mse, "var", u_test.var())
print("inside/outside right", np.mean((predicted > 0.5) == (u_test > 0.5)))

print("RESULT test_mse", mse)
