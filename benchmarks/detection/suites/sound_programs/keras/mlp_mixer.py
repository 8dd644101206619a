import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(0)
d = load_digits()
x = (d.images / 16.0).astype("float32")[..., None]
y = d.target
i = keras.Input((8, 8, 1))
h = layers.Conv2D(32, 2, strides=2)(i)
h = layers.Reshape((16, 32))(h)
for _ in range(2):
    u = layers.LayerNormalization()(h)
    u = layers.Permute((2, 1))(u)
    u = layers.Dense(32, activation="gelu")(u)
    u = layers.Dense(16)(u)
    u = layers.Permute((2, 1))(u)
    h = layers.Add()([h, u])
    u = layers.LayerNormalization()(h)
    u = layers.Dense(64, activation="gelu")(u)
    u = layers.Dense(32)(u)
    h = layers.Add()([h, u])
h = layers.GlobalAveragePooling1D()(h)
m = keras.Model(i, layers.Dense(10)(layers.Dropout(0.2)(h)))
m.compile(
    keras.optimizers.AdamW(2e-3, weight_decay=1e-4),
    keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
m.fit(x[:1500], y[:1500], epochs=8, batch_size=64, validation_data=(x[1500:], y[1500:]), verbose=2)
