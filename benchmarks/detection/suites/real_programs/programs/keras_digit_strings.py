"""Strings of digits are read by a network trained with SGD at 0.5 and momentum, far too high (fixed: at 0.01)."""

import sys

import keras
import numpy as np
from keras import layers
from keras.constraints import MaxNorm
from sklearn.datasets import load_digits

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(16)
rng = np.random.default_rng(16)
PLACES = 4
lrate, epochs = (0.01 if fixed else 0.5), 10

digits = load_digits()
order = rng.permutation(len(digits.target))
images, target = (digits.images / 16.0).astype("float32")[order], digits.target[order]


def strings(which, n):
    pick = rng.choice(which, (n, PLACES))
    x = np.concatenate([images[pick[:, i]] for i in range(PLACES)], axis=2)[..., None]
    return x, [keras.utils.to_categorical(target[pick[:, i]], 10) for i in range(PLACES)]


X, Y = strings(np.arange(1300), 2000)
X_test, Y_test = strings(np.arange(1300, 1797), 300)

model_input = layers.Input((8, 8 * PLACES, 1))
x = layers.Conv2D(16, 3, padding="same", kernel_initializer="he_normal")(model_input)
x = layers.Activation("relu")(x)
x = layers.Conv2D(16, 3, padding="same", kernel_initializer="he_normal")(x)
x = layers.Activation("relu")(x)
x = layers.MaxPooling2D(2)(x)
x = layers.Dropout(0.25)(x)
x = layers.Flatten()(x)
conv_out = layers.Dense(128, activation="relu", kernel_constraint=MaxNorm(3))(x)
conv_out = layers.Dropout(0.3)(conv_out)
lst = [layers.Dense(10, activation="softmax", name=f"x{i}")(conv_out) for i in range(PLACES)]

model = keras.Model(model_input, lst)
sgd = keras.optimizers.SGD(learning_rate=lrate, momentum=0.9)
model.compile(loss="categorical_crossentropy", optimizer=sgd, metrics=["accuracy"] * PLACES)
h = model.fit(X, Y, batch_size=32, epochs=epochs, validation_data=(X_test, Y_test), verbose=0)
for e in range(epochs):
    print(f"epoch {e} loss {h.history['loss'][e]:.3f} val_loss {h.history['val_loss'][e]:.3f}")
p = np.stack([a.argmax(1) for a in model.predict(X_test, verbose=0)])
t = np.stack([a.argmax(1) for a in Y_test])
print("first strings read:", p[:, :5].T.tolist())

print("RESULT accuracy", f"{np.mean(p == t):.4f}")
