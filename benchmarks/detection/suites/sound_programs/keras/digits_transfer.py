# Train a small convnet on digits 0-5, freeze its convolutions, and reuse them
# for the digits 6-9 with a new head.
import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(19)
d = load_digits()
images = (d.images.astype("float32") / 16.0 - 0.3)[..., None]
labels = d.target

first = labels < 6
Xa, Xa_val, ya, ya_val = train_test_split(
    images[first], labels[first], test_size=0.2, stratify=labels[first], random_state=19
)
Xb, Xb_val, yb, yb_val = train_test_split(
    images[~first], labels[~first] - 6, test_size=0.25, stratify=labels[~first], random_state=19
)

base = keras.Sequential(
    [
        layers.Input((8, 8, 1)),
        layers.Conv2D(16, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(32, 3, padding="same", activation="relu"),
        layers.Flatten(),
    ],
    name="base",
)

source = keras.Sequential([base, layers.Dense(6, activation="softmax")])
source.compile(optimizer=keras.optimizers.Adam(0.001), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
h1 = source.fit(Xa, ya, validation_data=(Xa_val, ya_val), epochs=12, batch_size=32, verbose=0)
print(
    "source task: loss {:.3f} val_loss {:.3f} val_accuracy {:.3f}".format(
        h1.history["loss"][-1], h1.history["val_loss"][-1], h1.history["val_accuracy"][-1]
    )
)

base.trainable = False  # before compile, so that it takes effect
inputs = keras.Input((8, 8, 1))
x = base(inputs, training=False)
outputs = layers.Dense(4, activation="softmax")(x)
target = keras.Model(inputs, outputs)
target.compile(optimizer=keras.optimizers.Adam(0.003), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
h2 = target.fit(Xb, yb, validation_data=(Xb_val, yb_val), epochs=20, batch_size=32, verbose=0)
print(
    "target task: loss {:.3f} val_loss {:.3f} val_accuracy {:.3f}".format(
        h2.history["loss"][-1], h2.history["val_loss"][-1], h2.history["val_accuracy"][-1]
    )
)
