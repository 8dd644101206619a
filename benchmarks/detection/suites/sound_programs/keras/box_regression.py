"""Localisation: one bright textured rectangle per noisy picture; CNN gives its box and its kind (Huber + CE)."""

import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(6)
rng = np.random.default_rng(6)
S = 24


def make(n):
    x = rng.normal(0.3, 0.12, (n, S, S, 1)).astype("float32")
    box, kind = np.zeros((n, 4), "float32"), rng.integers(0, 2, n)
    for i in range(n):
        w, h = rng.integers(6, 14, 2)
        x0, y0 = rng.integers(0, S - w + 1), rng.integers(0, S - h + 1)
        yy, xx = np.mgrid[:h, :w]
        tex = (xx // 2 % 2) if kind[i] else (yy // 2 % 2)
        x[i, y0 : y0 + h, x0 : x0 + w, 0] += 0.25 + 0.3 * tex
        box[i] = np.array([x0 + w / 2, y0 + h / 2, w, h]) / S
    return (x.clip(0, 1) - 0.38) / 0.2, box, kind


def iou(a, b):
    lo = np.maximum(a[:, :2] - a[:, 2:] / 2, b[:, :2] - b[:, 2:] / 2)
    hi = np.minimum(a[:, :2] + a[:, 2:] / 2, b[:, :2] + b[:, 2:] / 2)
    inter = np.prod(np.clip(hi - lo, 0, None), 1)
    return inter / (np.prod(a[:, 2:], 1) + np.prod(b[:, 2:], 1) - inter)


xtr, btr, ktr = make(2500)
xte, bte, kte = make(400)
inp = keras.Input((S, S, 1))
h = inp
for f in (16, 32, 48):
    h = layers.Conv2D(f, 3, padding="same", use_bias=False, kernel_initializer="he_normal")(h)
    h = layers.BatchNormalization(momentum=0.9)(h)
    h = layers.ReLU()(h)
    h = layers.MaxPooling2D()(h)
h = layers.Flatten()(h)
h = layers.Dense(64, activation="relu", kernel_initializer="he_normal")(h)
box = layers.Dense(4, activation="sigmoid", name="box")(h)
kind = layers.Dense(2, activation="softmax", name="kind")(h)
model = keras.Model(inp, [box, kind])
steps = 12 * int(np.ceil(len(xtr) / 50))
model.compile(
    keras.optimizers.AdamW(keras.optimizers.schedules.CosineDecay(2e-3, steps), weight_decay=1e-4),
    loss={"box": keras.losses.Huber(delta=0.1), "kind": "sparse_categorical_crossentropy"},
    loss_weights={"box": 50.0, "kind": 0.5},
    metrics={"kind": "accuracy"},
)
model.fit(xtr, {"box": btr, "kind": ktr}, epochs=12, batch_size=50, verbose=2)
pb, pk = model.predict(xte, verbose=0)
print("kind acc %.3f" % np.mean(pk.argmax(1) == kte))
print("RESULT mean_iou %.4f" % iou(pb, bte).mean())
