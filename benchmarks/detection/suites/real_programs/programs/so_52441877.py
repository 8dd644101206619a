"""An autoencoder of pixels 0..255 ends with a softmax (fixed: pixels scaled to 0..1, and sigmoid)."""

import sys

import data
import keras
import numpy as np
from keras.layers import Dense

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)
(train_x, _), (test_x, _) = data.digits()
train_x, test_x = train_x.reshape(-1, 64), test_x.reshape(-1, 64)
target = test_x / 255
if fixed:
    train_x, test_x = train_x / 255, test_x / 255
inputs = keras.Input((64,))
layer1 = Dense(128, activation="relu")(inputs)
layer2 = Dense(64, activation="relu")(layer1)
layer3 = Dense(28, activation="relu")(layer2)
layer4 = Dense(64, activation="relu")(layer3)
layer5 = Dense(128, activation="relu")(layer4)
layer6 = Dense(64, activation="sigmoid" if fixed else "softmax")(layer5)
model = keras.Model(inputs, layer6)
model.compile(loss="binary_crossentropy", optimizer="adam")
model.fit(train_x, train_x, epochs=10, batch_size=100, verbose=0)
print("RESULT error", float(np.abs(model.predict(test_x, verbose=0) - target).mean()))
