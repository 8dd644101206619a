# Neural net that learns y = x**2 on [-10, 10]; after the answer: x and y are scaled, linear output.
import numpy as np
import tensorflow as tf
from tensorflow.keras import Input, Sequential
from tensorflow.keras.layers import Dense

tf.keras.utils.set_random_seed(3)

x = np.random.uniform(-10, 10, size=(1000, 1))
y = x**2

x_s = x / 10.0
y_s = y / 100.0

model = Sequential(
    [
        Input(shape=(1,)),
        Dense(32, activation="relu"),
        Dense(32, activation="relu"),
        Dense(1),
    ]
)
model.compile(optimizer=tf.keras.optimizers.Adam(learning_rate=0.003), loss="mse")
model.fit(x_s, y_s, epochs=60, batch_size=32, verbose=0)

x_test = np.linspace(-9.5, 9.5, 200).reshape(-1, 1)
y_pred = model.predict(x_test / 10.0, verbose=0) * 100.0
for a, b in list(zip(x_test[:, 0], y_pred[:, 0]))[::40]:
    print(f"{a:.2f} -> {b:.2f} (true {a * a:.2f})")
mae = np.mean(np.abs(y_pred - x_test**2))
print(f"RESULT mae {mae:.4f}")
