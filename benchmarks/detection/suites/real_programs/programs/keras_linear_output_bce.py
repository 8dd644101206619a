"""Binary cross-entropy is given the outputs of a layer without a sigmoid (fixed: with it)."""

import sys

import keras
from keras import layers
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)

data = load_breast_cancer()
x_train, x_val, y_train, y_val = train_test_split(
    data.data, data.target, test_size=0.3, random_state=0, stratify=data.target
)
scaler = StandardScaler().fit(x_train)
x_train, x_val = scaler.transform(x_train), scaler.transform(x_val)

model = keras.Sequential(
    [
        keras.Input((30,)),
        layers.Dense(32, activation="relu"),
        layers.Dense(16, activation="relu"),
        layers.Dense(1, activation="sigmoid" if fixed else None),
    ]
)
model.compile(optimizer=keras.optimizers.SGD(0.05, momentum=0.9), loss="binary_crossentropy", metrics=["accuracy"])
history = model.fit(x_train, y_train, validation_data=(x_val, y_val), batch_size=32, epochs=15, verbose=2)

print("RESULT val_acc", history.history["val_accuracy"][-1])
