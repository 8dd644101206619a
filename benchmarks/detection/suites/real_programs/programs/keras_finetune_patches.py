"""Moving averages at a momentum of 0.99 stay those of the old data in a short fine-tuning (fixed: momentum of 0.5)."""

import sys

import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_digits

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)
rng = np.random.RandomState(0)
MOMENTUM = 0.5 if fixed else 0.99


def build_base():
    inp = keras.Input((16, 16, 3))
    x = inp
    for k, n in enumerate((16, 32, 32)):
        x = layers.Conv2D(n, 3, padding="same", name=f"conv{k}")(x)
        x = layers.BatchNormalization(momentum=MOMENTUM, name=f"bn{k}")(x)
        x = layers.ReLU()(x)
        x = layers.MaxPooling2D()(x)
    return keras.Model(inp, layers.GlobalAveragePooling2D()(x))


d = load_digits()
glyphs = np.kron(d.images, np.ones((1, 2, 2)))[..., None] / 16.0 * np.ones(3)

# the "pretrained" net: digits, pixels -1..1
base = build_base()
model = keras.Sequential([base, layers.Dense(10, activation="softmax")])
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(glyphs[:1400] * 2 - 1, d.target[:1400], batch_size=32, epochs=10, verbose=0)
loss, acc = model.evaluate(glyphs[1400:] * 2 - 1, d.target[1400:], verbose=0)
print(f"digits: loss {loss:.4f} accuracy {acc:.4f}")


def patches(n):
    """stripes that run up or down, coloured, bright"""
    y = rng.randint(0, 2, n)
    v, u = np.mgrid[0:16, 0:16]
    x = np.empty((n, 16, 16, 3), dtype="float32")
    for i in range(n):
        a = np.pi / 4 * (1 if y[i] else -1) + rng.uniform(-0.3, 0.3)
        wave = np.sin((u * np.cos(a) + v * np.sin(a)) * rng.uniform(0.8, 1.4) + rng.uniform(0, 6))
        x[i] = rng.uniform(2.0, 3.5) + rng.uniform(0.3, 0.8, 3) * wave[..., None] + 0.2 * rng.randn(16, 16, 3)
    return x, y


x_train, y_train = patches(160)
x_test, y_test = patches(400)
net = keras.Sequential([base, layers.Dense(1, activation="sigmoid")])
net.compile(optimizer=keras.optimizers.Adam(2e-3), loss="binary_crossentropy", metrics=["accuracy"])
net.fit(x_train, y_train, batch_size=32, epochs=6, validation_data=(x_test, y_test), verbose=2)
loss, acc = net.evaluate(x_test, y_test, verbose=0)

print("RESULT test_accuracy", f"{acc:.4f}")
