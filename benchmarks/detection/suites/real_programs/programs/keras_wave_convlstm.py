"""The state of an LSTM with relu grows from step to step, and the loss explodes (fixed: tanh)."""

import sys

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(2)

seq_len, feat_dim, output_dim = 160, 2, 3
n_blocks = 1


def make_series(count):
    t = np.arange(seq_len)
    xs = np.zeros((count, seq_len, feat_dim), dtype="float32")
    ys = np.random.randint(0, output_dim, size=count)
    for i in range(count):
        freq = [0.15, 0.35, 0.6][ys[i]] * np.random.uniform(0.8, 1.2)
        for k in range(feat_dim):
            xs[i, :, k] = 1 + np.sin(freq * t + np.random.uniform(0, 2 * np.pi))
    xs += 0.3 * np.random.randn(*xs.shape)
    return xs, keras.utils.to_categorical(ys, output_dim)


x_train, y_train = make_series(800)
x_test, y_test = make_series(300)

m_input = keras.Input((seq_len, feat_dim))
x = m_input
for _ in range(n_blocks):
    x = layers.Conv1D(64, 3, activation="relu", padding="same")(x)
    x = layers.Dropout(0.2)(x)
    x = layers.LSTM(64, activation="tanh" if fixed else "relu", return_sequences=True)(x)
    x = layers.Dropout(0.2)(x)
x = layers.Flatten()(x)
x = layers.Dense(32, activation="relu")(x)
m_output = layers.Dense(output_dim, activation="softmax")(x)
model = keras.Model(m_input, m_output)
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="categorical_crossentropy", metrics=["accuracy"])
history = model.fit(x_train, y_train, batch_size=32, epochs=8, validation_data=(x_test, y_test), verbose=2)

print("largest training loss", max(history.history["loss"]))
score = model.evaluate(x_test, y_test, verbose=0)
print("test loss and accuracy", score)

print("RESULT test_acc", score[1])
