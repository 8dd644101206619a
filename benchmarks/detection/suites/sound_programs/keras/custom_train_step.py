# Subclassed model with its own train_step and a custom (log-cosh like) loss
import keras
import numpy as np
import tensorflow as tf
from keras import layers

keras.utils.set_random_seed(17)
rng = np.random.default_rng(17)


def smooth_abs(y_true, y_pred):
    d = y_pred - y_true
    return tf.reduce_mean(tf.sqrt(1.0 + tf.square(d)) - 1.0, axis=-1)


class Regressor(keras.Model):
    def __init__(self, units=24):
        super().__init__()
        self.hidden1 = layers.Dense(units, activation="swish")
        self.hidden2 = layers.Dense(units, activation="swish")
        self.out = layers.Dense(1)

    def call(self, x, training=False):
        return self.out(self.hidden2(self.hidden1(x)))

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(x=x, y=y, y_pred=y_pred)
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        for m in self.metrics:
            if m.name == "loss":
                m.update_state(loss)
            else:
                m.update_state(y, y_pred)
        return {m.name: m.result() for m in self.metrics}


X = rng.uniform(-1, 1, size=(2000, 3)).astype("float32") * np.sqrt(3).astype("float32")
y = (np.sin(1.5 * X[:, 0]) + 0.7 * X[:, 1] * X[:, 2] - 0.5 * X[:, 1]).reshape(-1, 1)
y = (y / y.std() + rng.normal(0, 0.08, y.shape)).astype("float32")
X_train, y_train, X_val, y_val = X[:1600], y[:1600], X[1600:], y[1600:]

model = Regressor()
model.compile(optimizer=keras.optimizers.Adam(0.004), loss=smooth_abs, metrics=["mae"])
hist = model.fit(X_train, y_train, validation_data=(X_val, y_val), batch_size=32, epochs=30, verbose=0)

print({k: round(v[0], 4) for k, v in hist.history.items()}, "<- first epoch")
print({k: round(v[-1], 4) for k, v in hist.history.items()}, "<- last epoch")
p = model.predict(X_val, verbose=0)
print("validation R2: %.3f" % (1 - np.mean((p - y_val) ** 2) / np.var(y_val)))
