"""A small dense network tells from a census table who earns more than a threshold.

It ends in a softmax over its only output unit, which is 1 for everybody (fixed: a sigmoid).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import keras
import numpy as np
import pandas as pd
from keras import layers

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(7)


def load_census(n=6000):
    rng = np.random.default_rng(11)
    df = pd.DataFrame(
        {
            "age": rng.integers(18, 75, n),
            "education_num": rng.integers(4, 17, n),
            "hours_per_week": np.clip(rng.normal(40, 10, n), 5, 80).round(),
            "capital_gain": rng.exponential(900, n) * (rng.random(n) < 0.2),
            "workclass": rng.choice(["private", "state", "self"], n, p=[0.7, 0.15, 0.15]),
            "marital": rng.choice(["married", "single", "divorced"], n, p=[0.5, 0.35, 0.15]),
        }
    )
    z = (
        -0.0035 * (df.age - 48) ** 2
        + 0.35 * (df.education_num - 10)
        + 0.06 * (df.hours_per_week - 40)
        + 0.0012 * df.capital_gain
        + 1.6 * (df.marital == "married")
        + 0.8 * (df.workclass == "self") * (df.hours_per_week > 45)
        - 0.2
    )
    df["income"] = (z + rng.logistic(0, 0.5, n) > 0).astype(int)
    return df


df = load_census()
target = df.pop("income").to_numpy("float32")
features = pd.get_dummies(df, columns=["workclass", "marital"]).astype("float32")
n_train = 4800
mean, std = features[:n_train].mean(), features[:n_train].std()
features = ((features - mean) / std).to_numpy("float32")
x_train, x_eval = features[:n_train], features[n_train:]
y_train, y_eval = target[:n_train], target[n_train:]
print(f"{len(x_train)} training rows, {y_train.mean():.2f} of them above the threshold")


def model_fn(input_dim, labels_dim, hidden_units=(64, 32, 16), learning_rate=0.0005):
    model = keras.Sequential([keras.Input((input_dim,))])
    for units in hidden_units:
        model.add(layers.Dense(units, activation="relu"))
    model.add(layers.Dense(labels_dim, activation="sigmoid" if FIXED else "softmax"))
    model.compile(loss="binary_crossentropy", optimizer=keras.optimizers.RMSprop(learning_rate), metrics=["accuracy"])
    return model


census_model = model_fn(x_train.shape[1], labels_dim=1)
for epoch in range(8):
    h = census_model.fit(x_train, y_train, batch_size=40, epochs=1, verbose=0)
    loss, acc = census_model.evaluate(x_eval, y_eval, verbose=0)
    print(
        f"epoch {epoch + 1}: loss {h.history['loss'][0]:.4f} - accuracy {h.history['accuracy'][0]:.4f}"
        f" - eval loss {loss:.4f} - eval accuracy {acc:.4f}"
    )
print("RESULT eval_accuracy", f"{acc:.4f}")
