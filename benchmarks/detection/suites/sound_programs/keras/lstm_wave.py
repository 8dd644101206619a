# One-step-ahead forecast of a noisy seasonal series with an LSTM
import numpy as np
from tensorflow import keras

keras.utils.set_random_seed(5)
rng = np.random.default_rng(5)

n = 1300
t = np.arange(n)
series = 30 + 8 * np.sin(2 * np.pi * t / 24) + 3 * np.sin(2 * np.pi * t / 60) + rng.normal(0, 0.4, n)

split = 1000
mu, sd = series[:split].mean(), series[:split].std()
z = ((series - mu) / sd).astype("float32")


def windows(a, length=24):
    X = np.stack([a[i : i + length] for i in range(len(a) - length)])
    return X[..., None], a[length:, None]


X_train, y_train = windows(z[:split])
X_val, y_val = windows(z[split:])

model = keras.Sequential(
    [
        keras.layers.Input((24, 1)),
        keras.layers.LSTM(20),
        keras.layers.Dense(1),
    ]
)
model.compile(loss="mse", optimizer=keras.optimizers.Adam(learning_rate=0.005))
h = model.fit(
    X_train,
    y_train,
    validation_data=(X_val, y_val),
    epochs=30,
    batch_size=32,
    callbacks=[keras.callbacks.EarlyStopping(patience=6, restore_best_weights=True)],
    verbose=0,
)
print("stopped after", len(h.history["loss"]), "epochs")

pred = model.predict(X_val, verbose=0)
naive = np.mean((X_val[:, -1] - y_val) ** 2)
print("train mse {:.4f} val mse {:.4f}".format(h.history["loss"][-1], h.history["val_loss"][-1]))
print(f"naive (repeat last value) mse {naive:.4f}")
print("RMSE in original units: %.3f" % (np.sqrt(np.mean((pred - y_val) ** 2)) * sd))
