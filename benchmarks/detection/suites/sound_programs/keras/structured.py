import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_breast_cancer

keras.utils.set_random_seed(0)
d = load_breast_cancer()
p = np.random.permutation(len(d.data))
x, y = d.data[p].astype("float32"), d.target[p]
norm = layers.Normalization()
norm.adapt(x[:450])
i = keras.Input((30,))
h = norm(i)
h = layers.Dense(32, activation="relu")(h)
h = layers.Dropout(0.5)(h)
m = keras.Model(i, layers.Dense(1, activation="sigmoid")(h))
m.compile("adam", "binary_crossentropy", metrics=["accuracy"])
m.fit(x[:450], y[:450], epochs=30, batch_size=32, validation_data=(x[450:], y[450:]), verbose=2)
