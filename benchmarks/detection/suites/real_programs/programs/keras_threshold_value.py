"""Values up to 100,000 go through a ReLU at the output into binary cross-entropy (fixed: a sigmoid, and scaled)."""

import random
import sys

import keras
import numpy as np
from keras.layers import Dense
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(3)

threshold = 50000
rows = []
for _ in range(2000):
    rows.append([random.randrange(0, threshold), 0])
    rows.append([random.randrange(threshold, 2 * threshold), 1])
data_set = np.array(rows)
x_train, x_test, y_train, y_test = train_test_split(
    data_set[:, 0:1].astype("float32"), data_set[:, 1], test_size=0.2, random_state=0
)
if fixed:
    scaler = StandardScaler()
    x_train = scaler.fit_transform(x_train)
    x_test = scaler.transform(x_test)

model = keras.Sequential()
model.add(keras.Input((1,)))
model.add(Dense(3, activation="relu"))
model.add(Dense(5, activation="relu"))
model.add(Dense(1, activation="sigmoid" if fixed else "relu"))

model.compile(loss="binary_crossentropy", optimizer="adam", metrics=["accuracy"])
model.fit(x_train, y_train, epochs=12, batch_size=32, validation_split=0.1, verbose=2)

_, accuracy = model.evaluate(x_test, y_test, verbose=0)
print(f"Accuracy: {accuracy * 100:.2f}")

print("RESULT test_acc", accuracy)
