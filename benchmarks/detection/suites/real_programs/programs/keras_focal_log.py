"""A focal loss takes the logarithm of predictions of exactly 0 and 1 (fixed: they are clipped before)."""

import sys

import keras
from keras import layers, ops
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)

data = load_breast_cancer()
x_train, x_val, y_train, y_val = train_test_split(
    data.data, data.target.astype("float32"), test_size=0.3, random_state=0, stratify=data.target
)
scaler = StandardScaler().fit(x_train)
x_train, x_val = scaler.transform(x_train), scaler.transform(x_val)


def focal_loss(y_true, y_pred, gamma=2.0):
    if fixed:
        y_pred = ops.clip(y_pred, 1e-7, 1 - 1e-7)
    positive = y_true * (1 - y_pred) ** gamma * ops.log(y_pred)
    negative = (1 - y_true) * y_pred**gamma * ops.log(1 - y_pred)
    return -ops.mean(positive + negative, axis=-1)


model = keras.Sequential(
    [
        keras.Input((30,)),
        layers.Dense(64, activation="relu"),
        layers.Dense(64, activation="relu"),
        layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(3e-3), loss=focal_loss, metrics=["accuracy"])
history = model.fit(
    x_train, y_train[:, None], validation_data=(x_val, y_val[:, None]), batch_size=16, epochs=25, verbose=2
)

print("RESULT val_acc", history.history["val_accuracy"][-1])
