"""A network with four hidden layers maps vectors of bits to a real value, in a training loop of one's own.

The hidden layers are sigmoids, so the gradient vanishes on its way to the first ones and the output stays at the mean
(fixed: ReLU).
"""

import sys

import keras
import numpy as np
import tensorflow as tf

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(6)
rng = np.random.default_rng(6)

bits = rng.integers(0, 2, size=(4000, 16)).astype("float32")
w = rng.normal(size=16)
value = bits @ w + 1.5 * bits[:, 0] * bits[:, 3] - 2 * bits[:, 5] * bits[:, 9]
value = ((value - value.mean()) / value.std()).astype("float32")[:, None]
x_train, x_test, y_train, y_test = bits[:3200], bits[3200:], value[:3200], value[3200:]

hidden = "relu" if fixed else "sigmoid"
net = keras.Sequential(
    [keras.Input((16,))] + [keras.layers.Dense(128, activation=hidden) for _ in range(4)] + [keras.layers.Dense(1)]
)
opt = keras.optimizers.SGD(learning_rate=0.05)
data = tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(3200, seed=1).batch(64)


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(net(x, training=True) - y))
    grads = tape.gradient(loss, net.trainable_variables)
    opt.apply_gradients(zip(grads, net.trainable_variables, strict=True))
    return loss


for epoch in range(40):
    losses = [float(step(x, y)) for x, y in data]
    if epoch % 5 == 4:
        print("epoch", epoch + 1, "loss", np.mean(losses))

mse = float(np.mean((net(x_test, training=False).numpy() - y_test) ** 2))
print("RESULT test_mse", f"{mse:.4f}")
