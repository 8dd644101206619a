"""A small convolutional network learns handwritten digits, as in a tutorial for beginners.

The pixels go into the network as values from 0 to 255, which make its activations and logits huge, and the loss hardly
moves (fixed: divided by 255).
"""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import keras
import numpy as np
from keras.layers import Activation, Conv2D, Dense, Flatten, Input, MaxPooling2D
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(1337)

digits = load_digits()
X = np.rint(digits.images * (255.0 / 16.0)).reshape(-1, 8, 8, 1)
y = keras.utils.to_categorical(digits.target, 10)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=1, stratify=digits.target)
if FIXED:
    X_train, X_test = X_train / 255.0, X_test / 255.0

model = keras.Sequential()
model.add(Input((8, 8, 1)))
model.add(Conv2D(32, 5, padding="same"))
model.add(Activation("relu"))
model.add(MaxPooling2D(2))
model.add(Conv2D(64, 5, padding="same"))
model.add(Activation("relu"))
model.add(MaxPooling2D(2))
model.add(Flatten())
model.add(Dense(256))
model.add(Activation("relu"))
model.add(Dense(10))
model.add(Activation("softmax"))
model.compile(
    optimizer=keras.optimizers.SGD(learning_rate=0.01, momentum=0.9),
    loss="categorical_crossentropy",
    metrics=["accuracy"],
)

print("Training ------------")
model.fit(X_train, y_train, epochs=15, batch_size=32, verbose=2)
print("\nTesting ------------")
loss, accuracy = model.evaluate(X_test, y_test, verbose=0)
print("test loss:", loss)
print("RESULT test_accuracy", f"{accuracy:.4f}")
