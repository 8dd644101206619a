"""The distance of a siamese network is a root whose gradient at 0 is infinite (fixed: of 1e-7 or more)."""

import sys

import keras
import numpy as np
from keras import layers, ops
from keras.regularizers import l2
from sklearn.datasets import load_digits

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(11)

digits = load_digits()
images = (digits.images / 16.0).astype("float32")[..., None]
writers = digits.target
order = np.random.permutation(len(images))
train_ids, test_ids = order[:1300], order[1300:]


def make_pairs(ids, count):
    left, right, same = [], [], []
    for k in range(count):
        i = np.random.choice(ids)
        if k % 2 == 0:
            j = np.random.choice(ids[(writers[ids] == writers[i]) & (ids != i)])
        else:
            j = np.random.choice(ids[writers[ids] != writers[i]])
        left.append(images[i])
        right.append(images[j])
        same.append(float(k % 2 == 0))
    return np.array(left), np.array(right), np.array(same, dtype="float32").reshape(-1, 1)


def euclidean_distance(vects):
    x, y = vects
    squares = ops.sum(ops.square(x - y), axis=1, keepdims=True)
    return ops.sqrt(ops.maximum(squares, keras.config.epsilon()) if fixed else squares)


def contrastive_loss(y_true, y_pred):
    margin = 1.0
    return ops.mean(y_true * ops.square(y_pred) + (1 - y_true) * ops.square(ops.maximum(margin - y_pred, 0.0)))


def create_base_network():
    return keras.Sequential(
        [
            keras.Input((8, 8, 1)),
            layers.Conv2D(16, 3, activation="relu"),
            layers.BatchNormalization(),
            layers.MaxPooling2D(2),
            layers.Conv2D(32, 2, activation="relu", kernel_regularizer=l2(0.0005)),
            layers.Dropout(0.1),
            layers.Flatten(),
            layers.Dense(64, activation="relu", kernel_regularizer=l2(0.0005)),
            layers.Dense(16, activation="relu", kernel_regularizer=l2(0.0005)),
        ]
    )


base_network = create_base_network()
input_a = keras.Input((8, 8, 1))
input_b = keras.Input((8, 8, 1))
distance = layers.Lambda(euclidean_distance, output_shape=(1,))([base_network(input_a), base_network(input_b)])
model = keras.Model([input_a, input_b], distance)
model.compile(loss=contrastive_loss, optimizer=keras.optimizers.RMSprop(1e-3, rho=0.9))

a, b, y = make_pairs(train_ids, 4000)
a_test, b_test, y_test = make_pairs(test_ids, 600)
model.fit([a, b], y, batch_size=64, epochs=8, validation_data=([a_test, b_test], y_test), verbose=2)

d = model.predict([a_test, b_test], verbose=0)
print("distance of same pairs", d[y_test == 1].mean(), "of other pairs", d[y_test == 0].mean())
accuracy = np.mean((d < 0.5) == (y_test == 1))
print("accuracy", accuracy)

print("RESULT test_acc", accuracy)
