"""Keyword-like spectrogram classifier, mixed_bfloat16 policy, gradient accumulation and EMA of the weights."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

keras.utils.set_random_seed(23)
keras.mixed_precision.set_global_policy("mixed_bfloat16")
rng = np.random.default_rng(23)
RATE, N = 2000, 1500
t = np.arange(RATE // 2) / RATE


def clip(k):
    f = rng.uniform(200, 350)
    start = rng.integers(0, 300)
    sweep = {0: 0 * t, 1: 500 * t, 2: -250 * t, 3: 60 * np.sin(2 * np.pi * 6 * t)}[k]
    phase = 2 * np.pi * np.cumsum(f + sweep) / RATE
    s = np.sin(phase) + 0.4 * np.sin(2 * phase)
    env = np.exp(-(((t - 0.2) / 0.15) ** 2))
    return np.roll(s * env, start) * rng.uniform(0.5, 1.0) + rng.normal(0, 0.3, len(t))


y = rng.integers(0, 4, N)
wave = np.stack([clip(k) for k in y]).astype("float32")
spec = tf.math.log(tf.abs(tf.signal.stft(wave, 128, 32)) + 1e-2).numpy()[..., None]
mean, std = spec[:1100].mean(), spec[:1100].std()
spec = (spec - mean) / std
print("spectrogram", spec.shape)

model = keras.Sequential(
    [
        keras.Input(spec.shape[1:]),
        layers.Conv2D(16, 3, strides=2, padding="same", use_bias=False),
        layers.BatchNormalization(momentum=0.9),
        layers.ReLU(),
        layers.Conv2D(32, 3, strides=2, padding="same", use_bias=False),
        layers.BatchNormalization(momentum=0.9),
        layers.ReLU(),
        layers.Conv2D(32, 3, strides=2, padding="same", use_bias=False),
        layers.BatchNormalization(momentum=0.9),
        layers.ReLU(),
        layers.GlobalAveragePooling2D(),
        layers.Dropout(0.2),
        layers.Dense(4),
        layers.Activation("softmax", dtype="float32"),
    ]
)
optimizer = keras.optimizers.Adam(4e-3, use_ema=True, ema_momentum=0.95, gradient_accumulation_steps=2)
model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(
    spec[:1100],
    y[:1100],
    batch_size=32,
    epochs=15,
    validation_data=(spec[1100:1250], y[1100:1250]),
    callbacks=[keras.callbacks.SwapEMAWeights(swap_on_epoch=True)],
    verbose=2,
)
print(f"RESULT accuracy {model.evaluate(spec[1250:], y[1250:], verbose=0)[1]:.4f}")
