"""A network tells from a table which customers will leave, which one in twenty does.

All samples count alike in the loss, so the network says that hardly anybody leaves, with an accuracy of 95 %
(fixed: class_weight with the inverse frequencies).
"""

import sys

import keras
import numpy as np
from keras import layers
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(6)

X, y = make_classification(
    n_samples=12000,
    n_features=20,
    n_informative=5,
    n_redundant=3,
    n_clusters_per_class=2,
    weights=[0.95],
    flip_y=0.02,
    class_sep=0.35,
    random_state=8,
)
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.25, stratify=y, random_state=6)
scaler = StandardScaler().fit(X_train)
X_train, X_val = scaler.transform(X_train), scaler.transform(X_val)

model = keras.Sequential(
    [
        layers.Input((20,)),
        layers.Dense(32, activation="relu"),
        layers.Dropout(0.3),
        layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])

class_weight = None
if FIXED:
    counts = np.bincount(y_train)
    class_weight = {c: len(y_train) / (2 * counts[c]) for c in (0, 1)}
model.fit(
    X_train, y_train, validation_data=(X_val, y_val), epochs=20, batch_size=64, class_weight=class_weight, verbose=2
)

scores = model.predict(X_val, verbose=0)[:, 0]
answers = (scores > 0.5).astype(int)
print("said to leave:", answers.sum(), "of", len(answers), "left:", y_val.sum())
print("AUC", roc_auc_score(y_val, scores))
balanced = balanced_accuracy_score(y_val, answers)
print("RESULT balanced_accuracy", f"{balanced:.4f}")
