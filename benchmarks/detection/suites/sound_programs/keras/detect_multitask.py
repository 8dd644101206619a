"""Single-object detection: shared CNN, a class head (cross-entropy) and a box head (Huber), with weights of losses."""

import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(19)
rng = np.random.default_rng(19)
S, N = 32, 1800
yy, xx = np.mgrid[:S, :S]
images, classes, boxes = [], [], []
for _ in range(N):
    c = rng.integers(0, 3)
    w, h = rng.uniform(9, 18, 2)
    cx, cy = rng.uniform(w / 2, S - w / 2), rng.uniform(h / 2, S - h / 2)
    dx, dy = abs(xx - cx) / (w / 2), abs(yy - cy) / (h / 2)
    if c == 0:
        m = (dx < 1) & (dy < 1)
    elif c == 1:
        m = dx**2 + dy**2 < 1
    else:
        m = (dx + dy) < 1
    images.append(np.clip(0.2 + 0.6 * m + rng.normal(0, 0.08, (S, S)), 0, 1))
    classes.append(c)
    boxes.append([cx / S, cy / S, w / S, h / S])
x = np.array(images, "float32")[..., None]
c = np.array(classes)
b = np.array(boxes, "float32")
n = 1500

inp = keras.Input((S, S, 1))
h = inp
for f in (8, 16, 32):
    h = layers.Conv2D(f, 3, padding="same", activation="relu")(h)
    h = layers.MaxPooling2D()(h)
h = layers.Flatten()(h)
h = layers.Dense(64, activation="relu")(h)
cls = layers.Dense(3, activation="softmax", name="cls")(h)
box = layers.Dense(4, activation="sigmoid", name="box")(h)
model = keras.Model(inp, {"cls": cls, "box": box})
model.compile(
    optimizer=keras.optimizers.Adam(2e-3),
    loss={"cls": "sparse_categorical_crossentropy", "box": keras.losses.Huber(delta=0.1)},
    loss_weights={"cls": 1.0, "box": 50.0},
    metrics={"cls": ["accuracy"], "box": ["mae"]},
)
model.fit(
    x[:n],
    {"cls": c[:n], "box": b[:n]},
    validation_data=(x[n:], {"cls": c[n:], "box": b[n:]}),
    batch_size=32,
    epochs=12,
    verbose=2,
    callbacks=[keras.callbacks.LearningRateScheduler(lambda e: 2e-3 if e < 8 else 5e-4)],
)


def iou(p, q):
    lo = np.maximum(p[:, :2] - p[:, 2:] / 2, q[:, :2] - q[:, 2:] / 2)
    hi = np.minimum(p[:, :2] + p[:, 2:] / 2, q[:, :2] + q[:, 2:] / 2)
    inter = np.prod(np.maximum(hi - lo, 0), axis=1)
    return inter / (np.prod(p[:, 2:], 1) + np.prod(q[:, 2:], 1) - inter)


out = model.predict(x[n:], verbose=0)
print("class accuracy {:.4f}".format(np.mean(out["cls"].argmax(1) == c[n:])))
print(f"trivial iou {iou(np.tile(b[:n].mean(0), (N - n, 1)), b[n:]).mean():.4f}")
print("RESULT mean_iou {:.4f}".format(iou(out["box"], b[n:]).mean()))
