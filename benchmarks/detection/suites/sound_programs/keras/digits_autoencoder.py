# Dense autoencoder on the 8x8 digits, 64 -> 12 -> 64
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(8)
X = load_digits().data.astype("float32") / 16.0
X_train, X_test = train_test_split(X, test_size=0.2, random_state=8)

inp = keras.Input((64,))
h = layers.Dense(48, activation="relu")(inp)
code = layers.Dense(12, name="code")(h)
h = layers.Dense(48, activation="relu")(code)
out = layers.Dense(64, activation="sigmoid")(h)  # pixels are in 0..1

autoencoder = keras.Model(inp, out)
encoder = keras.Model(inp, code)
autoencoder.compile(optimizer=keras.optimizers.Adam(0.002), loss="mse")
hist = autoencoder.fit(
    X_train, X_train, validation_data=(X_test, X_test), epochs=40, batch_size=32, shuffle=True, verbose=0
)

mse = hist.history["val_loss"][-1]
print("train mse {:.4f}  test mse {:.4f}".format(hist.history["loss"][-1], mse))
print("variance explained on the test digits: %.3f" % (1 - mse / np.mean((X_test - X_train.mean(0)) ** 2)))
print("shape of the codes:", encoder.predict(X_test, verbose=0).shape)
