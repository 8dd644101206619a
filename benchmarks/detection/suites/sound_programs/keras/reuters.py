import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
C, V = 12, 600
T = rng.dirichlet(np.full(V, 0.3), C)
y = rng.integers(0, C, 3000)
X = np.stack([(rng.multinomial(60, T[k]) > 0) for k in y]).astype("float32")
Y = keras.utils.to_categorical(y)
m = keras.Sequential(
    [layers.Dense(64, activation="relu"), layers.Dense(64, activation="relu"), layers.Dense(C, activation="softmax")]
)
m.compile("rmsprop", "categorical_crossentropy", metrics=["accuracy"])
m.fit(X[500:2500], Y[500:2500], epochs=6, batch_size=128, validation_data=(X[:500], Y[:500]), verbose=2)
print(m.evaluate(X[2500:], Y[2500:], verbose=0))
