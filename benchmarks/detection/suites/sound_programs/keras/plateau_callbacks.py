import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_wine

keras.utils.set_random_seed(0)
d = load_wine()
p = np.random.permutation(178)
x, y = d.data[p], d.target[p]
x = (x - x[:140].mean(0)) / x[:140].std(0)
m = keras.Sequential(
    [
        keras.Input((13,)),
        layers.Dense(32, activation="tanh", kernel_regularizer=keras.regularizers.l2(1e-3)),
        layers.Dense(3, activation="softmax"),
    ]
)
m.compile(keras.optimizers.SGD(0.05, momentum=0.9), "sparse_categorical_crossentropy", metrics=["accuracy"])
m.fit(
    x[:140],
    y[:140],
    epochs=80,
    batch_size=16,
    validation_data=(x[140:], y[140:]),
    verbose=0,
    callbacks=[
        keras.callbacks.ReduceLROnPlateau(patience=5),
        keras.callbacks.EarlyStopping(patience=15, restore_best_weights=True),
    ],
)
print(m.evaluate(x[140:], y[140:], verbose=0))
