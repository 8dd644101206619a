"""A classifier of two classes ends with a softmax over one unit (fixed: sigmoid)."""

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
    data.data, data.target, test_size=0.25, random_state=0, stratify=data.target
)
scaler = StandardScaler().fit(x_train)
x_train, x_val = scaler.transform(x_train), scaler.transform(x_val)

model = keras.Sequential(
    [
        keras.Input((30,)),
        layers.Dense(16, activation="relu", kernel_regularizer=keras.regularizers.l2(1e-3)),
        layers.Dense(1, activation="sigmoid" if fixed else "softmax"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
history = model.fit(x_train, y_train, validation_data=(x_val, y_val), batch_size=32, epochs=25, verbose=2)
print("RESULT val_acc", history.history["val_accuracy"][-1])
