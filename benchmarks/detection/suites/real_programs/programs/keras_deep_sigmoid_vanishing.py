"""Seven layers of sigmoids classify digits (fixed: ReLU, and He's initialisation)."""

import sys

import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)

digits = load_digits()
x_train, x_val, y_train, y_val = train_test_split(
    digits.data / 16.0, digits.target, test_size=0.2, random_state=0, stratify=digits.target
)

model = keras.Sequential([keras.Input((64,))])
for _ in range(7):
    if fixed:
        model.add(layers.Dense(48, activation="relu", kernel_initializer="he_normal"))
    else:
        model.add(layers.Dense(48, activation="sigmoid"))
model.add(layers.Dense(10, activation="softmax"))

model.compile(
    optimizer=keras.optimizers.SGD(learning_rate=0.01, momentum=0.9),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
)
history = model.fit(x_train, y_train, validation_data=(x_val, y_val), batch_size=32, epochs=15, verbose=2)
print("RESULT val_acc", history.history["val_accuracy"][-1])
