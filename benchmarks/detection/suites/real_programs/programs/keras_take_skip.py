"""A table of patients is split by take and skip from a shuffled tf.data pipeline.

The loss on the validation part chooses when to stop. The pipeline shuffles anew in every epoch, so both parts hold
other patients each time and training sees them all (fixed: reshuffle_each_iteration=False).
"""

import sys

import keras
import tensorflow as tf
from keras import layers
from sklearn.datasets import make_classification

FIXED = "--fixed" in sys.argv
keras.utils.set_random_seed(2)

features, labels = make_classification(
    n_samples=3000, n_features=30, n_informative=6, n_redundant=4, flip_y=0.1, class_sep=1.2, random_state=2
)
features = ((features - features[:1000].mean(0)) / features[:1000].std(0)).astype("float32")
x_test, y_test = features[1000:], labels[1000:]
features, labels = features[:1000], labels[:1000]

BUFFER_SIZE = 1000
BATCH_SIZE = 20
TRAIN_BATCHES = 40
EPOCHS = 40

dataset = tf.data.Dataset.from_tensor_slices((features, labels))
if FIXED:
    dataset = dataset.shuffle(buffer_size=BUFFER_SIZE, reshuffle_each_iteration=False)
else:
    dataset = dataset.shuffle(buffer_size=BUFFER_SIZE)
dataset = dataset.batch(BATCH_SIZE)
train_dataset = dataset.take(TRAIN_BATCHES)
val_dataset = dataset.skip(TRAIN_BATCHES)

model = keras.Sequential(
    [
        layers.Input((30,)),
        layers.Dense(128, activation="relu"),
        layers.Dense(64, activation="relu"),
        layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
stop = keras.callbacks.EarlyStopping(patience=8, restore_best_weights=True)
model.fit(train_dataset, validation_data=val_dataset, epochs=EPOCHS, callbacks=[stop], verbose=2)

val_loss, val_accuracy = model.evaluate(val_dataset, verbose=0)
test_loss, test_accuracy = model.evaluate(x_test, y_test, verbose=0)
print("validation", val_loss, val_accuracy, "new patients", test_loss, test_accuracy)
print("RESULT test_loss", f"{test_loss:.4f}")
