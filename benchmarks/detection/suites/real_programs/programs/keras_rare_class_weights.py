"""The rare class has the weight that is due to the common one (fixed: each is weighted by its rarity)."""

import sys

import keras
import numpy as np
from keras import layers
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)

x, y = make_classification(
    n_samples=6000,
    n_features=12,
    n_informative=6,
    n_redundant=2,
    n_clusters_per_class=1,
    weights=[0.96],
    class_sep=0.6,
    flip_y=0.0,
    random_state=4,
)
x_train, x_val, y_train, y_val = train_test_split(x, y, test_size=0.25, random_state=0, stratify=y)
scaler = StandardScaler().fit(x_train)
x_train, x_val = scaler.transform(x_train), scaler.transform(x_val)


def class_weights(labels):
    num_neg = int(np.sum(labels == 0))
    num_pos = int(np.sum(labels == 1))
    if fixed:
        total = num_neg + num_pos
        return {0: total / (2 * num_neg), 1: total / (2 * num_pos)}
    return {0: 1.0, 1: num_pos / num_neg}


model = keras.Sequential(
    [
        keras.Input((12,)),
        layers.Dense(16, activation="relu"),
        layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="binary_crossentropy")
model.fit(
    x_train,
    y_train,
    validation_data=(x_val, y_val),
    batch_size=64,
    epochs=12,
    class_weight=class_weights(y_train),
    verbose=2,
)

flagged = (model.predict(x_val, verbose=0)[:, 0] > 0.5).astype(int)
print("RESULT val_balanced_acc", balanced_accuracy_score(y_val, flagged))
