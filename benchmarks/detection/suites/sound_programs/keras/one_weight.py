# Fit a straight line with a single Dense(1): recover the slope and offset of a
# thermometer calibration (raw sensor counts -> degrees).
import keras
import numpy as np

keras.utils.set_random_seed(3)
rng = np.random.default_rng(3)

counts = rng.uniform(200, 900, size=240)
degrees = 0.085 * counts - 21.0 + rng.normal(0, 0.6, size=240)

# the raw counts are in the hundreds, so plain SGD needs them standardised;
# the target is standardised too and converted back at the end
x_mean, x_std = counts.mean(), counts.std()
y_mean, y_std = degrees.mean(), degrees.std()
x = ((counts - x_mean) / x_std).astype("float32").reshape(-1, 1)
y = ((degrees - y_mean) / y_std).astype("float32").reshape(-1, 1)

model = keras.Sequential([keras.layers.Input((1,)), keras.layers.Dense(1)])
model.compile(optimizer=keras.optimizers.SGD(learning_rate=0.05), loss="mse")
history = model.fit(x, y, batch_size=16, epochs=25, validation_split=0.2, verbose=0)

w, b = model.layers[-1].get_weights()
slope = float(w[0, 0]) * y_std / x_std
offset = float(b[0]) * y_std + y_mean - slope * x_mean
print("loss {:.5f}  val_loss {:.5f}".format(history.history["loss"][-1], history.history["val_loss"][-1]))
print(f"slope {slope:.4f} (true 0.0850)   offset {offset:.2f} (true -21.00)")
