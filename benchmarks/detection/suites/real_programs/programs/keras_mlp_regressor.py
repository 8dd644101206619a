"""A network with two hidden layers predicts a value from 25 features, in a loop with a GradientTape.

The predictions have the shape (N,) and the targets (N, 1), so that their difference is a matrix of (N, N), and each
prediction is compared with all targets (fixed: targets of shape (N,)).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import keras
import numpy as np
import tensorflow as tf
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)

n, num_features = 6000, 25
X = rng.normal(size=(n, num_features)) * rng.uniform(0.5, 20, num_features) + rng.uniform(-5, 5, num_features)
Z = (X - X.mean(0)) / X.std(0)
y = Z[:, :5] @ np.array([1.5, -1.0, 0.8, 0.6, -0.5]) + 1.2 * np.tanh(Z[:, 5] * 2) + np.abs(Z[:, 6])
y = (y + rng.normal(0, 0.3, n)).reshape(-1, 1)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.25, random_state=0)
sx, sy = StandardScaler().fit(X_tr), StandardScaler().fit(y_tr)
X_tr, X_te = sx.transform(X_tr).astype("float32"), sx.transform(X_te).astype("float32")
y_tr, y_te = sy.transform(y_tr).astype("float32"), sy.transform(y_te).astype("float32")

layer_sizes = [num_features, 50, 10, 1]
model = keras.models.Sequential([keras.layers.Input((num_features,))])
for size in layer_sizes[1:-1]:
    model.add(keras.layers.Dense(size, activation="relu", kernel_regularizer=keras.regularizers.l2(0.0001)))
model.add(keras.layers.Dense(1))
optimizer = keras.optimizers.Adam(learning_rate=0.001)
dataset = tf.data.Dataset.from_tensor_slices((X_tr, y_tr)).shuffle(len(X_tr), seed=0).batch(100)


@tf.function
def train_step(x, y_true):
    if FIXED:
        y_true = tf.reshape(y_true, [-1])
    with tf.GradientTape() as tape:
        y_pred = tf.reshape(model(x, training=True), [-1])
        mse = tf.reduce_mean(tf.square(y_pred - y_true))
        loss = mse + tf.add_n(model.losses)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
    return mse


for epoch in range(30):
    total = [float(train_step(xb, yb)) for xb, yb in dataset]
    if epoch % 3 == 0 or epoch == 29:
        print(f"epoch {epoch + 1:2d}  train mse {np.mean(total):.4f}")

pred = model.predict(X_te, verbose=0)[:, 0]
target = y_te[:, 0]
r2 = 1 - np.sum((target - pred) ** 2) / np.sum((target - target.mean()) ** 2)
print(f"std of predictions {pred.std():.3f}, of targets {target.std():.3f}")
print("RESULT test_r2", f"{r2:.4f}")
