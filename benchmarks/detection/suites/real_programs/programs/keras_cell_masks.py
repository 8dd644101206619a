"""A small U-Net finds round cells; the pictures and masks are in two folders, a picture and its mask of one name.

The folders are listed in different orders, so each picture is trained with the mask of another one (fixed: names
sorted).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(2)
tf.config.experimental.enable_op_determinism()
S = 32


def sample(rng):
    yy, xx = np.mgrid[:S, :S]
    mask = np.zeros((S, S), bool)
    for _ in range(rng.integers(1, 4)):
        r, cy, cx = rng.uniform(4, 8), rng.uniform(4, S - 4), rng.uniform(4, S - 4)
        mask |= (yy - cy) ** 2 + (xx - cx) ** 2 < r * r
    img = 70 + 90 * mask + rng.normal(0, 25, (S, S))
    return np.clip(img, 0, 255).astype("uint8"), (mask * 255).astype("uint8")


rng = np.random.default_rng(4)
pairs = {f"img_{i:04d}.png": sample(rng) for i in range(300)}
# what the file system hands out for the two folders
folder_images = {n: pairs[n][0] for n in rng.permutation(sorted(pairs))}
folder_masks = {n: pairs[n][1] for n in rng.permutation(sorted(pairs))}


class DirectoryFlow(keras.utils.PyDataset):
    def __init__(self, folder, batch_size, seed):
        super().__init__()
        self.folder, self.batch_size = folder, batch_size
        self.filenames = list(folder)
        if fixed:
            self.filenames.sort()
        self.rng = np.random.default_rng(seed)
        self.on_epoch_end()

    def on_epoch_end(self):
        self.order = self.rng.permutation(len(self.filenames))

    def __len__(self):
        return len(self.filenames) // self.batch_size

    def __getitem__(self, k):
        idx = self.order[k * self.batch_size : (k + 1) * self.batch_size]
        return np.stack([self.folder[self.filenames[i]] for i in idx])[..., None].astype("float32") / 255.0


def zipped():
    a, b = DirectoryFlow(folder_images, 15, 1), DirectoryFlow(folder_masks, 15, 1)
    while True:
        for k in range(len(a)):
            yield a[k], b[k]
        a.on_epoch_end()
        b.on_epoch_end()


inp = keras.Input((S, S, 1))
c1 = layers.Conv2D(8, 3, padding="same", activation="relu")(inp)
c1 = layers.Conv2D(8, 3, padding="same", activation="relu")(c1)
p1 = layers.MaxPooling2D()(c1)
c2 = layers.Conv2D(16, 3, padding="same", activation="relu")(p1)
c2 = layers.Conv2D(16, 3, padding="same", activation="relu")(c2)
u1 = layers.concatenate([layers.UpSampling2D()(c2), c1])
c3 = layers.Conv2D(8, 3, padding="same", activation="relu")(u1)
out = layers.Conv2D(1, 1, activation="sigmoid")(c3)
model = keras.Model(inp, out)
model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="binary_crossentropy", metrics=["accuracy"])
model.fit(zipped(), steps_per_epoch=20, epochs=10, verbose=2)

test = [sample(rng) for _ in range(60)]
xt = np.stack([t[0] for t in test])[..., None] / 255.0
mt = np.stack([t[1] for t in test])[..., None] > 127
pred = model.predict(xt.astype("float32"), verbose=0) > 0.5
iou = (pred & mt).sum() / max(1, (pred | mt).sum())
print("RESULT iou", round(float(iou), 4))
