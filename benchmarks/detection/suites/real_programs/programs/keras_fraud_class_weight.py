"""Classes are weighted by how common they are (fixed: by how rare they are)."""

import sys

import keras
import numpy as np
from keras import layers
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)

# payments by card, 4 % of them fraud
n = 6000
fraud = (rng.random(n) < 0.04).astype(int)
amount = rng.lognormal(3 + 0.8 * fraud, 1.0)
hour = np.where(fraud == 1, rng.normal(3, 4, n), rng.normal(14, 5, n)) % 24
distance = rng.exponential(10 + 25 * fraud)
last_day = rng.poisson(2 + 2 * fraud)
foreign = rng.random(n) < (0.05 + 0.25 * fraud)
age = rng.normal(45, 15, n)
angle = hour / 24 * 2 * np.pi
x = np.column_stack([np.log(amount), np.sin(angle), np.cos(angle), np.log1p(distance), last_day, foreign, age])
x_train, x_test, y_train, y_test = train_test_split(x, fraud, test_size=0.3, random_state=0, stratify=fraud)
scaler = StandardScaler().fit(x_train)
x_train, x_test = scaler.transform(x_train), scaler.transform(x_test)

total = len(y_train)
counts = np.bincount(y_train)
class_weight = {i: total / (2 * counts[i]) if fixed else counts[i] / total for i in range(2)}

model = keras.Sequential(
    [
        keras.Input(shape=(x.shape[1],)),
        layers.Dense(32, activation="relu"),
        layers.Dense(16, activation="relu"),
        layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(
    optimizer=keras.optimizers.Adam(2e-3),
    loss="binary_crossentropy",
    metrics=["accuracy", keras.metrics.Recall(name="recall")],
)
model.fit(x_train, y_train, epochs=15, batch_size=64, class_weight=class_weight, verbose=2)

predicted = (model.predict(x_test, verbose=0).ravel() > 0.5).astype(int)
print("RESULT balanced_acc", balanced_accuracy_score(y_test, predicted))
