"""A convolutional network for two classes ends in a softmax over one unit, which is always 1 (fixed: a sigmoid)."""

import sys

import keras
import numpy as np
from keras.callbacks import ReduceLROnPlateau
from keras.layers import Activation, BatchNormalization, Conv1D, Dense, Dropout, Flatten, Input, LeakyReLU
from keras.models import Sequential
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)

# windows of ten bars: open, high, low, close
n = 3000
drift = rng.normal(0.05, 0.4, (n, 1))
close = np.cumsum(drift + rng.normal(0, 0.3, (n, 10)), axis=1)
opening = np.concatenate([np.zeros((n, 1)), close[:, :-1]], axis=1)
high = np.maximum(opening, close) + rng.gamma(1.0, 0.1, (n, 10))
low = np.minimum(opening, close) - rng.gamma(1.0, 0.1, (n, 10))
x = np.stack([opening, high, low, close], axis=2)
x = ((x - x.mean()) / x.std()).astype("float32")
y = (drift[:, 0] > -0.05).astype("int32")

x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.25, random_state=1)

model = Sequential()
model.add(Input((10, 4)))
model.add(Conv1D(16, 4, padding="same"))
model.add(BatchNormalization())
model.add(LeakyReLU())
model.add(Dropout(0.2))
model.add(Conv1D(8, 4, padding="same"))
model.add(BatchNormalization())
model.add(LeakyReLU())
model.add(Dropout(0.2))
model.add(Flatten())
model.add(Dense(64))
model.add(BatchNormalization())
model.add(LeakyReLU())
model.add(Dense(1))
model.add(Activation("sigmoid" if fixed else "softmax"))

reduce_lr = ReduceLROnPlateau(monitor="val_accuracy", factor=0.9, patience=30, min_lr=0.000001, verbose=0)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
history = model.fit(
    x_train,
    y_train,
    epochs=30,
    batch_size=128,
    verbose=0,
    validation_data=(x_test, y_test),
    callbacks=[reduce_lr],
    shuffle=True,
)
y_pred = model.predict(x_test, verbose=0)[:, 0] > 0.5
print("train accuracy {:.3f}".format(history.history["accuracy"][-1]))
print("test accuracy {:.3f}".format(history.history["val_accuracy"][-1]))
print(confusion_matrix(y_test, y_pred))

print("RESULT val_acc", history.history["val_accuracy"][-1])
