"""The topics of short texts are learnt by an embedding and dense layers.

All kernels of the dense layers start at zero, so the ReLU layers give zero and no gradient (fixed: random kernels).
"""

import sys

import keras
import numpy as np
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(9)
rng = np.random.default_rng(9)

topics = {
    "sport": "match team goal player coach league win score season ball club fan",
    "tech": "phone app software update chip data cloud user screen code network device",
    "food": "recipe oven sauce cheese bread taste kitchen fresh dinner spice salad cook",
    "money": "bank stock price market rate loan trade profit fund tax bond invest",
}
topics = {name: words.split() for name, words in topics.items()}
common = "the a and to of in on with for new it this that was is more after very good today people time"
common = common.split()
names = list(topics)
texts, labels = [], []
for _ in range(1500):
    k = rng.integers(0, 4)
    words = []
    for _ in range(rng.integers(8, 18)):
        u = rng.random()
        if u < 0.22:
            words.append(rng.choice(topics[names[k]]))
        elif u < 0.30:
            words.append(rng.choice(topics[names[rng.integers(0, 4)]]))
        else:
            words.append(rng.choice(common))
    texts.append(" ".join(words))
    labels.append(k)
labels = np.array(labels)

vocab = {w: i + 1 for i, w in enumerate(sorted({w for t in texts for w in t.split()}))}
X = np.zeros((len(texts), 18), "int32")
for i, t in enumerate(texts):
    ids = [vocab[w] for w in t.split()]
    X[i, : len(ids)] = ids

init = "random_uniform" if fixed else "zeros"
model = keras.Sequential()
model.add(keras.Input((18,)))
model.add(layers.Embedding(len(vocab) + 1, 16))
model.add(layers.GlobalAveragePooling1D())
model.add(layers.Dense(24, kernel_initializer=init, activation="relu"))
model.add(layers.Dense(12, kernel_initializer=init, activation="relu"))
model.add(layers.Dense(4, kernel_initializer=init, activation="softmax"))
model.compile(loss="sparse_categorical_crossentropy", optimizer=keras.optimizers.Adam(0.005), metrics=["accuracy"])
model.fit(X[:1200], labels[:1200], epochs=25, batch_size=32, validation_data=(X[1200:], labels[1200:]), verbose=2)
print("RESULT val_accuracy", round(float(model.evaluate(X[1200:], labels[1200:], verbose=0)[1]), 4))
