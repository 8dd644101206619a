# Multi-label: every sample may carry any of 4 tags -> 4 sigmoids + binary_crossentropy
import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(14)
rng = np.random.default_rng(14)

N, F = 5000, 10
X = rng.normal(size=(N, F)).astype("float32")
tags = np.stack(
    [
        X[:, 0] + X[:, 1] > 0,
        X[:, 2] - 0.8 * X[:, 3] + 0.5 * X[:, 0] > 0.2,
        np.abs(X[:, 4]) > 0.8,
        X[:, 5] + X[:, 6] - X[:, 7] > -0.1,
    ],
    axis=1,
).astype("float32")

X_train, T_train = X[:4000], tags[:4000]
X_test, T_test = X[4000:], tags[4000:]

model = keras.Sequential(
    [
        layers.Input((F,)),
        layers.Dense(24, activation="relu"),
        layers.Dense(4, activation="sigmoid"),
    ]
)
model.compile(
    optimizer=keras.optimizers.Adam(learning_rate=0.005),
    loss="binary_crossentropy",
    metrics=[keras.metrics.BinaryAccuracy(name="acc")],
)


def schedule(epoch, lr):  # constant for ten epochs, then a gentle decay
    return lr if epoch < 10 else lr * 0.85


hist = model.fit(
    X_train,
    T_train,
    epochs=20,
    batch_size=40,
    validation_split=0.2,
    callbacks=[keras.callbacks.LearningRateScheduler(schedule)],
    verbose=0,
)

P = model.predict(X_test, verbose=0) > 0.5
print("loss {:.3f} val_loss {:.3f}".format(hist.history["loss"][-1], hist.history["val_loss"][-1]))
print("accuracy per tag:", np.round((T_test == P).mean(0), 3))
print("all four right:  ", round(float((T_test == P).all(1).mean()), 3))
