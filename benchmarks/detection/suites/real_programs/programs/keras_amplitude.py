"""A network with one hidden layer learns the amplitude of a complex number from its two parts.

Its three ReLU units hold just the roughest answer, and one that points the same way as another, or away from the
points, leaves a valley for a cone (fixed: 24 units).
"""

import sys

import keras
import numpy as np
from keras.layers import Dense, Input

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)

z = rng.standard_normal((4000, 2)).astype("float32")
amplitude = np.sqrt((z**2).sum(axis=1, keepdims=True))
z_train, z_test = z[:3000], z[3000:]
a_train, a_test = amplitude[:3000], amplitude[3000:]

model = keras.Sequential(
    [
        Input((2,)),
        Dense(24 if FIXED else 3, activation="relu"),
        Dense(1),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(0.003), loss="mse")
model.fit(z_train, a_train, validation_data=(z_test, a_test), epochs=25, batch_size=64, verbose=2)

print("weights of the hidden layer:")
print(model.layers[0].get_weights()[0].round(2))
test_mse = model.evaluate(z_test, a_test, verbose=0)
print("RESULT test_mse", f"{test_mse:.4f}")
