"""A classifier of digits is trained by RMSprop at a learning rate of 0.1 (fixed: 0.001)."""

import sys

import keras
from keras.layers import Activation, Dense
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(0)

x, y = load_digits(return_X_y=True)
x = x / 16.0
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.2, random_state=0, stratify=y)
y_train = keras.utils.to_categorical(y_train, 10)
y_test = keras.utils.to_categorical(y_test, 10)

model = keras.Sequential()
model.add(keras.Input((64,)))
model.add(Dense(256))
model.add(Activation("relu"))
model.add(Dense(128))
model.add(Activation("relu"))
model.add(Dense(64))
model.add(Activation("relu"))
model.add(Dense(10))
model.add(Activation("softmax"))

optimizer = keras.optimizers.RMSprop(learning_rate=0.001 if fixed else 0.1)
model.compile(loss="categorical_crossentropy", optimizer=optimizer, metrics=["accuracy"])
history = model.fit(x_train, y_train, batch_size=64, epochs=15, verbose=2, validation_data=(x_test, y_test))

print("RESULT val_acc", history.history["val_accuracy"][-1])
