"""A variational autoencoder for scanned digits, dark on white paper, is trained with a loop of one's own.

The likelihood takes the logarithm of the decoder's sigmoid output and of one minus it as they are. Pixels that are
always white reach an output of exactly 1, and 0 * log(0) makes the loss and then all weights NaN
(fixed: sigmoid_cross_entropy_with_logits of the output before the sigmoid).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from sklearn.datasets import load_digits

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(2)

digits = load_digits().images / 16.0
digits = np.pad(digits, ((0, 0), (2, 2), (2, 2)))
data = (1.0 - np.round(digits)).reshape(len(digits), -1).astype("float32")
train, test = data[:1500], data[1500:]
DIM, LATENT, HIDDEN, BATCH, EPOCHS = data.shape[1], 8, 200, 50, 30

encoder = keras.Sequential(
    [
        keras.Input((DIM,)),
        layers.Dense(HIDDEN, activation="elu"),
        layers.Dense(HIDDEN, activation="tanh"),
        layers.Dense(2 * LATENT),
    ]
)
decoder = keras.Sequential(
    [
        keras.Input((LATENT,)),
        layers.Dense(HIDDEN, activation="tanh"),
        layers.Dense(HIDDEN, activation="elu"),
        layers.Dense(DIM),
    ]
)
optimizer = keras.optimizers.Adam(1e-3)
weights = encoder.trainable_variables + decoder.trainable_variables


def run(x):
    mu, log_var = tf.split(encoder(x), 2, axis=1)
    z = mu + tf.exp(0.5 * log_var) * tf.random.normal(tf.shape(mu))
    logits = decoder(z)
    if FIXED:
        marginal = -tf.nn.sigmoid_cross_entropy_with_logits(labels=x, logits=logits)
    else:
        y = tf.sigmoid(logits)
        marginal = x * tf.math.log(y) + (1.0 - x) * tf.math.log(1.0 - y)
    kl = 0.5 * tf.reduce_sum(tf.square(mu) + tf.exp(log_var) - log_var - 1.0, axis=1)
    elbo = tf.reduce_mean(tf.reduce_sum(marginal, axis=1) - kl)
    return -elbo


@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        loss = run(x)
    grads = tape.gradient(loss, weights)
    optimizer.apply_gradients(zip(grads, weights, strict=True))
    return loss


rng = np.random.default_rng(2)
for epoch in range(EPOCHS):
    order = rng.permutation(len(train))
    losses = [float(train_step(tf.constant(train[order[i : i + BATCH]]))) for i in range(0, len(train), BATCH)]
    if epoch % 3 == 2:
        print("epoch", epoch + 1, f"loss {np.mean(losses):.3f}")

mu = encoder(test)[:, :LATENT]
picture = tf.sigmoid(decoder(mu)).numpy()
error = float(np.mean(np.abs(picture - test)))
print("RESULT reconstruction_error", f"{error:.4f}")
