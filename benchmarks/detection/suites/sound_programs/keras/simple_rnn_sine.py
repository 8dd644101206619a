import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(0)
f = np.random.rand(1500, 1) * 0.3 + 0.1
o = np.random.rand(1500, 1) * 6
s = np.sin(np.arange(31) * f + o)[..., None].astype("float32") + np.random.randn(1500, 31, 1) * 0.05
m = keras.Sequential(
    [keras.Input((30, 1)), layers.SimpleRNN(20, return_sequences=True), layers.SimpleRNN(20), layers.Dense(1)]
)
m.compile(keras.optimizers.Adam(1e-3), "mse")
m.fit(s[:1200, :30], s[:1200, 30], epochs=12, batch_size=32, validation_data=(s[1200:, :30], s[1200:, 30]), verbose=2)
