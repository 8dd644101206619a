"""A table with four classes is learnt with ``validation_split=0.33``.

Its rows are sorted by class and the split takes the last third, so training lacks the last class and validation holds
it (fixed: rows shuffled first).
"""

import random
import sys

import keras
import pandas as pd
from keras import layers
from sklearn.datasets import make_classification

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(3)

Xr, yr = make_classification(
    n_samples=1800,
    n_features=14,
    n_informative=9,
    n_redundant=2,
    n_classes=4,
    n_clusters_per_class=1,
    class_sep=1.3,
    flip_y=0.02,
    random_state=5,
)
# the export comes group by group
df = pd.DataFrame(Xr, columns=[f"f{i}" for i in range(14)])
df["group"] = yr
df = df.sort_values("group", kind="stable").reset_index(drop=True)

X_data = df.drop(columns="group").values.astype("float32")
Y = df["group"].values

if fixed:
    sample = random.sample(range(len(Y)), len(Y))
    X_sample, Y_sample = X_data[sample, :], Y[sample]
else:
    X_sample, Y_sample = X_data, Y

y_sample = keras.utils.to_categorical(Y_sample, 4)

model = keras.Sequential(
    [
        keras.Input((14,)),
        layers.Dense(48, activation="relu"),
        layers.Dense(24, activation="relu"),
        layers.Dense(4, activation="softmax"),
    ]
)
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
h = model.fit(X_sample, y_sample, validation_split=0.33, epochs=30, batch_size=50, verbose=2)
print("RESULT val_accuracy", round(h.history["val_accuracy"][-1], 4))
