"""A network sorts short texts into two classes, in a five-fold cross-validation.

The network is built once before the loop over the folds. From the second fold on it is tested on texts that it was
trained on in the folds before, and the accuracy climbs from fold to fold (fixed: a new network for every fold).
"""

import sys

import keras
import numpy as np
from keras import layers
from sklearn.model_selection import KFold

FIXED = "--fixed" in sys.argv
SEED = 4
keras.utils.set_random_seed(SEED)
rng = np.random.default_rng(SEED)

VOCAB, MAX_LEN, EPOCHS, N_FOLDS = 1200, 24, 5, 5
N = 1200
label = rng.integers(0, 2, N)
texts = np.zeros((N, MAX_LEN), "int64")
for i in range(N):
    n = rng.integers(10, MAX_LEN + 1)
    words = rng.integers(41, VOCAB, n)  # all sorts of words
    k = rng.random(n) < 0.45  # words with a tone
    tone = np.where(rng.random(n) < 0.7, label[i], 1 - label[i])
    words[k] = 1 + 20 * tone[k] + rng.integers(0, 20, k.sum())
    texts[i, :n] = words


def create_model():
    model = keras.Sequential(
        [
            keras.Input((MAX_LEN,)),
            layers.Embedding(VOCAB, 24, mask_zero=True),
            layers.GlobalAveragePooling1D(),
            layers.Dropout(0.2),
            layers.Dense(16, activation="relu"),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(optimizer=keras.optimizers.Adam(2e-3), loss="binary_crossentropy", metrics=["accuracy"])
    return model


kf = KFold(n_splits=N_FOLDS, shuffle=True, random_state=SEED)
model = create_model()
val_acc = []
out_of_sample = np.zeros(N)
for fold, (train_index, val_index) in enumerate(kf.split(texts)):
    if FIXED:
        model = create_model()
    history = model.fit(
        texts[train_index],
        label[train_index],
        epochs=EPOCHS,
        batch_size=32,
        validation_data=(texts[val_index], label[val_index]),
        verbose=0,
    )
    out_of_sample[val_index] = model.predict(texts[val_index], verbose=0)[:, 0]
    val_acc.append(history.history["val_accuracy"][-1])
    print("fold", fold + 1, f"train {history.history['accuracy'][-1]:.3f}", f"val {val_acc[-1]:.3f}")

print(f"mean over the folds {np.mean(val_acc):.3f}")
print("RESULT cv_accuracy", f"{float(np.mean((out_of_sample > 0.5) == label)):.4f}")
