"""A backbone trained on five kinds of digits is frozen, and a new head learns the other five from its features.

The features are pooled, and the backbone itself divides pixels by 255. The generator of the images divides by 255 as
well, so the backbone sees almost black pictures (fixed: the generator gives the pixels as they are).
"""

import sys

import keras
from keras import layers
from keras.src.legacy.preprocessing.image import ImageDataGenerator
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(6)
digits = load_digits()
images = (digits.images * 255 / 16).astype("float32")[..., None]
labels = digits.target

backbone = keras.Sequential(
    [
        keras.Input((8, 8, 1)),
        layers.Rescaling(1 / 255),
        layers.Conv2D(32, 3, padding="same", activation="relu"),
        layers.Conv2D(64, 3, padding="same", activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(64, 3, padding="same", activation="relu"),
    ],
    name="backbone",
)
old = labels < 5
teacher = keras.Sequential([backbone, layers.GlobalAveragePooling2D(), layers.Dense(5, activation="softmax")])
teacher.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
teacher.fit(images[old], labels[old], batch_size=32, epochs=12, verbose=0)
backbone.trainable = False

X_train, X_test, y_train, y_test = train_test_split(
    images[~old], labels[~old] - 5, test_size=0.3, random_state=0, stratify=labels[~old]
)
datagen = ImageDataGenerator() if FIXED else ImageDataGenerator(rescale=1 / 255)
train_data = datagen.flow(X_train, y_train, batch_size=16, seed=0)
test_data = datagen.flow(X_test, y_test, batch_size=16, shuffle=False)

inputs = keras.Input((8, 8, 1))
x = backbone(inputs, training=False)
x = layers.GlobalAveragePooling2D()(x)
outputs = layers.Dense(5, activation="softmax")(x)
model = keras.Model(inputs, outputs)
model.compile(optimizer=keras.optimizers.Adam(0.01), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(train_data, epochs=25, validation_data=test_data, verbose=2)
print("RESULT val_accuracy", f"{model.evaluate(test_data, verbose=0)[1]:.4f}")
