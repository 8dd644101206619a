"""Wide-and-deep click model on hashed categories and numbers, 5 epochs; click noise bounds the AUC."""

import numpy as np
from sklearn.metrics import roc_auc_score
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(77)
rng = np.random.default_rng(77)
n = 20000
card = [50, 120, 12]
zipf = [1 / np.arange(1, c + 1) ** 0.7 for c in card]
cats = np.stack([rng.choice(c, n, p=z / z.sum()) for c, z in zip(card, zipf)], 1)
price = rng.lognormal(2, 0.8, n)
age = rng.uniform(18, 80, n)
e = [rng.normal(0, 0.7, c) for c in card]
inter = rng.normal(0, 0.6, (card[0], card[2]))
logit = -2.0 + sum(ei[cats[:, k]] for k, ei in enumerate(e)) + inter[cats[:, 0], cats[:, 2]]
logit += -0.5 * (np.log(price) - 2) + 0.6 * np.cos((age - 30) / 12)
y = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype("float32")
nums = np.stack([np.log(price), age], 1).astype("float32")
k = 16000
nums = (nums - nums[:k].mean(0)) / nums[:k].std(0)

ins = [keras.Input((1,), dtype="int32", name=f"c{j}") for j in range(3)]
num = keras.Input((2,), name="num")
wide = [layers.Flatten()(layers.Embedding(c, 1, embeddings_initializer="zeros")(i)) for c, i in zip(card, ins)]
deep = [layers.Flatten()(layers.Embedding(c, 8)(i)) for c, i in zip(card, ins)]
h = layers.Concatenate()([*deep, num])
h = layers.Dense(64, activation="relu")(h)
h = layers.Dropout(0.1)(h)
h = layers.Dense(32, activation="relu")(h)
z = layers.Add()([*wide, layers.Dense(1)(h)])
model = keras.Model([*ins, num], layers.Activation("sigmoid")(z))
model.compile(keras.optimizers.Adam(2e-3), "binary_crossentropy", metrics=["AUC"])


def feed(s):
    return [cats[s, j : j + 1].astype("int32") for j in range(3)] + [nums[s]]


tr, te = slice(0, k), slice(k, n)
model.fit(feed(tr), y[tr], batch_size=128, epochs=5, validation_data=(feed(te), y[te]), verbose=2)
p = model.predict(feed(te), verbose=0)[:, 0]
print("click rate %.3f, best possible AUC %.3f" % (y.mean(), roc_auc_score(y[te], logit[te])))
print("RESULT auc %.4f" % roc_auc_score(y[te], p))
