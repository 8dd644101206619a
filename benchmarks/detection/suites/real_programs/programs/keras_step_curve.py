"""One neuron with a sigmoid is to learn a smooth step from 111 points.

The step goes from -1 to 0, and a sigmoid gives nothing below 0
(fixed: the values are brought to 0 to 1, by a change of sign).
"""

import sys

import numpy as np
import tensorflow as tf

fixed = "--fixed" in sys.argv

tf.keras.utils.set_random_seed(0)

height = 1.0 if fixed else -1.0


def f(x):
    return height / (np.exp(10.0 * x) + 1.0)


x_train = np.linspace(-1, 1, 111).reshape(-1, 1)
y_train = f(x_train)
x_test = np.linspace(-1, 1, 11).reshape(-1, 1)
y_test = f(x_test)

model = tf.keras.models.Sequential(
    [
        tf.keras.layers.Input((1,)),
        tf.keras.layers.Dense(1, activation="sigmoid", use_bias=True),
    ]
)
model.compile(optimizer=tf.keras.optimizers.Adam(0.01), loss="mse", metrics=["MeanAbsoluteError"])
model.fit(x_train, y_train, epochs=80, batch_size=4, verbose=0)

y_pred = model.predict(x_test, verbose=0)
print(np.hstack([x_test, y_test, y_pred]))
print("RESULT test_mae", f"{np.abs(y_pred - y_test).mean():.4f}")
