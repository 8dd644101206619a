"""The training data are standardised, those for validation are not (fixed: both are)."""

import sys

import keras
from keras import layers
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)

data = load_breast_cancer()
x_train, x_val, y_train, y_val = train_test_split(
    data.data, data.target, test_size=0.3, random_state=0, stratify=data.target
)
mean, std = x_train.mean(axis=0), x_train.std(axis=0)
x_train = (x_train - mean) / std
if fixed:
    x_val = (x_val - mean) / std

model = keras.Sequential(
    [
        keras.Input((30,)),
        layers.Dense(16, activation="relu"),
        layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="binary_crossentropy", metrics=["accuracy"])
history = model.fit(x_train, y_train, validation_data=(x_val, y_val), batch_size=16, epochs=15, verbose=2)

print("RESULT val_acc", history.history["val_accuracy"][-1])
