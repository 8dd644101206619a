"""Pre-train a CNN on digits 0-4, freeze the convolutions, train a new head for 5-9, then fine-tune all gently."""

import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(4)
d = load_digits()
x = (d.images / 16.0).astype("float32")[..., None]
y = d.target
low, high = y < 5, y >= 5
xa, xa_val, ya, ya_val = train_test_split(x[low], y[low], test_size=0.2, random_state=4, stratify=y[low])
xb, xb_test, yb, yb_test = train_test_split(x[high], y[high] - 5, test_size=0.3, random_state=4, stratify=y[high])

feature_layers = [
    layers.Conv2D(32, 3, padding="same", activation="relu"),
    layers.Conv2D(32, 3, padding="same", activation="relu"),
    layers.MaxPooling2D(2),
    layers.Dropout(0.25),
    layers.Flatten(),
]
base = keras.Sequential([keras.Input((8, 8, 1)), *feature_layers], name="base")

source = keras.Sequential([base, layers.Dense(64, activation="relu"), layers.Dense(5, activation="softmax")])
source.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
source.fit(xa, ya, batch_size=32, epochs=15, validation_data=(xa_val, ya_val), verbose=2)

base.trainable = False
target = keras.Sequential(
    [base, layers.Dense(64, activation="relu"), layers.Dropout(0.3), layers.Dense(5, activation="softmax")]
)
target.compile(keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
target.fit(xb, yb, batch_size=32, epochs=15, validation_data=(xb_test, yb_test), verbose=2)
print("frozen:", target.evaluate(xb_test, yb_test, verbose=0))

base.trainable = True
target.compile(keras.optimizers.Adam(2e-4), "sparse_categorical_crossentropy", metrics=["accuracy"])
target.fit(xb, yb, batch_size=32, epochs=8, validation_data=(xb_test, yb_test), verbose=2)
print(f"RESULT accuracy {target.evaluate(xb_test, yb_test, verbose=0)[1]:.4f}")
