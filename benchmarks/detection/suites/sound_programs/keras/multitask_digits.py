"""Multi-task functional model on digits: class, closed-loop flag and ink centre, with weighted losses."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(5)
d = load_digits()
x = (d.images / 16.0).astype("float32")
cls = d.target
loop = np.isin(cls, [0, 6, 8, 9]).astype("float32")
g = np.arange(8)
mass = x.sum((1, 2))
com = np.stack([(x * g[None, :, None]).sum((1, 2)) / mass, (x * g[None, None, :]).sum((1, 2)) / mass], 1)
i_tr, i_te = train_test_split(np.arange(len(x)), test_size=0.25, random_state=0, stratify=cls)
com = ((com - com[i_tr].mean(0)) / com[i_tr].std(0)).astype("float32")
x = x[..., None]

inp = keras.Input((8, 8, 1))
h = layers.Conv2D(24, 3, padding="same", activation="relu")(inp)
h = layers.Conv2D(32, 3, activation="relu")(h)
h = layers.Flatten()(h)
h = layers.Dense(96, activation="relu")(h)
hd = layers.Dropout(0.3)(h)
outs = [
    layers.Dense(10, name="digit")(hd),
    layers.Dense(1, activation="sigmoid", name="loop")(hd),
    layers.Dense(2, name="centre")(h),
]
model = keras.Model(inp, outs)
model.compile(
    optimizer=keras.optimizers.Nadam(1e-3),
    loss={
        "digit": keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        "loop": "binary_crossentropy",
        "centre": "mse",
    },
    loss_weights={"digit": 1.0, "loop": 0.5, "centre": 0.3},
    metrics={"digit": "accuracy", "loop": "accuracy", "centre": "mae"},
)


def lab(i):
    return {"digit": cls[i], "loop": loop[i], "centre": com[i]}


model.fit(x[i_tr], lab(i_tr), epochs=18, batch_size=32, validation_split=0.1, verbose=2)
pd_, pl, pc = model.predict(x[i_te], verbose=0)
print(
    "loop acc %.3f centre r2 %.3f"
    % (np.mean((pl[:, 0] > 0.5) == loop[i_te]), 1 - np.mean((pc - com[i_te]) ** 2) / com[i_te].var())
)
print("RESULT digit_accuracy %.4f" % np.mean(pd_.argmax(1) == cls[i_te]))
