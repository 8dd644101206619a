"""Three classes are trained with one sigmoid and binary cross-entropy (fixed: three units and a softmax)."""

import sys

import keras
from keras import layers
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)

x, y = load_wine(return_X_y=True)
x_train, x_val, y_train, y_val = train_test_split(x, y, test_size=0.25, random_state=0, stratify=y)
scaler = StandardScaler().fit(x_train)
x_train, x_val = scaler.transform(x_train), scaler.transform(x_val)

model = keras.Sequential(
    [
        keras.Input((13,)),
        layers.Dense(16, activation="relu", kernel_regularizer=keras.regularizers.l2(1e-3)),
        layers.Dense(3, activation="softmax") if fixed else layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(
    optimizer=keras.optimizers.Adam(2e-3),
    loss="sparse_categorical_crossentropy" if fixed else "binary_crossentropy",
    metrics=["accuracy"],
)
history = model.fit(x_train, y_train, validation_data=(x_val, y_val), batch_size=16, epochs=40, verbose=2)
print("RESULT val_acc", history.history["val_accuracy"][-1])
