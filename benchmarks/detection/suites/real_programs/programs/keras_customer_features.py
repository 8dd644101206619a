"""Features in units from ones to thousands are given to a network as they are (fixed: StandardScaler)."""

import sys

import keras
import numpy as np
from keras.layers import Dense
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1)

x, y = make_classification(n_samples=2000, n_features=20, n_informative=8, n_redundant=4, class_sep=1.5, random_state=4)
# columns in their own units: counts, cents, metres, days ...
units = 10 ** np.random.uniform(0, 3, size=20)
x = x * units + 15 * units
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.25, random_state=0)
if fixed:
    scaler = StandardScaler()
    x_train = scaler.fit_transform(x_train)
    x_test = scaler.transform(x_test)

forest = RandomForestClassifier(100, random_state=0).fit(x_train, y_train)
print("random forest", forest.score(x_test, y_test))

model = keras.Sequential()
model.add(keras.Input((20,)))
model.add(Dense(64, activation="tanh"))
model.add(Dense(32, activation="tanh"))
model.add(Dense(1, activation="sigmoid"))
model.compile(loss="binary_crossentropy", optimizer=keras.optimizers.SGD(learning_rate=0.05), metrics=["accuracy"])
history = model.fit(x_train, y_train, epochs=20, batch_size=32, verbose=2, validation_data=(x_test, y_test))

predicted = (model.predict(x_test, verbose=0) > 0.5).astype(int).ravel()
print("predicted", np.bincount(predicted, minlength=2), "true", np.bincount(y_test))

print("RESULT val_acc", history.history["val_accuracy"][-1])
