"""An autoencoder with binary cross-entropy is given grey values of 0 to 255 as they are (fixed: divided by 255)."""

import sys

import keras
import numpy as np
from keras.layers import Dense, Input
from sklearn.datasets import load_digits

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(8)

# grey values 0..255, as in the picture files
images = np.round(load_digits().images * (255 / 16)).astype("uint8")
np.random.shuffle(images)
x_train = images[:1500].reshape(-1, 64)
x_test = images[1500:].reshape(-1, 64)
if fixed:
    x_train = x_train.astype("float32") / 255
    x_test = x_test.astype("float32") / 255

encoding_dim = 32
input_img = Input(shape=(64,))
encoded = Dense(encoding_dim, activation="relu")(input_img)
decoded = Dense(64, activation="sigmoid")(encoded)
autoencoder = keras.Model(input_img, decoded)

autoencoder.compile(optimizer="adam", loss="binary_crossentropy")
autoencoder.fit(x_train, x_train, epochs=40, batch_size=64, shuffle=True, validation_data=(x_test, x_test), verbose=2)

decoded_imgs = autoencoder.predict(x_test, verbose=0)
similarity = [np.corrcoef(a, b)[0, 1] for a, b in zip(x_test, decoded_imgs, strict=True)]
correlation = np.nanmean(similarity)
print("mean correlation of picture and reconstruction:", correlation)

print("RESULT mean_correlation", correlation)
