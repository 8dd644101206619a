"""An autoencoder rebuilds the standardised features of card payments, to find fraud by its error.

The last layer is a ReLU, but the features are negative half of the time (fixed: a linear last layer).
"""

import os
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(42)
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
rng = np.random.default_rng(42)

DIM = 29
mixing = rng.normal(size=(5, DIM))
bending = rng.normal(size=(5, DIM))


def payments(n, fraud):
    hidden = rng.normal(size=(n, 5))
    x = hidden @ mixing + 0.7 * np.sin(hidden @ bending) + 0.35 * rng.normal(size=(n, DIM))
    if fraud:
        x = x + 1.6 * rng.normal(size=(n, DIM))
    return x * np.linspace(2.0, 0.4, DIM)


normal = payments(5000, False)
scaler = StandardScaler().fit(normal[:4000])
x_train = scaler.transform(normal[:4000]).astype("float32")
x_test = scaler.transform(normal[4000:]).astype("float32")
x_fraud = scaler.transform(payments(200, True)).astype("float32")

encoding_dim = 14
input_layer = keras.Input((DIM,))
encoder = layers.Dense(encoding_dim, activation="tanh", activity_regularizer=keras.regularizers.L1(1e-4))(input_layer)
encoder = layers.Dense(encoding_dim // 2, activation="tanh")(encoder)
decoder = layers.Dense(encoding_dim, activation="tanh")(encoder)
decoder = layers.Dense(DIM, activation="linear" if FIXED else "relu")(decoder)
autoencoder = keras.Model(input_layer, decoder)
autoencoder.compile(optimizer="adam", loss="mean_squared_error")
autoencoder.fit(x_train, x_train, epochs=30, batch_size=32, shuffle=True, validation_data=(x_test, x_test), verbose=2)

error_normal = np.mean((autoencoder.predict(x_test, verbose=0) - x_test) ** 2, 1)
error_fraud = np.mean((autoencoder.predict(x_fraud, verbose=0) - x_fraud) ** 2, 1)
auc = roc_auc_score(np.r_[np.zeros(len(error_normal)), np.ones(len(error_fraud))], np.r_[error_normal, error_fraud])
print(f"fraud AUC {auc:.4f}")
print("RESULT test_mse", f"{error_normal.mean():.4f}")
