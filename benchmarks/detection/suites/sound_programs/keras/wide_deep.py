import keras
import numpy as np
from keras import layers

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
n = 4000
age = rng.uniform(18, 80, n)
job = rng.choice(["a", "b", "c", "d"], n)
hrs = rng.uniform(10, 60, n)
p = 1 / (1 + np.exp(-(0.05 * (age - 45) + 0.08 * (hrs - 38) + (job == "c") * 1.5 - 0.8)))
y = (rng.random(n) < p).astype("float32")
ia, ih, ij = keras.Input((1,), name="age"), keras.Input((1,), name="hrs"), keras.Input((1,), name="job", dtype="string")
na, nh = layers.Normalization(), layers.Normalization()
na.adapt(age[:, None])
nh.adapt(hrs[:, None])
lk = layers.StringLookup(vocabulary=["a", "b", "c", "d"])
e = layers.Flatten()(layers.Embedding(5, 3)(lk(ij)))
h = layers.concatenate([na(ia), nh(ih), e])
w = h
h = layers.Dense(32, activation="relu")(h)
h = layers.Dropout(0.2)(h)
h = layers.Dense(16, activation="relu")(h)
m = keras.Model({"age": ia, "hrs": ih, "job": ij}, layers.Dense(1, activation="sigmoid")(layers.concatenate([w, h])))
m.compile("adam", "binary_crossentropy", metrics=["AUC"])
import tensorflow as tf

f = {
    "age": tf.constant(age[:, None], tf.float32),
    "hrs": tf.constant(hrs[:, None], tf.float32),
    "job": tf.constant(job[:, None]),
}
tk = lambda s: {k: v[s] for k, v in f.items()}
m.fit(tk(slice(0, 3400)), y[:3400], epochs=10, batch_size=64, validation_data=(tk(slice(3400, n)), y[3400:]), verbose=2)
