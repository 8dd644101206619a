# Which waveform is it? sine / square / sawtooth, random frequency and phase
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers, models

tf.keras.utils.set_random_seed(12)
rng = np.random.default_rng(12)


def batch_of_signals(n, steps=64):
    t = np.linspace(0, 1, steps, endpoint=False)
    X = np.empty((n, steps, 1), dtype="float32")
    y = rng.integers(0, 3, n)
    for i, kind in enumerate(y):
        ph = rng.uniform(2, 4) * t + rng.uniform()
        if kind == 0:
            s = np.sqrt(2) * np.sin(2 * np.pi * ph)
        elif kind == 1:
            s = np.sign(np.sin(2 * np.pi * ph))
        else:
            s = np.sqrt(3) * (2 * (ph % 1.0) - 1)
        X[i, :, 0] = s + rng.normal(0, 0.3, steps)
    return X, y


X_train, y_train = batch_of_signals(1800)
X_val, y_val = batch_of_signals(400)
X_test, y_test = batch_of_signals(400)

model = models.Sequential(
    [
        layers.Input((64, 1)),
        layers.Conv1D(12, 7, activation="relu"),
        layers.MaxPooling1D(2),
        layers.Conv1D(16, 5, activation="relu"),
        layers.GlobalAveragePooling1D(),
        layers.Dense(3, activation="softmax"),
    ]
)
decay = tf.keras.optimizers.schedules.ExponentialDecay(0.005, decay_steps=100, decay_rate=0.8)
# labels are plain integers -> sparse loss
model.compile(optimizer=tf.keras.optimizers.Adam(decay), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
h = model.fit(X_train, y_train, validation_data=(X_val, y_val), epochs=15, batch_size=50, verbose=0)
print("train loss", round(h.history["loss"][-1], 4), "val loss", round(h.history["val_loss"][-1], 4))
print("test accuracy", round(model.evaluate(X_test, y_test, verbose=0)[1], 4))
