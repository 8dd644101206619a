"""A simple network for a regression on twelve measurements is trained by gradient descent in a loop of one's own.

With a learning rate of 0.001 on the squared error summed over a batch, the loss jumps from thousands to trillions
within an epoch and the weights become NaN (fixed: a learning rate of 0.0001).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(31)
rng = np.random.default_rng(31)

X = rng.normal(size=(4000, 12)) * rng.uniform(0.5, 20, 12) + rng.uniform(-30, 30, 12)
Z = (X - X.mean(0)) / X.std(0)
y = 2 * Z[:, 0] - 1.5 * Z[:, 1] + Z[:, 2] * Z[:, 3] + np.maximum(Z[:, 4], 0) * 2 + 0.2 * rng.normal(size=4000)

X_train, X_test, y_train, y_test = train_test_split(X, y[:, None], test_size=0.25, random_state=0)
sx, sy = StandardScaler().fit(X_train), StandardScaler().fit(y_train)
X_train, X_test = sx.transform(X_train).astype("float32"), sx.transform(X_test).astype("float32")
y_train, y_test = sy.transform(y_train).astype("float32"), sy.transform(y_test).astype("float32")

model = keras.Sequential(
    [
        keras.Input((12,)),
        layers.Dense(128, activation="relu"),
        layers.Dense(128, activation="relu"),
        layers.Dense(1),
    ]
)
optimizer = keras.optimizers.SGD(learning_rate=0.0001 if FIXED else 0.001)


@tf.function
def minimize(xb, yb):
    with tf.GradientTape() as tape:
        cost = tf.reduce_sum(tf.square(model(xb) - yb))
    grads = tape.gradient(cost, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
    return cost


batch_size = 800
for epoch in range(120):
    order = rng.permutation(len(X_train))
    epoch_cost = 0.0
    for i in range(0, len(order), batch_size):
        idx = order[i : i + batch_size]
        epoch_cost += float(minimize(tf.constant(X_train[idx]), tf.constant(y_train[idx])))
    if epoch % 10 == 0:
        print("epoch", epoch, "cost", epoch_cost)

error = model.predict(X_test, verbose=0) - y_test
print("RESULT test_rmse", f"{np.sqrt(np.mean(error**2)):.4f}")
