"""Very small vision transformer on the digits: custom patch layer, AdamW, warm-up + cosine, label smoothing."""

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(8)
X, y = load_digits(return_X_y=True)
X = (X.reshape(-1, 8, 8, 1) / 8.0 - 1.0).astype("float32")
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.2, random_state=2, stratify=y)


class PatchEmbed(layers.Layer):
    def __init__(self, dim, **kw):
        super().__init__(**kw)
        self.proj = layers.Conv2D(dim, 2, strides=2)
        self.dim = dim

    def build(self, shape):
        self.pos = self.add_weight(
            name="pos", shape=(1, 16, self.dim), initializer=keras.initializers.RandomNormal(stddev=0.02)
        )
        super().build(shape)

    def call(self, x):
        return tf.reshape(self.proj(x), (-1, 16, self.dim)) + self.pos


D = 32
inp = keras.Input((8, 8, 1))
h = PatchEmbed(D)(inp)
for _ in range(2):
    a = layers.LayerNormalization(epsilon=1e-6)(h)
    h = h + layers.MultiHeadAttention(4, D // 4, dropout=0.05)(a, a)
    m = layers.LayerNormalization(epsilon=1e-6)(h)
    m = layers.Dense(2 * D, activation="gelu")(m)
    h = h + layers.Dense(D)(m)
h = layers.GlobalAveragePooling1D()(layers.LayerNormalization(epsilon=1e-6)(h))
model = keras.Model(inp, layers.Dense(10)(h))
EPOCHS, B = 20, 64
steps = EPOCHS * int(np.ceil(len(Xtr) / B))
lr = keras.optimizers.schedules.CosineDecay(1e-5, steps - 60, warmup_target=3e-3, warmup_steps=60)
model.compile(
    keras.optimizers.AdamW(lr, weight_decay=1e-3),
    keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1),
    metrics=["accuracy"],
)
model.fit(
    Xtr,
    keras.utils.to_categorical(ytr, 10),
    epochs=EPOCHS,
    batch_size=B,
    verbose=2,
    validation_data=(Xte, keras.utils.to_categorical(yte, 10)),
)
print("RESULT accuracy %.4f" % np.mean(model.predict(Xte, verbose=0).argmax(1) == yte))
