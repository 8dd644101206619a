"""A convolutional network is trained by Adam at a learning rate of 0.1 (fixed: 0.001)."""

import sys

import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)

digits = load_digits()
images = (digits.images / 16.0).astype("float32")[..., None]
x_train, x_val, y_train, y_val = train_test_split(
    images, digits.target, test_size=0.2, random_state=0, stratify=digits.target
)

model = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        layers.Conv2D(16, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(32, 3, padding="same", activation="relu"),
        layers.Flatten(),
        layers.Dense(32, activation="relu"),
        layers.Dense(10, activation="softmax"),
    ]
)
model.compile(
    optimizer=keras.optimizers.Adam(learning_rate=0.001 if fixed else 0.1),
    loss="sparse_categorical_crossentropy",
    metrics=["accuracy"],
)
history = model.fit(x_train, y_train, validation_data=(x_val, y_val), batch_size=32, epochs=12, verbose=2)
print("RESULT val_acc", history.history["val_accuracy"][-1])
