# Regression: linear output, mse, no accuracy; the target is standardised and predictions are turned back.
import keras
import numpy as np
from keras import layers, regularizers
from sklearn.datasets import load_diabetes
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(0)
X, y = load_diabetes(return_X_y=True)
y = y.reshape(-1, 1)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0)

sx, sy = StandardScaler(), StandardScaler()
X_train = sx.fit_transform(X_train)
X_test = sx.transform(X_test)
y_train_s = sy.fit_transform(y_train)

model = keras.Sequential(
    [
        keras.Input(shape=(10,)),
        layers.Dense(16, activation="relu", kernel_regularizer=regularizers.l2(0.01)),
        layers.Dense(1),
    ]
)
model.compile(loss="mse", optimizer="adam", metrics=["mae"])
es = keras.callbacks.EarlyStopping(monitor="val_loss", patience=15, restore_best_weights=True)
model.fit(X_train, y_train_s, validation_split=0.2, epochs=80, batch_size=16, callbacks=[es], verbose=2)

pred = sy.inverse_transform(model.predict(X_test, verbose=0))
print("trivial mae", mean_absolute_error(y_test, np.full_like(y_test, y_train.mean())))
print(f"RESULT mae {mean_absolute_error(y_test, pred):.3f}")
