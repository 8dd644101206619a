"""Scaled sizes of flowers go into an ``Embedding``, which takes them all for index 0 or 1.

So the network sees the same for every flower (fixed: the numbers go straight into the LSTM).
"""

import sys

import keras
import tensorflow as tf
from keras import layers
from sklearn.datasets import load_iris
from sklearn.preprocessing import MinMaxScaler

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(1010)
tf.config.experimental.enable_op_determinism()

data = load_iris()
inputs = MinMaxScaler().fit_transform(data.data).astype("float32")  # [150, 4]
targets = keras.utils.to_categorical(data.target, 3)  # [150, 3]

model = keras.Sequential()
if fixed:
    inputs = inputs.reshape(150, 4, 1)
    model.add(keras.Input((4, 1)))
else:
    model.add(keras.Input((4,)))
    model.add(layers.Embedding(4, 64))
model.add(layers.LSTM(64, activation="tanh", recurrent_activation="hard_sigmoid"))
model.add(layers.Dense(3, kernel_initializer="uniform"))
model.add(layers.Activation("softmax"))
model.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.RMSprop(2e-3), metrics=["accuracy"])
h = model.fit(inputs, targets, epochs=80, batch_size=10, shuffle=True, verbose=0)
print("loss", h.history["loss"][-1])
print(model.predict(inputs[::30], verbose=0))

print("RESULT accuracy", f"{model.evaluate(inputs, targets, verbose=0)[1]:.4f}")
