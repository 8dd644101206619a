"""A convolutional network over the characters of a text tells four topics of news apart.

The weights of its seven layers are drawn from -0.05 to 0.05, which is too small, so signal and gradient vanish
(fixed: a normal distribution with a deviation of 0.07).
"""

import sys

import keras
import numpy as np
from keras.layers import Conv1D, Dense, Dropout, Flatten, Input, MaxPooling1D
from keras.models import Model

fixed = "--fixed" in sys.argv
rng = np.random.RandomState(3)
keras.utils.set_random_seed(3)

vocab = "abcdefghijklmnopqrstuvwxyz .,"
topics = [
    ["match", "goal", "team", "coach", "league", "player", "season", "score", "striker", "cup", "final", "win"],
    ["market", "stock", "shares", "profit", "bank", "trade", "price", "investor", "growth", "company", "oil"],
    ["software", "computer", "internet", "chip", "virus", "network", "phone", "server", "users", "web"],
    ["minister", "election", "army", "border", "treaty", "president", "troops", "embassy", "vote", "summit"],
]
common = ["the", "a", "of", "and", "in", "to", "after", "before", "new", "on"]
common += ["said", "for", "with", "has", "week", "year", "over", "their", "from"]
MAXLEN = 160


def text(topic):
    words = []
    while len(" ".join(words)) < MAXLEN:
        words.append(rng.choice(topics[topic]) if rng.rand() < 0.4 else rng.choice(common))
    return " ".join(words)[:MAXLEN]


def encode(t):
    out = np.zeros((MAXLEN, len(vocab)), "float32")
    for i, c in enumerate(t):
        out[i, vocab.index(c)] = 1
    return out


y = rng.randint(0, 4, 1500)
x = np.array([encode(text(k)) for k in y])
Y = keras.utils.to_categorical(y, 4)
xt, xv, yt, yv = x[:1200], x[1200:], Y[:1200], Y[1200:]


def init():
    if fixed:
        return keras.initializers.RandomNormal(mean=0.0, stddev=0.07)
    return keras.initializers.RandomUniform(-0.05, 0.05)


inputs = Input(shape=(MAXLEN, len(vocab)))
h = Conv1D(64, 7, activation="relu", kernel_initializer=init())(inputs)
h = MaxPooling1D(3)(h)
h = Conv1D(64, 7, activation="relu", kernel_initializer=init())(h)
h = MaxPooling1D(3)(h)
h = Conv1D(64, 3, activation="relu", kernel_initializer=init())(h)
h = Conv1D(64, 3, activation="relu", kernel_initializer=init())(h)
h = MaxPooling1D(3)(h)
h = Flatten()(h)
h = Dropout(0.3)(Dense(128, activation="relu", kernel_initializer=init())(h))
h = Dropout(0.3)(Dense(128, activation="relu", kernel_initializer=init())(h))
out = Dense(4, activation="softmax", kernel_initializer=init())(h)
model = Model(inputs, out)
model.compile(
    loss="categorical_crossentropy",
    metrics=["accuracy"],
    optimizer=keras.optimizers.SGD(learning_rate=0.02, momentum=0.9),
)
model.fit(xt, yt, validation_data=(xv, yv), batch_size=32, epochs=12, verbose=2)
acc = model.evaluate(xv, yv, verbose=0)[1]
print("RESULT accuracy", round(float(acc), 4))
