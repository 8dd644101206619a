"""Multi-label tags of short documents: Embedding, average pooling, sigmoid outputs; some tags are rare."""

import numpy as np
from sklearn.metrics import f1_score
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)
V, T, L = 800, 8, 40
freq = np.array([0.35, 0.3, 0.25, 0.2, 0.15, 0.1, 0.06, 0.03])
bg = rng.dirichlet(np.full(V, 0.3))
topics = np.stack([rng.dirichlet(np.full(V, 0.02)) for _ in range(T)])


def make(n):
    Y = (rng.random((n, T)) < freq).astype("float32")
    docs = np.zeros((n, L), "int32")
    for i in range(n):
        k = rng.integers(18, L + 1)
        act = np.flatnonzero(Y[i])
        p = bg if len(act) == 0 else 0.55 * bg + 0.45 * topics[act].mean(0)
        docs[i, :k] = 1 + rng.choice(V, k, p=p / p.sum())
    return docs, Y


xtr, ytr = make(4000)
xte, yte = make(1000)
model = keras.Sequential(
    [
        keras.Input((L,), dtype="int32"),
        layers.Embedding(V + 1, 32, mask_zero=True),
        layers.GlobalAveragePooling1D(),
        layers.Dense(64, activation="relu"),
        layers.Dropout(0.3),
        layers.Dense(T, activation="sigmoid"),
    ]
)
model.compile("adam", loss="binary_crossentropy", metrics=[keras.metrics.AUC(multi_label=True, name="auc")])
model.optimizer.learning_rate = 3e-3
model.fit(xtr, ytr, validation_data=(xte, yte), batch_size=64, epochs=12, verbose=2)
p = model.predict(xte, verbose=0)
print("per-tag F1", np.round(f1_score(yte, p > 0.5, average=None, zero_division=0), 3))
print("RESULT micro_f1 %.4f" % f1_score(yte, p > 0.5, average="micro"))
