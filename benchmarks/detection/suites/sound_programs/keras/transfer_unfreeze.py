import keras
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(0)
d = load_digits()
x = (d.images / 16.0).astype("float32")[..., None]
y = d.target
base = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        layers.Conv2D(16, 3, padding="same", use_bias=False),
        layers.BatchNormalization(),
        layers.ReLU(),
        layers.Conv2D(32, 3, use_bias=False),
        layers.BatchNormalization(),
        layers.ReLU(),
        layers.GlobalAveragePooling2D(),
    ],
    name="base",
)
a = y < 5
pre = keras.Sequential([base, layers.Dense(5, activation="softmax")])
pre.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
pre.fit(x[a], y[a], epochs=5, batch_size=32, validation_split=0.1, verbose=2)
base.trainable = False
i = keras.Input((8, 8, 1))
h = base(i, training=False)
h = layers.Dropout(0.2)(h)
m = keras.Model(i, layers.Dense(5, activation="softmax")(h))
xb, yb = x[~a], y[~a] - 5
m.compile(keras.optimizers.Adam(1e-2), "sparse_categorical_crossentropy", metrics=["accuracy"])
m.fit(xb, yb, epochs=5, batch_size=32, validation_split=0.1, verbose=2)
base.trainable = True
m.compile(keras.optimizers.Adam(2e-4), "sparse_categorical_crossentropy", metrics=["accuracy"])
m.fit(xb, yb, epochs=4, batch_size=32, validation_split=0.1, verbose=2)
