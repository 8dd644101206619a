"""Chemical analyses of up to 1680 go unscaled into SGD, which they throw off (fixed: standardised)."""

import sys

import keras
from keras import layers
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)

d = load_wine()
X = d.data.astype("float32")
Y = keras.utils.to_categorical(d.target, 3)
X_train, X_test, Y_train, Y_test = train_test_split(X, Y, test_size=0.3, random_state=0, stratify=d.target)
if fixed:
    mean, std = X_train.mean(axis=0), X_train.std(axis=0)
    X_train = (X_train - mean) / std
    X_test = (X_test - mean) / std

model = keras.Sequential(
    [
        keras.Input((13,)),
        layers.Dense(64, activation="relu"),
        layers.Dropout(0.2),
        layers.Dense(64, activation="relu"),
        layers.Dropout(0.2),
        layers.Dense(3, activation="softmax"),
    ]
)
sgd = keras.optimizers.SGD(learning_rate=0.01, momentum=0.9, nesterov=True)
model.compile(loss="categorical_crossentropy", optimizer=sgd, metrics=["accuracy"])
model.fit(X_train, Y_train, batch_size=16, epochs=40, validation_data=(X_test, Y_test), verbose=2)

print("RESULT test_accuracy", f"{model.evaluate(X_test, Y_test, verbose=0)[1]:.4f}")
