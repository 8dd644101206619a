"""DeepSurv-style Cox model: the negative partial log likelihood over batches, judged by the concordance index."""

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(14)
rng = np.random.default_rng(14)
n = 3000
age = rng.normal(60, 10, n)
marker = rng.gamma(2.0, 1.0, n)
stage = rng.integers(1, 4, n)
treated = rng.integers(0, 2, n)
bmi = rng.normal(26, 4, n)
log_risk = 0.05 * (age - 60) + 0.8 * np.log1p(marker) + 0.6 * (stage - 2) - 0.8 * treated + 0.015 * (bmi - 26) ** 2
event_time = rng.exponential(np.exp(-log_risk)) * 5
censor_time = rng.exponential(8.0, n)
time = np.minimum(event_time, censor_time).astype("float32")
event = (event_time <= censor_time).astype("float32")
X = np.stack([age, marker, stage, treated, bmi], 1)
mean, std = X[:2100].mean(0), X[:2100].std(0)
X = ((X - mean) / std).astype("float32")
X_train, t_train, e_train = X[:2100], time[:2100], event[:2100]
X_val, t_val, e_val = X[2100:2500], time[2100:2500], event[2100:2500]
X_test, t_test, e_test = X[2500:], time[2500:], event[2500:]
print(f"event rate {event.mean():.2f}")


def cox_loss(times, events, risk):
    at_risk = tf.cast(times[None, :] >= times[:, None], tf.float32)
    shift = tf.reduce_max(risk)
    log_sum = tf.math.log(tf.linalg.matvec(at_risk, tf.exp(risk - shift))) + shift
    return -tf.reduce_sum(events * (risk - log_sum)) / tf.maximum(tf.reduce_sum(events), 1.0)


def c_index(times, events, risk):
    comparable = (times[:, None] < times[None, :]) & (events[:, None] == 1)
    return ((risk[:, None] > risk[None, :]) & comparable).sum() / comparable.sum()


net = keras.Sequential(
    [
        keras.Input((5,)),
        layers.Dense(32, activation="selu", kernel_initializer="lecun_normal"),
        layers.Dense(16, activation="selu", kernel_initializer="lecun_normal"),
        layers.Dense(1, use_bias=False),
    ]
)
optimizer = keras.optimizers.Adam(1e-3)
dataset = tf.data.Dataset.from_tensor_slices((X_train, t_train, e_train)).shuffle(2100, seed=1).batch(128)


@tf.function
def train_step(xb, tb, eb):
    with tf.GradientTape() as tape:
        loss = cox_loss(tb, eb, net(xb, training=True)[:, 0])
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
    return loss


for epoch in range(40):
    losses = [float(train_step(*b)) for b in dataset]
    if epoch % 5 == 4:
        print(
            "epoch %d loss %.4f val c-index %.4f"
            % (epoch + 1, np.mean(losses), c_index(t_val, e_val, net(X_val).numpy()[:, 0]))
        )
print(f"true risk c-index {c_index(t_test, e_test, log_risk[2500:]):.4f}")
print(f"RESULT c_index {c_index(t_test, e_test, net(X_test).numpy()[:, 0]):.4f}")
