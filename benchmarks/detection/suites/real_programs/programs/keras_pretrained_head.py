"""New dense layers on a frozen convolutional base tell two kinds of pictures apart.

The last layer is a softmax over one unit, so the output is always 1 (fixed: a sigmoid).
"""

import sys

import keras
from keras import layers
from keras.models import Model, Sequential
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(2)

d = load_digits()
pics, kind = (d.images / 16.0)[..., None].astype("float32"), d.target

# the base: trained on eight kinds of pictures, as VGG16 was on ImageNet
pic = keras.Input((8, 8, 1))
x = layers.Conv2D(32, 3, padding="same", activation="relu")(pic)
x = layers.Conv2D(32, 3, padding="same", activation="relu")(x)
x = layers.MaxPooling2D()(x)
x = layers.Conv2D(64, 3, padding="same", activation="relu")(x)
base = Model(pic, x)
old = Sequential([base, layers.GlobalAveragePooling2D(), layers.Dense(8, activation="softmax")])
old.compile(optimizer="adam", loss="sparse_categorical_crossentropy")
first = kind < 8
old.fit(pics[first], kind[first], epochs=10, batch_size=32, verbose=0)
base.trainable = False

# the new task
new = kind >= 8
x_train, x_test, y_train, y_test = train_test_split(
    pics[new], (kind[new] == 9).astype("float32"), test_size=0.3, random_state=0
)
x = base.output
x = layers.GlobalAveragePooling2D()(x)
x = layers.Dense(128, activation="relu")(x)
x = layers.Dense(128, activation="relu")(x)
x = layers.Dense(64, activation="relu")(x)
preds = layers.Dense(1, activation="sigmoid" if fixed else "softmax")(x)
vgg = Model(inputs=base.input, outputs=preds)
vgg.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
vgg.fit(x_train, y_train, epochs=25, batch_size=16, validation_data=(x_test, y_test), verbose=2)

print("RESULT test_accuracy", f"{vgg.evaluate(x_test, y_test, verbose=0)[1]:.4f}")
