# Simple autoencoder on 8x8 digits in [0, 1]: sigmoid output with binary_crossentropy.
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tensorflow import keras
from tensorflow.keras.layers import Dense, Input
from tensorflow.keras.models import Model

keras.utils.set_random_seed(123)
x = load_digits().data.astype("float32") / 16.0
x_train, x_test = train_test_split(x, test_size=0.2, random_state=123)

input_img = Input(shape=(64,))
encoded = Dense(48, activation="relu")(input_img)
encoded = Dense(12)(encoded)
decoded = Dense(48, activation="relu")(encoded)
decoded = Dense(64, activation="sigmoid")(decoded)

autoencoder = Model(input_img, decoded)
autoencoder.compile(optimizer=keras.optimizers.Adam(0.002), loss="binary_crossentropy")
autoencoder.fit(x_train, x_train, epochs=60, batch_size=32, shuffle=True, validation_data=(x_test, x_test), verbose=2)

rec = autoencoder.predict(x_test, verbose=0)
print("trivial mse", np.mean((x_test - x_train.mean(0)) ** 2))
print(f"RESULT mse {np.mean((x_test - rec) ** 2):.5f}")
