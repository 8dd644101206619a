"""A dense network finds fraudulent card payments, which are rare.

The rare class is enlarged with SMOTE, and the F1 score on held-out payments is reported. SMOTE runs before the split
into training and test set, so the test set is full of points between and next to training points, and the score is
far too good (fixed: the split comes first, and only the training set is enlarged).
"""

import sys

import keras
import numpy as np
from keras import layers
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(13)
rng = np.random.default_rng(13)

n, n_features = 8000, 28
fraud = rng.random(n) < 0.02
X = rng.normal(size=(n, n_features))
X[fraud, :6] += 1.1
X[fraud, 6:10] *= 1.5
amount = np.exp(rng.normal(3 + 0.5 * fraud, 1.2))
X = np.column_stack([X, np.log1p(amount)]).astype("float32")
y = fraud.astype("float32")


def smote(x, y, k=5):
    minority = x[y == 1]
    need = int((y == 0).sum() - (y == 1).sum())
    near = NearestNeighbors(n_neighbors=k + 1).fit(minority).kneighbors(minority, return_distance=False)[:, 1:]
    i = rng.integers(len(minority), size=need)
    j = near[i, rng.integers(k, size=need)]
    new = minority[i] + rng.random((need, 1)) * (minority[j] - minority[i])
    return np.concatenate([x, new]).astype("float32"), np.concatenate([y, np.ones(need, "float32")])


if FIXED:
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=1, stratify=y)
    X_train, y_train = smote(X_train, y_train)
else:
    X, y = smote(X, y)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=1, stratify=y)

scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

model = keras.Sequential(
    [
        keras.Input((X_train.shape[1],)),
        layers.Dense(32, activation="relu"),
        layers.Dropout(0.4),
        layers.Dense(16, activation="relu"),
        layers.Dropout(0.4),
        layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="binary_crossentropy", metrics=["accuracy"])

batch_size = 128
for epoch in range(10):
    order = rng.permutation(len(X_train))
    losses = []
    for start in range(0, len(order), batch_size):
        idx = order[start : start + batch_size]
        loss, acc = model.train_on_batch(X_train[idx], y_train[idx, None])
        losses.append(float(loss))
    print("epoch", epoch, "loss", np.mean(losses))

predicted = model.predict(X_test, verbose=0)[:, 0] > 0.5
print("accuracy", np.mean(predicted == y_test))
print("RESULT test_f1", f"{f1_score(y_test, predicted):.4f}")
